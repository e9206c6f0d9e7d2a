// Claims that wait inside the object: what ends the wait, and that of many one wins. A test knows that a caller waits from
// a spy on `Waiters.wait`, which is called through.

import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { ClaimOutcome } from "../../../ledger-service/contract/index.ts";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import { Waiters } from "../../../ledger-service/src/object/waiters.ts";
import { claimOf, EVENT, jobObject, ledger, OTHER_EVENT } from "./job-object.ts";

const index = ledger("index");
const waits = vi.spyOn(Waiters.prototype, "wait");
const SOON = { timeout: 4_000, interval: 5 };

beforeEach(() => {
  waits.mockClear();
});
/** Until that many waits have begun since the test began. */
const waiting = (count: number) => vi.waitFor(() => expect(waits).toHaveBeenCalledTimes(count), SOON);

describe("a waiting claim", () => {
  test("is granted when the holder releases", async () => {
    await index.claim({ jobId: "waiting-released", event: EVENT, token: "a" });
    const waiter = index.claim({ jobId: "waiting-released", waitMs: 8_000 });
    await waiting(1);
    await index.release({ jobId: "waiting-released", token: "a" });
    expect(await waiter).toMatchObject({ outcome: "claimed", attempt: 2, event: EVENT, waitedMs: expect.any(Number) });
  });

  test("is told completed, with the result, when the holder completes", async () => {
    await index.claim({ jobId: "waiting-completed", event: EVENT, token: "a" });
    const waiter = index.claim({ jobId: "waiting-completed", waitMs: 8_000 });
    await waiting(1);
    await index.complete({ jobId: "waiting-completed", token: "a", result: { n: 1 }, dispatchedTo: ["mail"] });
    expect(await waiter).toMatchObject({ outcome: "completed", result: { n: 1 }, dispatchedTo: ["mail"] });
  });

  test("is told deferred when the holder releases for later", async () => {
    await index.claim({ jobId: "waiting-deferred", event: EVENT, token: "a" });
    const waiter = index.claim({ jobId: "waiting-deferred", waitMs: 8_000 });
    await waiting(1);
    const { retryAt } = await index
      .release({ jobId: "waiting-deferred", token: "a", retryAfterMs: 60_000 })
      .then((outcome) => ({ retryAt: "retryAt" in outcome ? outcome.retryAt : null }));
    expect(await waiter).toMatchObject({ outcome: "deferred", attempt: 1, retryAt });
  });

  test("is told failed when the holder releases for good", async () => {
    await index.claim({ jobId: "failed", event: EVENT, token: "a" });
    const waiter = index.claim({ jobId: "failed", waitMs: 8_000 });
    await waiting(1);
    await index.release({ jobId: "failed", token: "a", permanent: true, error: "e" });
    expect(await waiter).toMatchObject({ outcome: "failed", error: "e" });
  });

  test("is told failed when an operator abandons the claim", async () => {
    await index.claim({ jobId: "waiting-abandoned", event: EVENT, token: "a" });
    const waiter = index.claim({ jobId: "waiting-abandoned", waitMs: 8_000 });
    await waiting(1);
    const who = { namespace: "n", jobId: "waiting-abandoned", actor: "ann", consumer: "index" };
    expect(await exports.LedgerAdmin.abandon(who)).toEqual({ outcome: "abandoned" });
    expect(await waiter).toMatchObject({ outcome: "failed", error: "abandoned by ann" });
  });

  test("is told in_progress when its own time is up", async () => {
    await index.claim({ jobId: "timeout", event: EVENT, token: "a" });
    const before = Date.now();
    expect(await index.claim({ jobId: "timeout", waitMs: 100 })).toMatchObject({ outcome: "in_progress", attempt: 1 });
    expect(Date.now() - before).toBeGreaterThanOrEqual(100);
  });

  // In one event, in which the clock stands still until something is awaited: the waiter cannot come too late.
  test("takes over when the lease ends", async () => {
    const [holder, waiter] = await runInDurableObject(jobObject("waiting-takeover"), async (job: JobLedger) => [
      await job.claim({ ...claimOf("a"), leaseMs: 100 }, EVENT, 0),
      await job.claim(claimOf("b"), null, 8_000),
    ]);
    expect(waits).toHaveBeenCalledTimes(1);
    expect(holder).toMatchObject({ outcome: "claimed", attempt: 1 });
    expect(waiter).toMatchObject({ outcome: "claimed", attempt: 2, token: "b" });
    const end = holder.outcome === "claimed" ? holder.leaseExpiresAt : Number.NaN;
    expect("fence" in waiter && waiter.fence).toBeGreaterThanOrEqual(end);
    expect("waitedMs" in waiter && waiter.waitedMs).toBeGreaterThan(0);
  });

  test("is told failed when the lease of the last attempt ends", async () => {
    const waiter = await runInDurableObject(jobObject("waiting-last"), async (job: JobLedger) => {
      await job.claim({ ...claimOf("a"), leaseMs: 100, maxAttempts: 1 }, EVENT, 0);
      return await job.claim(claimOf("b"), null, 8_000);
    });
    expect(waits).toHaveBeenCalledTimes(1);
    expect(waiter).toMatchObject({ outcome: "failed", attempt: 1 });
  });

  test("waits on when the lease is renewed", async () => {
    const [waiter, renewed] = await runInDurableObject(jobObject("waiting-renewed"), async (job: JobLedger) => {
      await job.claim({ ...claimOf("a"), leaseMs: 100 }, EVENT, 0);
      const second = job.claim(claimOf("b"), null, 300);
      const renewal = job.renew({ consumer: "c", token: "a", leaseMs: 60_000 });
      return [await second, renewal];
    });
    // The old end of the lease woke it, and it found the new one.
    expect(waits.mock.calls.length).toBeGreaterThanOrEqual(2);
    const retryAt = renewed.outcome === "ok" ? renewed.leaseExpiresAt : Number.NaN;
    expect(waiter).toMatchObject({ outcome: "in_progress", attempt: 1, retryAt });
  });

  test("is not woken by another consumer's settle, nor by a stale owner", async () => {
    await index.claim({ jobId: "other", event: EVENT, token: "a" });
    await ledger("archive").claim({ jobId: "other", token: "b" });
    const waiter = index.claim({ jobId: "other", waitMs: 8_000 });
    await waiting(1);
    await ledger("archive").complete({ jobId: "other", token: "b" });
    await index.complete({ jobId: "other", token: "stale" });
    await index.release({ jobId: "other", token: "stale" });
    expect(waits).toHaveBeenCalledTimes(1);
    await index.complete({ jobId: "other", token: "a" });
    expect(await waiter).toMatchObject({ outcome: "completed" });
  });

  test("brings its event all the same, and with a new type learns of the conflict", async () => {
    await index.claim({ jobId: "waiting-conflict", event: EVENT, token: "a" });
    const waiter = index.claim({ jobId: "waiting-conflict", event: OTHER_EVENT, waitMs: 8_000 });
    await waiting(1);
    await index.release({ jobId: "waiting-conflict", token: "a" });
    expect(await waiter).toMatchObject({
      outcome: "claimed",
      event: EVENT,
      conflict: { recorded: "job.completed", received: "job.failed" },
    });
  });

  test("brings its body once: one that comes while it waits is not replaced by it", async () => {
    const [older, newer] = ["older", "newer"].map((word) => ({ ...EVENT, body: `"${word}"` }));
    await index.claim({ jobId: "waiting-body", event: EVENT, token: "a" });
    const waiter = index.claim({ jobId: "waiting-body", event: older, waitMs: 8_000 });
    await waiting(1);
    await ledger("receiver").claim({ jobId: "waiting-body", event: newer });
    await index.release({ jobId: "waiting-body", token: "a" });
    expect(await waiter).toMatchObject({ outcome: "claimed", event: newer });
    const view = await index.inspect({ jobId: "waiting-body", body: true });
    expect(view?.events).toMatchObject([{ body: '"newer"', replaced: [{ bytes: 18 }, { bytes: 7 }] }]);
  });

  test.each([
    ["nobody holds it", "free", false],
    ["it is deferred", "later", true],
  ])("does not wait while %s", async (_, jobId, released) => {
    await index.claim({ jobId, event: EVENT, token: "a" });
    await index.release({ jobId, token: "a", retryAfterMs: released ? 60_000 : 0 });
    expect(await index.claim({ jobId, waitMs: 8_000 })).toMatchObject({ outcome: released ? "deferred" : "claimed" });
    expect(waits).not.toHaveBeenCalled();
  });

  test("on an unknown job does not wait", async () => {
    expect(await index.claim({ jobId: "waiting-unknown", waitMs: 8_000 })).toEqual({ outcome: "unknown" });
    expect(waits).not.toHaveBeenCalled();
  });
});

describe("several waiting claims", () => {
  test("one wins when the holder releases, the others wait on and learn how it ended", async () => {
    await index.claim({ jobId: "several", event: EVENT, token: "a" });
    const answers: ClaimOutcome[] = [];
    const all = Promise.all(
      Array.from({ length: 10 }, async () => {
        answers.push(await index.claim({ jobId: "several", waitMs: 8_000 }));
      }),
    );
    await waiting(10);
    await index.release({ jobId: "several", token: "a" });
    await waiting(10 + 9);
    await vi.waitFor(() => expect(answers).not.toEqual([]), SOON);
    expect(answers).toMatchObject([{ outcome: "claimed", attempt: 2 }]);
    const [winner] = answers;
    await index.complete({ jobId: "several", token: winner?.outcome === "claimed" ? winner.token : "", result: "won" });
    await all;
    expect(answers.slice(1)).toMatchObject(
      Array.from({ length: 9 }, () => ({ outcome: "completed", attempt: 2, result: "won" })),
    );
  });

  test("one wins when the lease ends, the others are told in_progress when their time is up", async () => {
    const answers = await runInDurableObject(jobObject("several-end"), async (job: JobLedger) => {
      await job.claim({ ...claimOf("a"), leaseMs: 100 }, EVENT, 0);
      return await Promise.all(Array.from({ length: 10 }, (_, n) => job.claim(claimOf(`t${n}`), null, 400)));
    });
    expect(answers.map(({ outcome }) => outcome).toSorted()).toEqual([
      "claimed",
      ...Array.from({ length: 9 }, () => "in_progress"),
    ]);
  });

  test("in one event: woken by a settle of that same event, one wins", async () => {
    const outcomes = await runInDurableObject(jobObject("one-event"), async (job: JobLedger) => {
      await job.claim(claimOf("a"), EVENT, 0);
      const waiters = [job.claim(claimOf("b"), null, 200), job.claim(claimOf("c"), null, 200)];
      job.release({ consumer: "c", token: "a", error: null, retryAfterMs: 0, permanent: false });
      return await Promise.all(waiters);
    });
    expect(outcomes).toMatchObject([{ outcome: "claimed", token: "b" }, { outcome: "in_progress" }]);
  });
});
