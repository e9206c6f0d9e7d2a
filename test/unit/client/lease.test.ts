// The lease while the work runs: renewed at half its time, for as long as the work runs and no longer; and the signal
// by which work learns that its claim is lost. The lease here is a minute, unless a test says otherwise.

import { exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { ClaimLostError, type LedgerBinding, runOnce } from "../../../ledger-service/client/index.ts";
import {
  arrived,
  claimOf,
  clockTo,
  type Fault,
  gate,
  ledger,
  LOST,
  record,
  rival,
  steps,
  T0,
  until,
  useClock,
  watched,
  type Watched,
} from "./support.ts";

const admin = exports.LedgerAdmin({});
const leaseMs = 60_000;

/** Starts work that runs until it is told what to do; answers once the claim is made. */
async function started(jobId: string, binding: LedgerBinding) {
  const end = gate();
  const begun = gate();
  let signal = new AbortController().signal;
  const ran = runOnce(binding, { jobId, leaseMs }, async (job) => {
    signal = job.signal;
    begun.open();
    await end.opened;
    return "done";
  });
  await begun.opened;
  return { ran, signal, end: end.open };
}

/** Times of the `renew` calls, in milliseconds after the clock began. */
function renewals(binding: Watched): number[] {
  return binding.calls.filter(({ verb }) => verb === "renew").map(({ at }) => at - T0);
}

const unavailable: LedgerBinding["renew"] = async ({ claims }) =>
  claims.map(({ jobId }) => ({ jobId, outcome: "unavailable" as const }));

describe("renewal", () => {
  useClock();

  test("at half the lease while the work runs, and not after it", async () => {
    const jobId = await arrived("leased-renewed");
    const binding = watched();
    const { ran, signal, end } = await started(jobId, binding);
    await clockTo(29_999);
    expect(renewals(binding)).toEqual([]);
    await clockTo(30_000);
    await until(() => binding.answered("renew") === 1);
    expect((await claimOf(jobId)).leaseExpiresAt).toBe(T0 + 90_000);
    await clockTo(60_000);
    await until(() => binding.answered("renew") === 2);
    expect((await claimOf(jobId)).leaseExpiresAt).toBe(T0 + 120_000);
    expect(renewals(binding)).toEqual([30_000, 60_000]);
    expect(signal.aborted).toBe(false);

    end();
    expect(await ran).toEqual({ outcome: "done", attempt: 1, fence: T0, result: "done" });
    await clockTo(600_000);
    expect(renewals(binding)).toEqual([30_000, 60_000]);
  });

  test("not after work that threw, nor where no claim was had", async () => {
    const binding = watched();
    await runOnce(binding, { jobId: await arrived("leased-threw"), leaseMs }, () => Promise.reject(new Error("boom")));
    await runOnce(binding, { jobId: "leased-unknown", leaseMs }, async () => {});
    await clockTo(600_000);
    expect(renewals(binding)).toEqual([]);
  });

  test.each<{ name: string; first: Fault | "unavailable" }>([
    { name: "does not arrive", first: "unreached" },
    { name: "never ends", first: "hangs" },
    { name: "does not reach the job's object", first: "unavailable" },
  ])("one that $name is made up for before the lease ends", async ({ name, first }) => {
    const jobId = await arrived(`leased-once ${name}`);
    const binding = watched({ renew: first === "unavailable" ? "none" : [first] });
    let calls = 0;
    const renew: LedgerBinding["renew"] = async (args) => {
      calls += 1;
      return await (first === "unavailable" && calls === 1 ? unavailable(args) : binding.renew(args));
    };
    const { ran, signal, end } = await started(jobId, { ...binding, renew });
    await clockTo(30_000);
    expect(calls).toBe(1);
    expect((await claimOf(jobId)).leaseExpiresAt).toBe(T0 + 60_000);
    await clockTo(59_999);
    await until(() => binding.answered("renew") === 1);
    expect((await claimOf(jobId)).leaseExpiresAt).toBeGreaterThan(T0 + 60_000);
    expect(signal.aborted).toBe(false);
    end();
    expect(await ran).toMatchObject({ outcome: "done" });
  });

  test("one whose answer comes after the claim was settled does no harm", async () => {
    const jobId = await arrived("leased-in-flight");
    const [sent, carriedOut, answered] = [gate(), gate(), gate()];
    const binding = watched();
    const renew: LedgerBinding["renew"] = async (args) => {
      sent.open();
      await carriedOut.opened;
      const answers = await binding.renew(args);
      answered.open();
      return answers;
    };
    const { ran, signal, end } = await started(jobId, { ...binding, renew });
    await clockTo(30_000);
    await sent.opened;
    end();
    expect(await ran).toMatchObject({ outcome: "done", attempt: 1 });
    const atEnd = await claimOf(jobId);

    carriedOut.open();
    await answered.opened;
    await clockTo(600_000);
    expect(await claimOf(jobId)).toEqual(atEnd);
    expect(signal.aborted).toBe(false);
    expect(binding.count("renew")).toBe(1);
  });

  test("one that finds the claim settled while the answer of `complete` is on its way does no harm", async () => {
    const jobId = await arrived("leased-crossing");
    const [completed, answered] = [gate(), gate()];
    const binding = watched();
    const complete: LedgerBinding["complete"] = async (args) => {
      const answer = await binding.complete(args);
      completed.open();
      await answered.opened;
      return answer;
    };
    const { ran, signal, end } = await started(jobId, { ...binding, complete });
    end();
    await completed.opened;
    await clockTo(30_000);
    await until(() => binding.answered("renew") === 1);
    await scheduler.wait(1);
    expect(signal.aborted).toBe(false);
    answered.open();
    expect(await ran).toEqual({ outcome: "done", attempt: 1, fence: T0, result: "done" });
    await clockTo(600_000);
    expect(binding.count("renew")).toBe(1);
    expect(await steps(jobId)).toEqual(["claim 1", "complete 1"]);
  });

  test("goes on until the ledger has been told of the end", async () => {
    const jobId = await arrived("leased-slow-complete");
    const answered = gate();
    const binding = watched();
    const complete: LedgerBinding["complete"] = async (args) => {
      await answered.opened;
      return await binding.complete(args);
    };
    const { ran, end } = await started(jobId, { ...binding, complete });
    end();
    await clockTo(30_000);
    await until(async () => (await claimOf(jobId)).leaseExpiresAt === T0 + 90_000);
    answered.open();
    expect(await ran).toMatchObject({ outcome: "done" });
  });
});

describe("a claim that another attempt has taken", () => {
  useClock();

  test.each<{ name: string; ends: "returns" | Error }>([
    { name: "returns", ends: "returns" },
    { name: "throws", ends: new Error("boom") },
    { name: "says it will never succeed", ends: Object.assign(new Error("no codec"), { name: "NonRetryableError" }) },
  ])("work that then $name has lost, and the other's result stands", async ({ name, ends }) => {
    const jobId = await arrived(`leased-taken-${name}`);
    let taken;
    const ran = await runOnce(watched({ renew: "hangs" }), { jobId, leaseMs }, async () => {
      await clockTo(60_000);
      await runOnce(ledger, { jobId }, async () => "the rival's");
      taken = await claimOf(jobId);
      if (ends !== "returns") throw ends;
      return "mine";
    });
    expect(ran).toEqual({ outcome: "lost", attempt: 1, fence: T0 });
    expect(taken).toMatchObject({ status: "completed", attempt: 2, result: "the rival's" });
    expect(await claimOf(jobId)).toEqual(taken);
  });

  test.each([
    ["behind", 3_600_000],
    ["ahead", -3_600_000],
  ])("the work is told at its lease's end, though its clock is an hour %s the ledger's", async (name, skew) => {
    const jobId = await arrived(`leased-told-${name}`);
    const binding = watched({ renew: "unreached" });
    const skewed: LedgerBinding = {
      ...binding,
      claim: async (args) => {
        const answer = await binding.claim(args);
        return answer.outcome === "claimed" ? { ...answer, leaseExpiresAt: answer.leaseExpiresAt + skew } : answer;
      },
    };
    const { ran, signal, end } = await started(jobId, skewed);
    await clockTo(59_999);
    expect(signal.aborted).toBe(false);
    await clockTo(60_000);
    await until(() => signal.aborted);
    expect(signal.reason).toBeInstanceOf(ClaimLostError);
    await rival(jobId);
    end();
    expect(await ran).toEqual({ outcome: "lost", attempt: 1, fence: T0 });
  });

  test("one that was abandoned: its work is told by the next renewal, and what it finishes counts", async () => {
    const jobId = await arrived("leased-abandoned");
    const binding = watched();
    const { ran, signal, end } = await started(jobId, binding);
    await admin.abandon({ namespace: "studio", jobId, consumer: "archive", actor: "on-call" });
    await clockTo(30_000);
    await until(() => signal.aborted);
    expect(signal.reason).toBeInstanceOf(ClaimLostError);
    end();
    expect(await ran).toMatchObject({ outcome: "done", attempt: 1 });
  });

  test("its late renewal changes nothing of the other's lease, and is the last", async () => {
    const jobId = await arrived("leased-renews-late");
    const [sent, carriedOut] = [gate(), gate()];
    const binding = watched();
    const renew: LedgerBinding["renew"] = async (args) => {
      sent.open();
      await carriedOut.opened;
      return await binding.renew(args);
    };
    const { ran, signal, end } = await started(jobId, { ...binding, renew });
    await clockTo(30_000);
    await sent.opened;
    await clockTo(60_000);
    await rival(jobId);
    const taken = await claimOf(jobId);
    carriedOut.open();
    await until(() => signal.aborted);
    expect(await claimOf(jobId)).toEqual(taken);
    const renewed = binding.count("renew");
    await clockTo(600_000);
    expect(binding.count("renew")).toBe(renewed);
    end();
    expect(await ran).toMatchObject({ outcome: "lost" });
  });
});

describe("a lease that cannot be renewed", () => {
  useClock();

  test.each<{ name: string; renew: Fault | LedgerBinding["renew"] }>([
    { name: "the calls do not arrive", renew: "unreached" },
    { name: "the job's object cannot be reached", renew: unavailable },
    { name: "the calls never end", renew: "hangs" },
  ])("$name: the signal is aborted when the lease ends, not before", async ({ name, renew }) => {
    const jobId = await arrived(`leased-unrenewed-${name}`);
    const binding = typeof renew === "function" ? { ...watched(), renew } : watched({ renew });
    const { ran, signal, end } = await started(jobId, binding);
    await clockTo(59_999);
    expect(signal.aborted).toBe(false);
    await clockTo(60_000);
    await until(() => signal.aborted);
    expect(signal.reason).toBeInstanceOf(ClaimLostError);
    end();
    await ran;
  });

  test("any more: the signal is aborted at the end of the lease as it was last renewed", async () => {
    const jobId = await arrived("leased-renewed-once");
    const binding = watched();
    let connected = true;
    const renew: LedgerBinding["renew"] = async (args) => {
      if (!connected) throw LOST;
      return await binding.renew(args);
    };
    const { ran, signal, end } = await started(jobId, { ...binding, renew });
    await clockTo(30_000);
    await until(() => binding.answered("renew") === 1);
    connected = false;
    await clockTo(89_999);
    expect(signal.aborted).toBe(false);
    await clockTo(90_000);
    expect(signal.aborted).toBe(true);
    end();
    await ran;
  });

  test("but that nobody has taken may still be settled by its holder", async () => {
    const jobId = await arrived("leased-late-but-first");
    const { ran, signal, end } = await started(jobId, watched({ renew: "unreached" }));
    await clockTo(60_000);
    await until(() => signal.aborted);
    end();
    expect(await ran).toEqual({ outcome: "done", attempt: 1, fence: T0, result: "done" });
    expect(await claimOf(jobId)).toMatchObject({ status: "completed", result: "done" });
  });
});

/** A ledger whose claim waits 8 s for the holder before it is granted; `tells`: whether the claim says so. */
function waiting(tells: boolean): Watched {
  const binding = watched();
  const claim: LedgerBinding["claim"] = async (args) => {
    await clockTo(8_000);
    const answer = await binding.claim(args);
    return answer.outcome === "claimed" && tells ? { ...answer, waitedMs: 8_000 } : answer;
  };
  return { ...binding, claim };
}

describe("a claim that was won after waiting", () => {
  useClock();

  test("has a whole lease for its holder, though it is shorter than the wait", async () => {
    const jobId = await arrived("leased-waited");
    const binding = waiting(true);
    const end = gate();
    let signal = new AbortController().signal;
    const ran = runOnce(binding, { jobId, leaseMs: 5_000, waitMs: 8_000 }, async (job) => {
      signal = job.signal;
      await end.opened;
      return "done";
    });
    await until(async () => (await record(jobId))?.claims.some(({ consumer }) => consumer === "archive") === true);
    await clockTo(10_499);
    expect(renewals(binding)).toEqual([]);
    await clockTo(10_500);
    await until(() => binding.answered("renew") === 1);
    expect(renewals(binding)).toEqual([10_500]);
    await clockTo(12_900);
    expect(signal.aborted).toBe(false);
    end.open();
    expect(await ran).toMatchObject({ outcome: "done", attempt: 1 });
  });

  test("counts as asked for when the call was made, where the claim does not tell of the wait", async () => {
    const jobId = await arrived("leased-waited-untold");
    const ran = runOnce(waiting(false), { jobId, leaseMs: 5_000, waitMs: 8_000 }, async ({ signal }) => {
      await clockTo(8_001);
      return { told: signal.aborted };
    });
    expect(await ran).toMatchObject({ outcome: "done", result: { told: true } });
  });
});

test("a lease of 1 s, the shortest, is kept in real time for as long as the work runs", async () => {
  const jobId = await arrived("leased-shortest");
  const binding = watched();
  const ran = await runOnce(binding, { jobId, leaseMs: 1_000 }, async ({ signal }) => {
    await until(() => binding.count("renew") === 2);
    return { aborted: signal.aborted };
  });
  expect(ran).toMatchObject({ outcome: "done", attempt: 1, result: { aborted: false } });
  expect(await steps(jobId)).toEqual(["claim 1", "complete 1"]);
});
