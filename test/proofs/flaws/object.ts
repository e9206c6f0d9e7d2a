// Flaws of the object and its rows: what is stored, when, what is shown of it, and what is logged.

import { type Flaw, TESTS } from "./flaw.ts";

const file = "ledger-service/src/object/job-ledger.ts";
const store = "ledger-service/src/object/store.ts";

export const OBJECT: readonly Flaw[] = [
  {
    name: "a claim is decided on what was read before an await",
    file,
    find: "      const outcome = this.#claimOnce(",
    replace:
      "      const read = this.#read();\n      await Promise.resolve();\n      this.#record = read;\n" +
      "      const outcome = this.#claimOnce(",
    tests: [TESTS.jobLedger],
    peer: "await get, then await put: two winners inside one event",
  },
  {
    name: "a step that fails half-way leaves its first rows",
    file,
    find:
      "this.ctx.storage.transactionSync(() => {\n      if (after !== before) this.#store.save(before, after, body);\n" +
      "      arm();\n    });",
    replace: "if (after !== before) this.#store.save(before, after, body);\n    arm();",
    tests: [TESTS.rows],
  },
  {
    name: "whoever waits is not woken by the holder's end",
    file,
    find: 'if (outcome.outcome === "ok") this.#waiters.wake(consumer);',
    replace: "",
    tests: [TESTS.waiting],
  },
  {
    name: "whoever waits is not woken when the claim is abandoned",
    file,
    find: 'if (outcome.outcome === "abandoned") this.#waiters.wake(command.consumer);',
    replace: "",
    tests: [TESTS.waiting],
    hangs: true,
  },
  {
    name: "whoever waits is told «in progress» of a claim that has just ended",
    file,
    find: "await this.#waiters.wait(command.consumer, Math.min(until, outcome.retryAt) - now);",
    replace:
      "await this.#waiters.wait(command.consumer, Math.min(until, outcome.retryAt) - now);\n" +
      "      if (Date.now() < until) return outcome;",
    tests: [TESTS.waiting],
    peer: "retries are told «conflict» of what has just ended",
  },
  {
    name: "the old body of whoever waited replaces a newer one",
    file,
    find: "      brought &&= { ...brought, differs: false, body: null };\n",
    replace: "",
    tests: [TESTS.waiting],
  },
  {
    name: "whoever waited is not told how long",
    file,
    find: "return { ...outcome, waitedMs: now - began };",
    replace: "return outcome;",
    tests: [TESTS.waiting],
  },
  {
    name: "a claim hands out the event that it brought, though it was granted for another",
    file,
    find: "body !== null && event?.type === eventType ? event.body : this.#store.body(eventType)",
    replace: "event?.body ?? this.#store.body(eventType)",
    tests: [TESTS.waiting],
  },
  {
    name: "the record shows the token",
    file: "ledger-service/src/job/view.ts",
    find: "    leaseExpiresAt: claim.status",
    replace: '    ...("token" in claim && { token: claim.token }),\n    leaseExpiresAt: claim.status',
    tests: [TESTS.ledger],
  },
  {
    name: "the record shows an abandoned claim as one that has not ended",
    file: "ledger-service/src/job/view.ts",
    find: "return claim.abandonedAt;",
    replace: "return null;",
    tests: [TESTS.view],
  },
  {
    name: "an object that was reached by its id writes",
    file,
    find: 'if (this.#name === null) return { outcome: "unknown" };\n    const began',
    replace: "const began",
    tests: [TESTS.unreadable],
  },
  {
    name: "an object that was reached by its id sets an alarm",
    file,
    find: 'if (this.#name === null) return { outcome: "unknown" };\n    const outcome = this.#commit((record, now) => watch.expectEvent',
    replace: "const outcome = this.#commit((record, now) => watch.expectEvent",
    tests: [TESTS.unreadable],
  },
  {
    name: "a duplicate is logged",
    file,
    find: 'if (after === before && isKept && (outcome === "completed" || outcome === "failed")) return;',
    replace: "",
    tests: [TESTS.log],
  },
  {
    name: "a new conflict at a job that is over is not logged",
    file,
    find: "if (after === before && isKept && (",
    replace: "if (isKept && (",
    tests: [TESTS.log],
  },
  {
    name: "an event of a type too many leaves no line",
    file,
    find: "if (after === before && isKept && (",
    replace: "if (after === before && (",
    tests: [TESTS.log],
  },
  {
    name: "every conflict is an error, however often it comes",
    file,
    find: 'isNewConflict ? "error" : undefined',
    replace: 'conflict ? "error" : undefined',
    tests: [TESTS.log],
  },
  {
    name: "a body that replaces another leaves no line",
    file,
    find: "if (changed !== undefined && replaced !== undefined) {",
    replace: "if (changed === undefined && replaced !== undefined) {",
    tests: [TESTS.log],
  },
  {
    name: "a claim given up is not an error",
    file,
    find: '{ by, ...(maxAttempts && { maxAttempts }) },\n        "error",\n',
    replace: "{ by, ...(maxAttempts && { maxAttempts }) },\n",
    tests: [TESTS.log],
  },
  {
    name: "a claim given up leaves two lines",
    file,
    find: 'if (outcome.outcome === "stale" || outcome.status !== "failed") {',
    replace: 'if (outcome.outcome !== "") {',
    tests: [TESTS.log],
  },
  {
    name: "a claim that its holder gave up leaves no line",
    file,
    find: 'claim === before.claims.get(consumer) || claim.status !== "failed")',
    replace: 'claim === before.claims.get(consumer) || claim.status !== "failed" || claim.by === "release")',
    tests: [TESTS.log],
  },
  {
    name: "events come in the order of their names",
    file: store,
    find: "events.sort((a, b) => a.order - b.order);",
    replace: "events.sort((a, b) => (a.type < b.type ? -1 : 1));",
    tests: [TESTS.jobLedger],
  },
  {
    name: "a body of the same size is taken for the same body",
    file: store,
    find: "return stored.length === body.length && stored.every((byte, index) => byte === body[index]);",
    replace: "return stored.length === body.length;",
    tests: [TESTS.jobLedger],
  },
  {
    name: "a body that goes on longer is taken for the same body",
    file: store,
    find: "return stored.length === body.length && stored",
    replace: "return stored",
    tests: [TESTS.rows],
  },
  {
    name: "a body is stored as a string, which may take twice its bytes",
    file: store,
    find: "kv.put(EVENT + event.type, { ...event, body });",
    replace: "kv.put(EVENT + event.type, { ...event, body: decoder.decode(body) });",
    tests: [TESTS.ledger],
  },
  {
    name: "a byte order mark is stripped from the stored body",
    file: store,
    find: "ignoreBOM: true",
    replace: "ignoreBOM: false",
    tests: [TESTS.ledger],
  },
  {
    name: "every claim is written at each step",
    file: store,
    find: "if (claim !== before.claims.get(consumer)) this.#kv.put",
    replace: "this.#kv.put",
    tests: [TESTS.rows],
  },
  {
    name: "a claim that cannot be read is taken for none",
    file: store,
    find: "claims.set(key.slice(CLAIM.length), parsed.success ? parsed.output : null);",
    replace: "if (parsed.success) claims.set(key.slice(CLAIM.length), parsed.output);",
    tests: [TESTS.unreadable],
    peer: "finished work is done again, for its record could not be read",
  },
  {
    name: "an entry that cannot be read makes its job unreadable",
    file: store,
    find: "const parsed = v.safeParse(ClaimEntry, stored);",
    replace: "const parsed = { ...v.safeParse(ClaimEntry, stored), output: v.parse(ClaimEntry, stored) };",
    tests: [TESTS.unreadable],
  },
  {
    name: "a claim that cannot be read is cleaned up before anybody has seen it",
    file: store,
    find: 'claim ?? unreadableClaim(consumer, events[0]?.type ?? "", now),',
    replace: 'claim ?? unreadableClaim(consumer, events[0]?.type ?? "", 0),',
    tests: [TESTS.unreadable],
  },
  {
    name: "what cannot be read leaves no line",
    file,
    find: "if (unreadable.length > 0)",
    replace: "if (unreadable.length < 0)",
    tests: [TESTS.unreadable],
  },
];
