// A dependency that is down for hours: every job is done once it is back, without a person, and few deliveries are in
// vain. The queue here delivers each message when its delay has passed, ten of those that are due at once.

import { beforeEach, expect, test } from "vitest";
import type { Work } from "../../../ledger-service/client/index.ts";
import { arrived, claimOf, clockTo, consumed, message, T0, useClock } from "./support.ts";

useClock();

/** Draws that are the same in every run, and look like chance. */
beforeEach(() => {
  let state = 1;
  Math.random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
});

const HOUR_MS = 60 * 60_000;
/** Runs a queue until it is empty; answers the deliveries, and the times at which each job's second attempt began. */
async function delivered(jobIds: string[], work: Work, messagesEach = 1) {
  const copies = Array.from({ length: messagesEach }, (_, copy) => copy);
  let due = jobIds.flatMap((jobId) => copies.map((copy) => ({ id: `${jobId} ${copy}`, jobId, at: 0, attempts: 1 })));
  let deliveries = 0;
  const seconds: number[] = [];
  while (due.length > 0) {
    const now = Math.min(...due.map(({ at }) => at));
    await clockTo(now);
    const batch = due.filter(({ at }) => at <= now).slice(0, 10);
    deliveries += batch.length;
    for (const { attempts } of batch) if (attempts === 2) seconds.push(now);
    const settlements = await consumed(
      batch.map(({ id, jobId, attempts }) => ({ ...message(jobId, attempts), id })),
      work,
    );
    due = due.filter((waiting) => !batch.includes(waiting));
    for (const { id, jobId, attempts } of batch) {
      const delay = settlements[id];
      if (typeof delay === "number") due.push({ id, jobId, at: now + delay * 1_000, attempts: attempts + 1 });
    }
  }
  return { deliveries, seconds };
}

test.each([
  { hours: 6, jobs: 10 },
  { hours: 24, jobs: 5 },
])(
  "down for $hours h: all jobs are completed within an hour after it, in at most 1.5 deliveries an attempt",
  async ({ hours, jobs }) => {
    const numbers = Array.from({ length: jobs }, (_, number) => number);
    const jobIds = await Promise.all(numbers.map((number) => arrived(`outage-${hours}-${number}`)));
    const work: Work = async () => {
      if (Date.now() < T0 + hours * HOUR_MS) throw new Error("down");
      return "done";
    };
    const { deliveries, seconds } = await delivered(jobIds, work);
    const claims = await Promise.all(jobIds.map(claimOf));
    expect(claims.map(({ status }) => status)).toEqual(numbers.map(() => "completed"));
    const attempts = claims.reduce((sum, { attempt }) => sum + attempt, 0);
    expect(deliveries / attempts).toBeLessThanOrEqual(1.5);
    expect(Date.now()).toBeLessThan(T0 + (hours + 1.1) * HOUR_MS);
    // What failed together in one batch did not come back together.
    expect(new Set(seconds).size).toBeGreaterThan(jobs / 2);
  },
  60_000,
);

test.each([2, 8])(
  "%i messages for one job, down for 24 h: one is left after a few deliveries, and it brings the job to its end",
  async (messagesEach) => {
    const jobId = await arrived(`outage-surplus-${messagesEach}`);
    const work: Work = async () => {
      if (Date.now() < T0 + 24 * HOUR_MS) throw new Error("down");
      return "done";
    };
    const { deliveries } = await delivered([jobId], work, messagesEach);
    const { status, attempt } = await claimOf(jobId);
    expect(status).toBe("completed");
    // Each of the others is delivered three times at most, or a few more where it finds the claim held.
    expect(deliveries - attempt).toBeLessThanOrEqual(4 * (messagesEach - 1));
    expect(Date.now()).toBeLessThan(T0 + 25.1 * HOUR_MS);
  },
  60_000,
);
