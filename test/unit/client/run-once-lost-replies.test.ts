// Calls whose outcome is unknown: the call or its answer was lost. A claim, a `complete` or a `release` that is
// repeated with its token does no harm; finished work is never said to have failed.

import { describe, expect, test, vi } from "vitest";
import { type LedgerBinding, NonRetryableError, runOnce, type Work } from "../../../ledger-service/client/index.ts";
import {
  arrived,
  claimOf,
  clockTo,
  type Fault,
  gate,
  ledger,
  LOST,
  record,
  settled,
  steps,
  T0,
  until,
  useClock,
  watched,
} from "./support.ts";

useClock();

const boom: Work = () => Promise.reject(new Error("boom"));
const losses: { name: string; faults: Fault[] }[] = [
  { name: "the call is lost", faults: ["unreached"] },
  { name: "the reply is lost", faults: ["reply_lost"] },
  { name: "reply, call and reply are lost", faults: ["reply_lost", "unreached", "reply_lost"] },
];

describe("claim", () => {
  test.each(losses)("$name: the repeated call gets the same claim", async ({ name, faults }) => {
    const jobId = await arrived(`lossy-claim-${name}`);
    const work = vi.fn<Work>(async ({ attempt }) => attempt);
    const binding = watched({ claim: faults });
    expect(await settled(runOnce(binding, { jobId }, work))).toMatchObject({ outcome: "done", attempt: 1, result: 1 });
    expect(work).toHaveBeenCalledTimes(1);
    expect(binding.count("claim")).toBe(faults.length + 1);
    expect(await steps(jobId)).toEqual(["claim 1", "complete 1"]);
  });

  test.each<{ fault: Fault; claims: string[] }>([
    { fault: "unreached", claims: ["receiver"] },
    { fault: "reply_lost", claims: ["archive", "receiver"] },
  ])("never answered ($fault): its error, and the work is not run", async ({ fault, claims }) => {
    const jobId = await arrived(`lossy-claim-never-${fault}`);
    const work = vi.fn<Work>(async () => {});
    await expect(settled(runOnce(watched({ claim: fault }), { jobId }, work))).rejects.toBe(LOST);
    expect(work).not.toHaveBeenCalled();
    expect((await record(jobId))?.claims.map(({ consumer }) => consumer)).toEqual(claims);
  });

  test("an overloaded ledger is not called again: another call would be one more to its load", async () => {
    const jobId = await arrived("lossy-overloaded");
    const overloaded = Object.assign(new Error("Durable Object is overloaded."), { overloaded: true });
    const claim = vi.fn<LedgerBinding["claim"]>(() => Promise.reject(overloaded));
    await expect(settled(runOnce({ ...watched(), claim }, { jobId }, boom))).rejects.toBe(overloaded);
    expect(claim).toHaveBeenCalledTimes(1);
  });
});

describe("complete", () => {
  test.each(losses)("$name: only `complete` is repeated", async ({ name, faults }) => {
    const jobId = await arrived(`lossy-complete-${name}`);
    const work = vi.fn<Work>(async () => ({ rows: 7 }));
    const binding = watched({ complete: faults });
    expect(await settled(runOnce(binding, { jobId }, work))).toMatchObject({ outcome: "done", result: { rows: 7 } });
    expect(work).toHaveBeenCalledTimes(1);
    expect([binding.count("complete"), binding.count("release")]).toEqual([faults.length + 1, 0]);
    expect(await claimOf(jobId)).toMatchObject({ status: "completed", result: { rows: 7 } });
    expect(await steps(jobId)).toEqual(["claim 1", "complete 1"]);
  });

  test("never arrived: unsettled; the work is done again when the lease has run out", async () => {
    const jobId = await arrived("lossy-complete-unreached");
    const work = vi.fn<Work>(async ({ attempt }) => attempt);
    const binding = watched({ complete: "unreached" });
    expect(await settled(runOnce(binding, { jobId }, work))).toEqual({
      outcome: "unsettled",
      attempt: 1,
      fence: T0,
      retryAt: T0 + 480_000,
    });
    expect(binding.count("release")).toBe(0);
    expect(await claimOf(jobId)).toMatchObject({ status: "claimed", leaseExpiresAt: T0 + 480_000 });

    await clockTo(479_999);
    expect(await runOnce(ledger, { jobId }, work)).toMatchObject({ outcome: "in_progress", retryAt: T0 + 480_000 });
    await clockTo(480_000);
    expect(await runOnce(ledger, { jobId }, work)).toMatchObject({ outcome: "done", attempt: 2, result: 2 });
    expect(work).toHaveBeenCalledTimes(2);
    expect(await steps(jobId)).toEqual(["claim 1", "claim 2", "complete 2"]);
  });

  test("carried out, but never answered: unsettled; the next claim finds it completed", async () => {
    const jobId = await arrived("lossy-complete-unanswered");
    const work = vi.fn<Work>(async () => ({ rows: 7 }));
    const binding = watched({ complete: "reply_lost" });
    expect(await settled(runOnce(binding, { jobId }, work))).toMatchObject({ outcome: "unsettled", attempt: 1 });
    expect(binding.count("release")).toBe(0);
    expect(await runOnce(ledger, { jobId }, work)).toMatchObject({ outcome: "completed", result: { rows: 7 } });
    expect(work).toHaveBeenCalledTimes(1);
  });

  test("never arrived after a renewal: to be tried again when the renewed lease ends", async () => {
    const jobId = await arrived("lossy-complete-renewed");
    const binding = watched({ complete: "unreached" });
    const worked = gate();
    const ran = runOnce(binding, { jobId }, async () => {
      await clockTo(120_000);
      await until(() => binding.answered("renew") === 1);
      worked.open();
    });
    await worked.opened;
    expect(await settled(ran)).toMatchObject({ outcome: "unsettled", retryAt: T0 + 600_000 });
  });
});

describe("release", () => {
  test.each(losses)("$name: the repeated call gets the same answer", async ({ name, faults }) => {
    const jobId = await arrived(`lossy-release-${name}`);
    const binding = watched({ release: faults });
    const ran = await settled(runOnce(binding, { jobId }, boom));
    const { retryAt } = await claimOf(jobId);
    expect(ran).toEqual({ outcome: "released", attempt: 1, fence: T0, error: "Error: boom", retryAt });
    expect(binding.count("release")).toBe(faults.length + 1);
    expect(await steps(jobId)).toEqual(["claim 1", "release 1"]);
  });

  test.each(losses)("for good, $name: given up", async ({ name, faults }) => {
    const jobId = await arrived(`lossy-release-for-good-${name}`);
    const ran = runOnce(watched({ release: faults }), { jobId }, () =>
      Promise.reject(new NonRetryableError("no codec")),
    );
    expect(await settled(ran)).toMatchObject({ outcome: "gave_up", error: "NonRetryableError: no codec" });
    expect(await steps(jobId)).toEqual(["claim 1", "release 1"]);
  });

  test("never arrived: unsettled; the work is tried again when the lease has run out", async () => {
    const jobId = await arrived("lossy-release-unreached");
    expect(await settled(runOnce(watched({ release: "unreached" }), { jobId }, boom))).toEqual({
      outcome: "unsettled",
      attempt: 1,
      fence: T0,
      retryAt: T0 + 480_000,
    });
    expect(await claimOf(jobId)).toMatchObject({ status: "claimed", leaseExpiresAt: T0 + 480_000 });
    await clockTo(480_000);
    expect(await runOnce(ledger, { jobId }, async () => "second")).toMatchObject({ outcome: "done", attempt: 2 });
  });

  test("carried out, but never answered: unsettled; the next claim finds it released", async () => {
    const jobId = await arrived("lossy-release-unanswered");
    expect(await settled(runOnce(watched({ release: "reply_lost" }), { jobId }, boom))).toMatchObject({
      outcome: "unsettled",
    });
    expect(await runOnce(ledger, { jobId }, boom)).toMatchObject({ outcome: "released", attempt: 2 });
    expect(await steps(jobId)).toEqual(["claim 1", "release 1", "claim 2", "release 2"]);
  });
});

/** What a ledger throws that refuses a call, as it arrives over RPC. */
function refusal(code: string): Error {
  return Object.assign(new Error("refused"), { name: "LedgerError", code });
}

/** `complete` and `release` are refused, or lost, so many milliseconds long. */
function troubled(trouble: () => Promise<never>, forMs: number) {
  const binding = watched();
  const within = () => Date.now() < T0 + forMs;
  const complete: LedgerBinding["complete"] = (args) => (within() ? trouble() : binding.complete(args));
  const release: LedgerBinding["release"] = (args) => (within() ? trouble() : binding.release(args));
  return { ...binding, complete, release };
}

describe("a settle that is refused or not answered for minutes: the work is not done again, and never said to have failed", () => {
  const troubles: { name: string; trouble: () => Promise<never> }[] = [
    { name: "invalid_setting", trouble: () => Promise.reject(refusal("invalid_setting")) },
    { name: "invalid_props", trouble: () => Promise.reject(refusal("invalid_props")) },
    { name: "lost", trouble: () => Promise.reject(LOST) },
    { name: "never answered", trouble: () => new Promise<never>(() => {}) },
  ];

  test.each(troubles.flatMap((each) => [1, 200_000].map((forMs) => ({ ...each, forMs }))))(
    "#49 complete, $name for $forMs ms: completed by the first attempt",
    async ({ name, trouble, forMs }) => {
      const jobId = await arrived(`lossy-refused-${name}-${forMs}`);
      const work = vi.fn<Work>(async () => "once");
      const ran = await settled(runOnce(troubled(trouble, forMs), { jobId }, work));
      expect(ran).toEqual({ outcome: "done", attempt: 1, fence: T0, result: "once" });
      expect(work).toHaveBeenCalledTimes(1);
      expect(await steps(jobId)).toEqual(["claim 1", "complete 1"]);
    },
  );

  test.each(troubles)("release, $name for 200 s: released by the first attempt", async ({ name, trouble }) => {
    const jobId = await arrived(`lossy-refused-release-${name}`);
    const ran = await settled(runOnce(troubled(trouble, 200_000), { jobId }, boom));
    expect(ran).toMatchObject({ outcome: "released", attempt: 1 });
    expect(await steps(jobId)).toEqual(["claim 1", "release 1"]);
  });

  test.each(troubles)("$name for ever: unsettled, with few calls", async ({ name, trouble }) => {
    const jobId = await arrived(`lossy-refused-for-ever-${name}`);
    const calls = vi.fn<() => Promise<never>>(trouble);
    const ran = await settled(runOnce(troubled(calls, Number.POSITIVE_INFINITY), { jobId }, async () => "once"));
    expect(ran).toMatchObject({ outcome: "unsettled", attempt: 1 });
    expect(await claimOf(jobId)).toMatchObject({ status: "claimed" });
    expect(calls.mock.calls.length).toBeGreaterThan(5);
    expect(calls.mock.calls.length).toBeLessThan(15);
  });

  test("not beyond the end of a lease that cannot be renewed", async () => {
    const jobId = await arrived("lossy-lease-ended");
    const binding = watched({ complete: "unreached", renew: "unreached" });
    expect(await settled(runOnce(binding, { jobId, leaseMs: 60_000 }, async () => "once"))).toMatchObject({
      outcome: "unsettled",
      retryAt: T0 + 60_000,
    });
    expect(Date.now()).toBeLessThan(T0 + 100_000);
  });

  test.each(["too_large", "invalid_argument"])("a result refused as %s is final", async (code) => {
    const jobId = await arrived(`lossy-final-${code}`);
    const complete = vi.fn<LedgerBinding["complete"]>(() => Promise.reject(refusal(code)));
    const ran = await runOnce({ ...watched(), complete }, { jobId }, async () => "once");
    expect(ran).toMatchObject({ outcome: "gave_up", attempt: 1 });
    expect(complete).toHaveBeenCalledTimes(1);
  });
});
