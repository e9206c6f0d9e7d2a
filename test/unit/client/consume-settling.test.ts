// `consume`: what becomes of a message. Each outcome of its job means either that it need not come again (`"ack"`),
// or the seconds after which it does.

import { describe, expect, test } from "vitest";
import { type LedgerBinding, NonRetryableError, runOnce, type Work } from "../../../ledger-service/client/index.ts";
import {
  arrived,
  claimOf,
  clockTo,
  consumed,
  ledger,
  message,
  rival,
  settled,
  steps,
  T0,
  useClock,
  watched,
} from "./support.ts";

useClock();

const boom: Work = () => Promise.reject(new Error("boom"));
const hopeless: Work = () => Promise.reject(new NonRetryableError("no codec"));
const fine: Work = async () => "fine";

describe("the message need not come again", () => {
  test.each<{ name: string; before?: (jobId: string) => Promise<unknown>; work: Work; status: string }>([
    { name: "done", work: fine, status: "completed" },
    {
      name: "completed",
      before: (jobId) => runOnce(ledger, { jobId }, fine),
      work: boom,
      status: "completed",
    },
    {
      name: "failed",
      before: (jobId) => runOnce(ledger, { jobId }, hopeless),
      work: fine,
      status: "failed",
    },
    { name: "gave_up", work: hopeless, status: "failed" },
  ])("$name", async ({ name, before, work, status }) => {
    const jobId = await arrived(`settling-${name}`);
    await before?.(jobId);
    expect(await consumed([message(jobId)], work)).toEqual({ [jobId]: "ack" });
    expect(await claimOf(jobId)).toMatchObject({ status });
  });

  test("unknown: nothing is written for a job that the ledger does not know", async () => {
    expect(await consumed([message("settling-unknown")], fine)).toEqual({ "settling-unknown": "ack" });
    expect(await ledger.inspect({ jobId: "settling-unknown" })).toBeNull();
  });
});

describe("the message comes again shortly after the job can be claimed: an eighth later, at most 4 s, in whole seconds", () => {
  test.each([
    { leaseMs: 900_000, seconds: 904 },
    { leaseMs: 30_001, seconds: 34 },
    { leaseMs: 16_000, seconds: 18 },
    { leaseMs: 1_000, seconds: 2 },
  ])("in_progress, $leaseMs ms before the lease ends: $seconds s", async ({ leaseMs, seconds }) => {
    const jobId = await arrived(`settling-in-progress-${leaseMs}`);
    await rival(jobId, { leaseMs });
    expect(await consumed([message(jobId)], fine)).toEqual({ [jobId]: seconds });
  });

  test.each([
    { attempts: 2, answer: 34 },
    { attempts: 3, answer: "ack" },
    { attempts: 100, answer: "ack" },
  ])("deferred, at delivery $attempts: $answer, for the message of who released it comes", async (each) => {
    const jobId = await arrived(`settling-surplus-${each.attempts}`);
    await ledger.release({ jobId, token: await rival(jobId), retryAfterMs: 30_000 });
    expect(await consumed([message(jobId, each.attempts)], fine)).toEqual({ [jobId]: each.answer });
  });

  test.each([
    { ms: 43_200_000, seconds: 43_200 },
    { ms: 1_001, seconds: 2 },
    { ms: 1, seconds: 1 },
  ])("deferred, $ms ms before it is due: $seconds s", async ({ ms, seconds }) => {
    const jobId = await arrived(`settling-deferred-${ms}`);
    await ledger.release({ jobId, token: await rival(jobId), retryAfterMs: ms });
    expect(await consumed([message(jobId)], fine)).toEqual({ [jobId]: seconds });
  });

  test.each([
    { name: "over 12 h away, the longest delay that a queue takes", retryAt: T0 + 43_200_001, seconds: 43_200 },
    { name: "past", retryAt: T0 - 60_000, seconds: 1 },
  ])("a time that is $name: $seconds s", async ({ retryAt, seconds }) => {
    const claim: LedgerBinding["claim"] = async () => ({ outcome: "deferred", attempt: 1, fence: T0, retryAt });
    expect(await consumed([message("settling-any")], fine, { ...watched(), claim })).toEqual({
      "settling-any": seconds,
    });
  });

  test.each([
    { name: "default", options: {}, seconds: 34 },
    { name: "own", options: { retryAfterMs: () => 7_001 }, seconds: 8 },
    { name: "none", options: { retryAfterMs: () => 0 }, seconds: 1 },
    { name: "longest", options: { retryAfterMs: () => 43_200_000 }, seconds: 43_200 },
  ])("released, with the $name pause: $seconds s", async ({ name, options, seconds }) => {
    const jobId = await arrived(`settling-released-${name}`);
    expect(await consumed([message(jobId)], boom, ledger, options)).toEqual({ [jobId]: seconds });
    expect(await claimOf(jobId)).toMatchObject({ status: "released", error: "Error: boom" });
  });

  test.each<{ verb: "complete" | "release"; work: Work }>([
    { verb: "complete", work: fine },
    { verb: "release", work: boom },
  ])("unsettled, for $verb never arrived: when the lease ends", async ({ verb, work }) => {
    const jobId = await arrived(`settling-unsettled-${verb}`);
    const binding = watched({ [verb]: "unreached" });
    const result = await settled(consumed([message(jobId)], work, binding, { leaseMs: 900_000 }));
    // The calls that were made in vain took four minutes.
    expect(result[jobId]).toBe(660);
    expect(await claimOf(jobId)).toMatchObject({ status: "claimed", leaseExpiresAt: T0 + 900_000 });
  });
});

describe("the message comes again after a delay that grows with its deliveries", () => {
  const delays = [
    { attempts: 1, seconds: 30 },
    { attempts: 2, seconds: 60 },
    { attempts: 3, seconds: 120 },
    { attempts: 7, seconds: 1_920 },
    { attempts: 8, seconds: 3_600 },
    { attempts: 100, seconds: 3_600 },
  ];

  test.each(delays)("lost, delivery $attempts: $seconds s", async ({ attempts, seconds }) => {
    const jobId = await arrived(`settling-lost-${attempts}`);
    const work: Work = async () => {
      await clockTo(240_000);
      await rival(jobId);
    };
    const binding = watched({ renew: "unreached" });
    expect(await consumed([message(jobId, attempts)], work, binding)).toEqual({ [jobId]: seconds });
    expect(await claimOf(jobId)).toMatchObject({ status: "claimed", attempt: 2 });
  });

  test.each(delays)(
    "a ledger that cannot be reached, delivery $attempts: $seconds s",
    async ({ attempts, seconds }) => {
      const binding = watched({ claim: "unreached", whoami: "unreached" });
      expect(await settled(consumed([message("settling-any", attempts)], fine, binding))).toEqual({
        "settling-any": seconds,
      });
    },
  );
});

describe("a job's messages, until they end", () => {
  test("a job that always fails is tried as often as it may be, and then no more", async () => {
    const jobId = await arrived("settling-always-fails");
    const seen = [];
    let now = 0;
    for (let attempts = 1; attempts <= 4; attempts++) {
      const { [jobId]: answer } = await consumed([message(jobId, attempts)], boom, ledger, { maxAttempts: 3 });
      seen.push(answer);
      now += typeof answer === "number" ? answer * 1_000 : 0;
      await clockTo(now);
    }
    expect(seen).toEqual([34, 64, "ack", "ack"]);
    expect(await claimOf(jobId)).toMatchObject({ status: "failed", attempt: 3, error: "Error: boom" });
  });

  test("a holder that dies after its work: the next delivery waits for the lease, then does the work again", async () => {
    const jobId = await arrived("settling-crashed");
    await rival(jobId, { leaseMs: 240_000 });
    expect(await consumed([message(jobId, 100)], fine)).toEqual({ [jobId]: 244 });
    await clockTo(240_000);
    expect(await consumed([message(jobId, 101)], fine)).toEqual({ [jobId]: "ack" });
    expect(await steps(jobId)).toEqual(["claim 1", "claim 2", "complete 2"]);
  });
});
