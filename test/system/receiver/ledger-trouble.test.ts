// Rows 33, 35 and 46, and what else may go wrong between the receiver and the ledger: Sume is told to try again, the
// ledger is left as it is, and a later delivery finishes the job. Leases are shortened, so that a takeover comes within
// a second.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Stack, startStack, until } from "../../support/stack/stack.ts";
import { CONSUMERS, faultyLedger, ledgerAs, observedQueue } from "../controls.ts";
import { type Answer, event, sendSigned } from "./requests.ts";

let stack: Stack;
/** What row 35 is answered: begun before all others, for an identity that was told is not asked for again. */
let hung: Promise<number | "no answer">;
beforeAll(async () => {
  stack = await startStack({
    receiver: "observed-receiver",
    workers: ["observed-queue", "faulty-ledger"],
    receiverBindings: { LEDGER: "faulty-ledger" },
  });
  await faultyLedger(stack).hangIdentity();
  await faultyLedger(stack).spoil("job-35", "claim", "hang");
  hung = attempt("job-35");
  await until("both calls to hang", async () => ((await faultyLedger(stack).hanging()) === 2 ? true : undefined));
}, 60_000);
afterAll(() => stack.close());
// Most of these tests wait: for a queue's batch, a retry, the end of a lease.
vi.setConfig({ maxConcurrency: 20 });

const ONE_EACH = { "artifact-archive": 1, "job-index": 1, scripted: 1 };
const TWO_EACH = { "artifact-archive": 2, "job-index": 2, scripted: 2 };
const SHORT_LEASE_MS = 1_000;

const brought = (jobId: string) => ({ type: "job.completed", body: event(jobId), source: "webhook" }) as const;
const deliver = (jobId: string): Promise<Answer> => sendSigned(stack, event(jobId));

/** One attempt of Sume's, with its own timeout of 10 s: its status, or that there was no answer. */
async function attempt(jobId: string): Promise<number | "no answer"> {
  stack.sume.createJob({ id: jobId, body: event(jobId), state: "completed" });
  const [only] = (await stack.sume.deliver(jobId, { attempts: 1 })).attempts;
  return only?.outcome === "answered" ? only.status : "no answer";
}

/** What the answer says of it; 503 alone brings Sume's next attempt. */
function problemOf({ status, headers, text }: Answer): string {
  const { detail }: { detail?: string } = JSON.parse(text);
  return `${status} ${headers["content-type"]}: ${detail}`;
}
const claimFailed = "503 application/problem+json: The ledger did not answer (claim).";
const completeFailed = "503 application/problem+json: The ledger did not answer (complete).";

/** Each claim, once all are settled. */
async function settled(jobId: string): Promise<string[]> {
  const { claims } = await stack.untilFinished(jobId);
  return claims.map(({ consumer, status, attempt: n }) => `${consumer} ${status} ${n}`).toSorted();
}

/** The receiver's claim is completed at that attempt, and every consumer did its work once, in its first. */
function doneOnce(receiverAttempt: number): string[] {
  const consumers = ["artifact-archive completed 1", "job-index completed 1"];
  return [...consumers, `receiver completed ${receiverAttempt}`, "scripted completed 1"];
}

describe.concurrent("a ledger that does not answer at all", () => {
  it("#35 the ledger hangs, whatever it is asked: 503 before Sume gives up, nothing claimed", async () => {
    expect(await hung).toBe(503);
    expect(await stack.record("job-35")).toBeNull();
    expect(await attempt("job-35")).toBe(202);
    expect(await settled("job-35")).toEqual(doneOnce(1));
  });

  it("#35 it hangs at complete: 503 before Sume gives up; the next delivery takes over", async () => {
    await faultyLedger(stack).shortenLease("job-35-complete", SHORT_LEASE_MS);
    await faultyLedger(stack).spoil("job-35-complete", "complete", "hang");
    expect(await attempt("job-35-complete")).toBe(503);
    expect((await deliver("job-35-complete")).status).toBe(202);
    expect(await observedQueue(stack).messages("job-35-complete")).toEqual(TWO_EACH);
    expect(await settled("job-35-complete")).toEqual(doneOnce(2));
  });

  it("#35 a queue hangs: 503 before Sume gives up; the next delivery takes over", async () => {
    await faultyLedger(stack).shortenLease("job-35-queue", SHORT_LEASE_MS);
    await observedQueue(stack).order("job-35-queue", "scripted", "hold");
    expect(await attempt("job-35-queue")).toBe(503);
    expect((await stack.claimOf("job-35-queue", "receiver"))?.endedAt).toBeNull();
    await observedQueue(stack).order("job-35-queue", "scripted", "pass");
    expect((await deliver("job-35-queue")).status).toBe(202);
    expect(await observedQueue(stack).messages("job-35-queue")).toEqual({ ...TWO_EACH, scripted: 1 });
    expect(await settled("job-35-queue")).toEqual(doneOnce(2));
  });

  it("another delivery holds the claim and does not end: 503 with Retry-After, the ledger untouched", async () => {
    const held = await ledgerAs(stack, "receiver").claim({
      jobId: "job-held",
      event: brought("job-held"),
      leaseMs: 15_000,
    });
    expect(held.outcome).toBe("claimed");
    const before = await stack.record("job-held");
    const answer = await deliver("job-held");
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ title: "In progress" });
    expect(answer.headers["retry-after"]).toMatch(/^([1-9]|1[0-5])$/);
    expect(await stack.record("job-held")).toEqual(before);
    expect(await observedQueue(stack).messages("job-held")).toEqual({
      "artifact-archive": 0,
      "job-index": 0,
      scripted: 0,
    });
  });
});

describe.concurrent("#46 a body that takes its time, while another delivery of the event holds the claim", () => {
  it("does not wait for the claim beyond the time for an answer; whoever claims next gets it", async () => {
    const [jobId, ledger] = ["job-46", ledgerAs(stack, "receiver")];
    const held = await ledger.claim({ jobId, event: brought(jobId), leaseMs: 60_000, token: "its-token" });
    expect(held.outcome).toBe("claimed");
    // The copy waits 5 s for the claim: so long the body takes.
    const copy = Promise.withResolvers<Answer>();
    const slow = sendSigned(stack, event(jobId), { lastByteAfter: copy.promise });
    copy.resolve(await deliver(jobId));
    expect(JSON.parse((await copy.promise).text)).toMatchObject({ title: "In progress" });
    expect(JSON.parse((await slow).text)).toMatchObject({ title: "In progress" });

    await ledger.release({ jobId, token: "its-token" });
    expect(await stack.claimOf(jobId, "receiver")).toMatchObject({ status: "released", attempt: 1 });
    expect((await deliver(jobId)).status).toBe(202);
    expect(await settled(jobId)).toEqual(doneOnce(2));
  });
});

describe.concurrent("#33 the claim fails: 503; the next delivery: 202", () => {
  it.each([
    ["the object is reset", "job-33-throw", "throw"],
    ["the object is overloaded", "job-33-overloaded", "overloaded"],
  ] as const)("%s: nothing claimed", async (_, jobId, fault) => {
    await faultyLedger(stack).spoil(jobId, "claim", fault);
    expect(problemOf(await deliver(jobId))).toBe(claimFailed);
    expect(await stack.record(jobId)).toBeNull();
    const line = await until("its line", () => stack.logs().find((each) => each.jobId === jobId));
    const who = { worker: "receiver", event: "delivery", namespace: "default", consumer: "receiver" };
    expect(line).toMatchObject({
      ...who,
      level: "error",
      outcome: "ledger_unavailable",
      during: "claim",
      error: "Error",
    });
    expect((await deliver(jobId)).status).toBe(202);
    expect(await observedQueue(stack).messages(jobId)).toEqual(ONE_EACH);
    expect(await settled(jobId)).toEqual(doneOnce(1));
  });

  it("only its answer is lost: the lease heals it", async () => {
    await faultyLedger(stack).shortenLease("job-33-lose", SHORT_LEASE_MS);
    await faultyLedger(stack).spoil("job-33-lose", "claim", "lose");
    expect(problemOf(await deliver("job-33-lose"))).toBe(claimFailed);
    expect(await stack.claimOf("job-33-lose", "receiver")).toMatchObject({ status: "claimed", attempt: 1 });
    expect((await deliver("job-33-lose")).status).toBe(202);
    expect(await observedQueue(stack).messages("job-33-lose")).toEqual(ONE_EACH);
    expect(await settled("job-33-lose")).toEqual(doneOnce(2));
  });
});

describe.concurrent("complete fails after sending: 503; the next delivery finds out", () => {
  it("not carried out: the next delivery sends again, the work is done once", async () => {
    await faultyLedger(stack).shortenLease("job-complete-throw", SHORT_LEASE_MS);
    await faultyLedger(stack).spoil("job-complete-throw", "complete", "throw");
    expect(problemOf(await deliver("job-complete-throw"))).toBe(completeFailed);
    expect(await stack.claimOf("job-complete-throw", "receiver")).toMatchObject({ status: "claimed", attempt: 1 });
    expect((await deliver("job-complete-throw")).status).toBe(202);
    expect(await observedQueue(stack).messages("job-complete-throw")).toEqual(TWO_EACH);
    expect(await settled("job-complete-throw")).toEqual(doneOnce(2));
  });

  it("only its answer is lost: the next delivery is a duplicate, nothing is sent again", async () => {
    await faultyLedger(stack).spoil("job-complete-lose", "complete", "lose");
    expect(problemOf(await deliver("job-complete-lose"))).toBe(completeFailed);
    expect(await stack.claimOf("job-complete-lose", "receiver")).toMatchObject({ status: "completed", attempt: 1 });
    expect((await deliver("job-complete-lose")).status).toBe(200);
    expect(await observedQueue(stack).messages("job-complete-lose")).toEqual(ONE_EACH);
    expect(await settled("job-complete-lose")).toEqual(doneOnce(1));
  });

  it("stale, for another has taken over: 503; that one dies, the next delivery finishes", async () => {
    const [jobId, queue] = ["job-complete-stale", observedQueue(stack)];
    await faultyLedger(stack).shortenLease(jobId, SHORT_LEASE_MS);
    await queue.order(jobId, "scripted", "hold");
    const first = deliver(jobId);
    await until("the first to be sending", async () => (await queue.isHeld(jobId, "scripted")) || undefined);
    const other = await ledgerAs(stack, "receiver").claim({ jobId, leaseMs: SHORT_LEASE_MS, waitMs: 8_000 });
    expect(other).toMatchObject({ outcome: "claimed", attempt: 2 });
    const held = await stack.record(jobId);
    await queue.order(jobId, "scripted", "pass");
    expect(problemOf(await first)).toBe(completeFailed);
    expect((await stack.claimOf(jobId, "receiver"))?.history).toEqual(
      held?.claims.find(({ consumer }) => consumer === "receiver")?.history,
    );
    expect((await deliver(jobId)).status).toBe(202);
    expect(await queue.messages(jobId)).toEqual(TWO_EACH);
    expect(await settled(jobId)).toEqual(doneOnce(3));
  });

  it("a queue refuses, and then release fails too: 503; the lease heals it", async () => {
    const jobId = "job-release-throw";
    await faultyLedger(stack).shortenLease(jobId, SHORT_LEASE_MS);
    await faultyLedger(stack).spoil(jobId, "release", "throw");
    await observedQueue(stack).order(jobId, "job-index", "refuse");
    expect((await deliver(jobId)).status).toBe(503);
    expect(await stack.claimOf(jobId, "receiver")).toMatchObject({ status: "claimed", attempt: 1 });
    expect((await deliver(jobId)).status).toBe(202);
    expect(await observedQueue(stack).messages(jobId)).toEqual({ ...TWO_EACH, "job-index": 1 });
    expect(await settled(jobId)).toEqual(doneOnce(2));
  });
});

describe.concurrent("a receiver that dies after its claim: the next delivery finishes the job", () => {
  it.each([
    ["before it sends", "job-dies-0", []],
    ["after some of its messages", "job-dies-1", ["job-index"]],
    ["after all of its messages", "job-dies-3", CONSUMERS],
  ] as const)("%s", async (_, jobId, sent) => {
    const claimed = await ledgerAs(stack, "receiver").claim({ jobId, event: brought(jobId), leaseMs: SHORT_LEASE_MS });
    expect(claimed.outcome).toBe("claimed");
    for (const consumer of sent) await observedQueue(stack).send(jobId, consumer);

    expect((await deliver(jobId)).status).toBe(202);
    const twice = Object.fromEntries(sent.map((consumer) => [consumer, 2]));
    expect(await observedQueue(stack).messages(jobId)).toEqual({ ...ONE_EACH, ...twice });
    expect(await settled(jobId)).toEqual(doneOnce(2));
  });

  it("after complete, before its answer: the next delivery is a duplicate", async () => {
    const [jobId, ledger] = ["job-dies-answer", ledgerAs(stack, "receiver")];
    const claimed = await ledger.claim({ jobId, event: brought(jobId), token: "its-token" });
    expect(claimed.outcome).toBe("claimed");
    for (const consumer of CONSUMERS) await observedQueue(stack).send(jobId, consumer);
    await ledger.complete({ jobId, token: "its-token", dispatchedTo: [...CONSUMERS] });

    expect((await deliver(jobId)).status).toBe(200);
    expect(await observedQueue(stack).messages(jobId)).toEqual(ONE_EACH);
    expect(await settled(jobId)).toEqual(doneOnce(1));
  });
});
