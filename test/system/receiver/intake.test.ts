// The receiver's RPC side: events that did not come by webhook, and messages sent again, on the one path that deliveries take.
// Every consumer's queue is counted.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack, until } from "../../support/stack/stack.ts";
import { type Called, callThrough, CONSUMERS, ledgerAs, observedQueue } from "../controls.ts";
import { event, send, sendSigned, signature } from "./requests.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ receiver: "observed-receiver", workers: ["observed-queue"] });
}, 60_000);
afterAll(() => stack.close());

const ONE_EACH = { "artifact-archive": 1, "job-index": 1, scripted: 1 };
const namespace = "default";

const ingest = (jobId: string, rest: object = {}): Promise<Called<{ outcome: string }>> =>
  callThrough(stack, "INTAKE", "ingest", {
    namespace,
    jobId,
    event: { type: "job.completed", body: event(jobId), source: "poll" },
    ...rest,
  });
const redispatch = (jobId: string, pending: string[], rest: object = {}): Promise<Called> =>
  callThrough(stack, "INTAKE", "redispatch", { namespace, jobId, pending, ...rest });
const messages = (jobId: string) => observedQueue(stack).messages(jobId);

describe("ingest", () => {
  it("records the event as polled, messages every consumer, completes", async () => {
    expect(await ingest("in-new")).toEqual({
      value: { outcome: "accepted", dispatchedTo: expect.arrayContaining([...CONSUMERS]), attempt: 1 },
    });
    const job = await stack.untilFinished("in-new");
    expect(job.events).toMatchObject([{ type: "job.completed", source: "poll" }]);
    expect(job.claims.map(({ status }) => status)).toEqual(["completed", "completed", "completed", "completed"]);
    expect(await messages("in-new")).toEqual(ONE_EACH);
  });

  it("of an event that came by webhook is a duplicate, and the other way round", async () => {
    await sendSigned(stack, event("in-after"));
    await stack.untilFinished("in-after");
    expect(await ingest("in-after")).toMatchObject({ value: { outcome: "duplicate" } });
    await ingest("in-before");
    await stack.untilFinished("in-before");
    expect((await sendSigned(stack, event("in-before"))).status).toBe(200);
    expect([await messages("in-after"), await messages("in-before")]).toEqual([ONE_EACH, ONE_EACH]);
  });

  it("at the same moment as the webhook is the same event", async () => {
    const body = event("in-race");
    const [delivery, ingested] = await Promise.all([
      send(stack, body, { headers: signature(body) }),
      ingest("in-race"),
    ]);
    const outcomes = [JSON.parse(delivery.text), ingested.value].map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toEqual(new Set(["accepted", "duplicate"]));
    const job = await stack.untilFinished("in-race");
    expect(job.events).toHaveLength(1);
    expect(job.conflict).toBe(false);
    expect(await messages("in-race")).toEqual(ONE_EACH);
  });

  it("of a job that was expected ends the expectation", async () => {
    const expected = { jobId: "in-expected", withinMs: 3_600_000 };
    expect(await callThrough(stack, "CALLER", "expectEvent", expected)).toMatchObject({
      value: { outcome: "expected" },
    });
    await ingest("in-expected");
    const job = await stack.untilFinished("in-expected");
    expect(job).toMatchObject({ expectations: [{ by: "caller", cancelledBy: null }], watch: null });
  });
});

describe("redispatch", () => {
  it("of a job whose receiver died runs the whole path from the stored event", async () => {
    const receiver = ledgerAs(stack, "receiver");
    const event1 = { type: "job.completed", body: event("re-dead"), source: "webhook" } as const;
    await receiver.claim({ jobId: "re-dead", event: event1, leaseMs: 1_000 });
    const sent = await until("the dead receiver's lease to end", async () => {
      const called = await redispatch("re-dead", ["receiver"]);
      return JSON.stringify(called).includes("in_progress") ? undefined : called;
    });
    expect(sent).toMatchObject({ value: { outcome: "accepted", attempt: 2 } });
    expect((await stack.untilFinished("re-dead")).claims).toHaveLength(4);
    expect(await messages("re-dead")).toEqual(ONE_EACH);
  });

  it("of a job that was dispatched goes to `pending` only, not to the receiver itself; a name without a queue is an error line", async () => {
    await sendSigned(stack, event("re-some"));
    await stack.untilFinished("re-some");
    expect(await redispatch("re-some", ["scripted", "receiver", "nobody-here"])).toEqual({
      value: { outcome: "redispatched", dispatchedTo: ["scripted"] },
    });
    expect(await messages("re-some")).toEqual({ ...ONE_EACH, scripted: 2 });
    const line = await until("the error line", () =>
      stack.logs().find(({ jobId, outcome }) => jobId === "re-some" && outcome === "no_queue"),
    );
    expect(line).toMatchObject({
      level: "error",
      worker: "receiver",
      consumer: "nobody-here",
      detail: "bind its queue as DISPATCH_NOBODY_HERE",
    });
  });

  it("to nobody who has a queue says so, with an error line for each and one for the whole", async () => {
    await sendSigned(stack, event("re-nobody"));
    await stack.untilFinished("re-nobody");
    expect(await redispatch("re-nobody", ["nobody-here", "nobody-there"])).toEqual({
      value: { outcome: "no_queue", consumers: ["nobody-here", "nobody-there"] },
    });
    expect(await messages("re-nobody")).toEqual(ONE_EACH);
    const logged = await until("the three lines", () => {
      const lines = stack.logs().filter(({ jobId, event: what }) => jobId === "re-nobody" && what === "redispatch");
      return lines.length === 3 ? lines : undefined;
    });
    const line = { worker: "receiver", event: "redispatch", outcome: "no_queue", namespace, jobId: "re-nobody" };
    expect(logged).toEqual([
      { ...line, level: "error", consumer: "nobody-here", detail: "bind its queue as DISPATCH_NOBODY_HERE" },
      { ...line, level: "error", consumer: "nobody-there", detail: "bind its queue as DISPATCH_NOBODY_THERE" },
      { ...line, level: "info", dispatchedTo: [] },
    ]);
  });

  it("whose queue refuses says so", async () => {
    await sendSigned(stack, event("re-refused"));
    await stack.untilFinished("re-refused");
    await observedQueue(stack).order("re-refused", "scripted", "refuse");
    expect(await redispatch("re-refused", ["scripted"])).toMatchObject({
      value: { outcome: "queue_refused", consumers: ["scripted"] },
    });
  });

  it("of a job that the ledger does not know does nothing", async () => {
    expect(await redispatch("re-unknown", ["scripted"])).toEqual({ value: { outcome: "unknown" } });
    expect(await stack.record("re-unknown")).toBeNull();
    expect(await messages("re-unknown")).toEqual({ "artifact-archive": 0, "job-index": 0, scripted: 0 });
  });
});

describe("what is refused", () => {
  const event1 = { type: "job.completed", body: "{}", source: "poll" };
  it.each<[string, () => Promise<Called>, string, RegExp]>([
    [
      "another namespace, ingest",
      () => ingest("no-1", { namespace: "other" }),
      "invalid_argument",
      /serves the namespace default/,
    ],
    [
      "another namespace, redispatch",
      () => redispatch("no-2", [], { namespace: "other" }),
      "invalid_argument",
      /default/,
    ],
    ["a malformed namespace", () => ingest("no-3", { namespace: "A:B" }), "invalid_argument", /^ingest: namespace /],
    ["a long job id", () => ingest("j".repeat(513)), "too_large", /^ingest: jobId /],
    [
      "a long body",
      () => ingest("no-4", { event: { ...event1, body: "x".repeat(1_048_577) } }),
      "too_large",
      /event\.body/,
    ],
    [
      "another source",
      () => ingest("no-5", { event: { ...event1, source: "guess" } }),
      "invalid_argument",
      /event\.source/,
    ],
    ["a malformed consumer", () => redispatch("no-6", ["Scripted"]), "invalid_argument", /pending/],
    [
      "1,001 consumers",
      () =>
        redispatch(
          "no-7",
          Array.from({ length: 1_001 }, (_, i) => `c${i}`),
        ),
      "too_large",
      /pending/,
    ],
  ])("%s", async (_, call, code, message) => {
    const { error } = await call();
    expect(error).toMatchObject({ name: "LedgerError", code, message: expect.stringMatching(message) });
  });

  it("leaves no record", async () => {
    for (const number of [1, 2, 3, 4, 5, 6, 7]) expect(await stack.record(`no-${number}`)).toBeNull();
  });
});
