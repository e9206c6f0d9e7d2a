// The calls of one invocation: the platform refuses every call after the 32nd, and a ledger that is down for seconds
// must not use them up. All that is worked on is settled with what is left.

import { describe, expect, test, vi } from "vitest";
import { type LedgerBinding, runOnce, type Work } from "../../../ledger-service/client/index.ts";
import {
  arrived,
  claimOf,
  clockTo,
  consumed,
  LOST,
  message,
  settled,
  steps,
  T0,
  useClock,
  watched,
} from "./support.ts";

useClock();

const fine: Work = async () => "fine";
type Verb = "claim" | "renew" | "complete" | "release";
type Trouble = { verbs: Verb[]; forMs: number; only?: string; by?: () => Promise<never> };

const lost = (): Promise<never> => Promise.reject(LOST);
const never = (): Promise<never> => new Promise<never>(() => {});

/** The real ledger behind a platform that refuses every call after the 32nd; `total` counts those too. */
function limited({ verbs, forMs, only, by = lost }: Trouble) {
  const real = watched();
  const counts = { total: 0, down: 0 };
  const through = async <T>(verb: Verb | "whoami", call: () => Promise<T>, jobId?: string): Promise<T> => {
    counts.total += 1;
    if (counts.total > 32) throw new Error("Too many subrequests.");
    const down = Date.now() < T0 + forMs && verbs.some((each) => each === verb) && (only ?? jobId) === jobId;
    if (!down) return await call();
    counts.down += 1;
    return await by();
  };
  const binding: LedgerBinding = {
    whoami: () => through("whoami", () => real.whoami()),
    claim: (args) => through("claim", () => real.claim(args), args.jobId),
    renew: (args) => through("renew", () => real.renew(args)),
    complete: (args) => through("complete", () => real.complete(args), args.jobId),
    release: (args) => through("release", () => real.release(args), args.jobId),
  };
  return { binding, counts };
}

async function ten(prefix: string): Promise<string[]> {
  const numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  return await Promise.all(numbers.map((number) => arrived(`calls-${prefix}-${number}`)));
}

async function statuses(jobIds: string[]): Promise<string[]> {
  return await Promise.all(jobIds.map(async (jobId) => (await claimOf(jobId)).status));
}

const all = (status: string) => Array.from({ length: 10 }, () => status);
/** The least and the most that the jitter of a pause may be. */
const draws = [0, 1];

describe("a settle that is not answered", () => {
  test.each(draws.flatMap((draw) => [300, 700, 3_000, 10_000, 30_000].map((forMs) => ({ draw, forMs }))))(
    "`complete` for $forMs ms (draws of $draw): all ten are completed within 32 calls",
    async ({ draw, forMs }) => {
      Math.random = () => draw;
      const ids = await ten(`complete-${draw}-${forMs}`);
      const work = vi.fn<Work>(fine);
      const { binding, counts } = limited({ verbs: ["complete"], forMs });
      await settled(
        consumed(
          ids.map((id) => message(id)),
          work,
          binding,
        ),
      );
      expect(await statuses(ids)).toEqual(all("completed"));
      expect(work).toHaveBeenCalledTimes(10);
      expect(counts.total).toBeLessThanOrEqual(32);
    },
  );

  test("`release` for 30 s: all ten are released within 32 calls", async () => {
    const ids = await ten("release");
    const { binding, counts } = limited({ verbs: ["release"], forMs: 30_000 });
    await settled(
      consumed(
        ids.map((id) => message(id)),
        () => Promise.reject(new Error("boom")),
        binding,
      ),
    );
    expect(await statuses(ids)).toEqual(all("released"));
    expect(counts.total).toBeLessThanOrEqual(32);
  });

  test("while one job runs on for 14 minutes: nine are completed, and the calls suffice for its leases too", async () => {
    const ids = await ten("long");
    const { binding, counts } = limited({ verbs: ["complete"], forMs: 10_000 });
    let aborted = false;
    const work: Work = async ({ jobId, signal }) => {
      if (jobId !== ids[4]) return;
      while (Date.now() < T0 + 14 * 60_000) await new Promise((resume) => setTimeout(resume, 60_000));
      aborted = signal.aborted;
    };
    await settled(
      consumed(
        ids.map((id) => message(id)),
        work,
        binding,
      ),
    );
    expect(await statuses(ids)).toEqual(all("completed"));
    expect(aborted).toBe(false);
    expect(counts.total).toBeLessThanOrEqual(32);
  });

  test.each([
    { name: "for ever", by: lost },
    { name: "and hangs", by: never },
  ])("$name: every job is unsettled in few minutes, within 32 calls", async ({ name, by }) => {
    const ids = await ten(`ever ${name}`);
    const { binding, counts } = limited({ verbs: ["complete"], forMs: Number.POSITIVE_INFINITY, by });
    const settlements = await settled(
      consumed(
        ids.map((id) => message(id)),
        fine,
        binding,
      ),
    );
    expect(Object.values(settlements).every((settlement) => typeof settlement === "number")).toBe(true);
    expect(await statuses(ids)).toEqual(all("claimed"));
    expect(counts.total).toBeLessThanOrEqual(32);
    expect(Date.now()).toBeLessThan(T0 + 5 * 60_000);
  });

  test.each([
    { name: "fails", by: lost },
    { name: "hangs", by: never },
  ])("of one job, which $name: the other nine are completed within a few seconds", async ({ name, by }) => {
    const ids = await ten(`one ${name}`);
    const { binding, counts } = limited({ verbs: ["complete"], forMs: 60_000, only: ids[0] ?? "", by });
    const consuming = consumed(
      ids.map((id) => message(id)),
      fine,
      binding,
    );
    const others = async () => (await statuses(ids.slice(1))).every((status) => status === "completed");
    for (let seconds = 1; seconds <= 5 && !(await others()); seconds++) {
      await clockTo(seconds * 1_000);
      await scheduler.wait(20);
    }
    expect(await others()).toBe(true);
    await settled(consuming);
    expect(await statuses(ids)).toEqual(all("completed"));
    expect(counts.total).toBeLessThanOrEqual(32);
  });
});

describe("a claim that is not answered", () => {
  test.each(draws.flatMap((draw) => [100, 300, 700, 1_500, 30_000].map((forMs) => ({ draw, forMs }))))(
    "for $forMs ms (draws of $draw): all that are worked on are completed, the others untouched, within 32 calls",
    async ({ draw, forMs }) => {
      Math.random = () => draw;
      const ids = await ten(`claim-${draw}-${forMs}`);
      const worked = new Set<string>();
      const { binding, counts } = limited({ verbs: ["claim"], forMs });
      const settlements = await settled(
        consumed(
          ids.map((id) => message(id)),
          async ({ jobId }) => void worked.add(jobId),
          binding,
        ),
      );
      for (const id of worked) expect(await steps(id)).toEqual(["claim 1", "complete 1"]);
      for (const id of ids) expect(settlements[id] === "ack").toBe(worked.has(id));
      // The calls of the last pauses come after 2.1 s, or half of that.
      expect(worked.size).toBeGreaterThanOrEqual(forMs <= 700 ? 5 : 0);
      expect(counts.total).toBeLessThanOrEqual(32);
      expect(Date.now()).toBeLessThan(T0 + 5_000);
    },
  );

  test("of messages that came before, one after the other: what no call is left for is given back", async () => {
    const ids = await ten("again");
    const { binding, counts } = limited({ verbs: ["claim", "complete"], forMs: 3_000 });
    const worked = new Set<string>();
    const work: Work = async ({ jobId }) => void worked.add(jobId);
    const settlements = await settled(
      consumed(
        ids.map((id) => message(id, 2)),
        work,
        binding,
      ),
    );
    for (const id of ids) expect(settlements[id] === "ack").toBe(worked.has(id));
    expect(counts.total).toBeLessThanOrEqual(32);
  });
});

test("a ledger that fails every other call: what is worked on is settled, within 32 calls", async () => {
  const ids = await ten("flaky");
  let calls = 0;
  const flaky = async (): Promise<void> => {
    calls += 1;
    if (calls % 2 === 0) throw LOST;
  };
  const { binding, counts } = limited({ verbs: [], forMs: 0 });
  const complete: LedgerBinding["complete"] = async (args) => {
    const answer = await binding.complete(args);
    await flaky();
    return answer;
  };
  await settled(
    consumed(
      ids.map((id) => message(id)),
      fine,
      { ...binding, complete },
    ),
  );
  expect(await statuses(ids)).toEqual(all("completed"));
  expect(counts.total).toBeLessThanOrEqual(32);
});

test("one job by itself has the calls that the others would have had", async () => {
  const jobId = await arrived("calls-alone");
  const { binding, counts } = limited({ verbs: ["complete"], forMs: 230_000 });
  expect(await settled(runOnce(binding, { jobId }, fine))).toMatchObject({ outcome: "done", attempt: 1 });
  expect(counts.total).toBeLessThanOrEqual(32);
});
