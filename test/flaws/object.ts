// Flaws of the object, its rows and the entrypoints: what is stored, when, under whose name, and what is shown of it.

import { type Flaw, TESTS } from "./flaw.ts";

const file = "ledger-service/src/job-ledger.ts";
const store = "ledger-service/src/store.ts";
const ledger = "ledger-service/src/ledger.ts";
const identity = "ledger-service/src/identity.ts";
const contract = "ledger-service/src/contract.ts";

export const OBJECT: readonly Flaw[] = [
  {
    name: "an alarm that rang early is used up and not set again",
    file,
    find: "this.#write(before, after, null, () => this.#setAlarm(dueAt(after, this.#settings)));",
    replace:
      "this.#write(before, after, null, () => {\n" +
      "      if (after !== before) this.#setAlarm(dueAt(after, this.#settings));\n    });",
    tests: [TESTS.alarm],
    peer: "an alarm consumed and not re-armed",
  },
  {
    name: "an alarm whose work fails is dropped",
    file,
    find: "      await this.ctx.storage.setAlarm(this.#alarmPausedUntil);\n",
    replace: "",
    tests: [TESTS.alarm],
    peer: "a one-off alarm job that throws and is deleted",
  },
  {
    name: "a settle undoes the pause after a failed alarm",
    file,
    find: "this.ctx.storage.setAlarm(Math.max(at, this.#alarmPausedUntil))",
    replace: "this.ctx.storage.setAlarm(at)",
    tests: [TESTS.watch],
  },
  {
    name: "the pause after a failed alarm outlasts the next alarm",
    file,
    find: "    this.#alarmPausedUntil = 0;\n",
    replace: "",
    tests: [TESTS.watch],
  },
  {
    name: "nobody brings back an alarm that the platform dropped",
    file,
    find: "if (due === null || now < Math.max(due, this.#alarmRanAt) + ALARM_DROPPED_AFTER_MS) return;",
    replace: "if (due === null || now >= 0) return;",
    tests: [TESTS.watch],
  },
  {
    name: "cleanup leaves the job in memory",
    file,
    find: "      this.#record = undefined;\n",
    replace: "",
    tests: [TESTS.alarm],
    peer: "deleteAll that leaves memory",
  },
  {
    name: "cleanup leaves the memory of what was stored",
    file,
    find: "      this.#record = undefined;\n",
    replace: "",
    tests: [TESTS.alarm],
    peer: "deleteAll that leaves memory",
  },
  {
    name: "cleanup leaves an alarm",
    file,
    find: "await this.ctx.storage.deleteAll();",
    replace: "await this.ctx.storage.deleteAll();\n      await this.ctx.storage.setAlarm(Date.now() + ALARM_RETRY_MS);",
    tests: [TESTS.alarm],
    peer: "deleteAll that leaves an alarm",
  },
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
    find: "this.ctx.storage.transactionSync(() => {\n        if (after !== before) this.#store.save(before, after, body);\n        arm();\n      });",
    replace: "if (after !== before) this.#store.save(before, after, body);\n      arm();",
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
    name: "whoever waits is told «in progress» of a claim that has just ended",
    file,
    find: "await this.#waiters.wait(command.consumer, Math.min(until, outcome.retryAt) - now);",
    replace:
      "await this.#waiters.wait(command.consumer, Math.min(until, outcome.retryAt) - now);\n      if (Date.now() < until) return outcome;",
    tests: [TESTS.waiting],
    peer: "retries are told «conflict» of what has just ended",
  },
  {
    name: "a conflicting event is not alerted",
    file,
    find: "const alerted = !conflicts || (await this.#alertConflict());",
    replace: "const alerted = true || (conflicts && (await this.#alertConflict()));",
    tests: [TESTS.watch],
  },
  {
    name: "a conflict whose alert the queue refused is taken for told",
    file,
    find: 'error: errorName(error) }, "error");\n      return false;',
    replace: 'error: errorName(error) }, "error");\n      return true;',
    tests: [TESTS.watch],
  },
  {
    name: "the record shows the token",
    file: "ledger-service/src/view.ts",
    find: "    leaseExpiresAt: claim.status",
    replace: '    ...("token" in claim && { token: claim.token }),\n    leaseExpiresAt: claim.status',
    tests: [TESTS.ledger],
  },
  {
    name: "a job in an earlier release's table is not found",
    file: store,
    find: "return this.#isInTable ? table.entries(this.#storage.sql) : [];",
    replace: "return [];",
    tests: [TESTS.stored],
  },
  {
    name: "a job leaves an earlier release's table with what changes only",
    file: store,
    find: "for (const [key, stored] of table.entries(this.#storage.sql)) this.#storage.kv.put(key, stored);",
    replace: "",
    tests: [TESTS.stored],
  },
  {
    name: "a job whose move from the table was rolled back is taken for moved",
    file,
    find: "      this.#store.rolledBack();\n      throw error;",
    replace: "      throw error;",
    tests: [TESTS.stored],
  },
  {
    name: "events come in the order of their names",
    file: store,
    find: "events.sort((a, b) => a.order - b.order);",
    replace: "events.sort((a, b) => (a.type < b.type ? -1 : 1));",
    tests: [TESTS.jobLedger],
  },
  {
    name: "marking an event as alerted loses its body",
    file: store,
    find: "{ ...now, ...this.#stored(now.type) }",
    replace: "{ ...now, body: encoder.encode() }",
    tests: [TESTS.watch],
  },
  {
    name: "a body is stored as a string, which may take twice its bytes",
    file: store,
    find: "{ ...event, body: encoder.encode(body) }",
    replace: "{ ...event, body }",
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
    find: "if (claim !== before.claims.get(consumer)) kv.put",
    replace: "kv.put",
    tests: [TESTS.rows],
  },
  {
    name: "a binding without props is let in",
    file: identity,
    find: "const parsed = v.safeParse(Props, props);",
    replace: 'const parsed = v.safeParse(Props, props ?? { namespace: "default", consumer: "consumer" });',
    tests: [TESTS.identity],
    peer: "failing open",
  },
  {
    name: "the namespace of the props is ignored",
    file: identity,
    find: "return `${namespace}:${jobId}`;",
    replace: "return `${namespace.slice(0, 0)}n:${jobId}`;",
    tests: [TESTS.identity],
  },
  {
    name: "the consumer of the props is ignored",
    file: identity,
    find: "return { namespace: parsed.output.namespace, consumer: parsed.output.consumer };",
    replace: 'return { namespace: parsed.output.namespace, consumer: "consumer" };',
    tests: [TESTS.identity],
  },
  {
    name: "one claim that cannot be renewed fails them all",
    file: ledger,
    find: "return { jobId, outcome };\n        }",
    replace: "throw error;\n        }",
    tests: [TESTS.ledger],
  },
  {
    name: "a receiver gives a job up after ten deliveries",
    file: ledger,
    find: "event ? null : DEFAULT_MAX_ATTEMPTS",
    replace: "DEFAULT_MAX_ATTEMPTS",
    tests: [TESTS.ledger],
  },
  {
    name: "a call is repeated on an overloaded object",
    file: "ledger-service/src/call-job.ts",
    find: ' && !says("overloaded")',
    replace: "",
    tests: [TESTS.callJob],
  },
  {
    name: "a lone surrogate passes as a job id",
    file: contract,
    find: "value.isWellFormed()",
    replace: "value.length > 0",
    tests: [TESTS.contract],
  },
  {
    name: "a job id is measured in characters, not bytes",
    file: contract,
    find: "v.pipe(Text, v.maxBytes(MAX_JOB_ID_BYTES))",
    replace: "v.pipe(Text, v.maxLength(MAX_JOB_ID_BYTES))",
    tests: [TESTS.contract],
  },
];
