// Part 4, its second half: whole deliveries over HTTP, through the receiver, the ledger and a queue. Beside them stand
// a receiver that verifies and answers at once, and one with the one-table ledger and a queue. The consumer's work is
// waited for but not timed, because the sender does not wait for it.

import { setTimeout as pause } from "node:timers/promises";
import { DEVELOPMENT_SECRET } from "../../../local/sume/simulator.ts";
import { signedHeaders } from "../../../local/sume/webhooks/sign.ts";
import { type Context, measureRounds, newPrefix } from "../part.ts";
import { compareRates, fact, type PartReport } from "../report.ts";
import { type Contender, rateOf } from "../measure/rounds.ts";
import { TARGETS } from "../targets.ts";
import type { Driver } from "../driver.ts";

const CONCURRENCY = 20;
const LOOK_MS = 50;
/** Milliseconds from the last answer until the consumer must have finished. */
const CONSUMED_WITHIN_MS = 60_000;

export async function deliveries(context: Context): Promise<PartReport> {
  const wrong = new Map<string, number>();
  const before = await context.driver.consumed();
  let accepted = 0;
  const settle = () => until(context, async () => (await context.driver.consumed()) >= before + accepted);
  const contender = (name: string, path: string): Contender => ({
    name,
    step: CONCURRENCY,
    run: (count) => deliverMany(context, path, count, wrong),
  });
  const dispatching = (name: string, path: string): Contender => ({
    ...contender(name, path),
    run: async (count) => {
      await deliverMany(context, path, count, wrong);
      accepted += count;
    },
    settle,
  });
  const contenders = [
    dispatching("receiver", "/receiver"),
    contender("verify-only", "/verify-only"),
    dispatching("one-table", "/one-table-timed"),
  ];
  const size = { rounds: 12, windowMs: 700, withinMs: 35_000, firstCount: CONCURRENCY };
  const rates = await measureRounds(context, "deliveries", contenders, size);
  const compare = (other: string, against: string, target = {}) =>
    compareRates({ what: "whole delivery", against, ...target }, rateOf(rates, "receiver"), rateOf(rates, other));
  for (const [answer, times] of wrong) context.tell(`answered ${times} times: ${answer}`);
  const answeredWrongly = [...wrong.values()].reduce((sum, times) => sum + times, 0);
  return {
    title: "Whole delivery",
    comparisons: [
      compare("verify-only", "verify-only receiver", { target: TARGETS.deliveryByVerifyOnly }),
      compare("one-table", "receiver with the one-table ledger and a queue"),
    ],
    facts: [fact("deliveries answered wrongly", answeredWrongly, 0)],
    notes: [
      "The consumer does its part of the jobs meanwhile, on the same processors, and so does the sender, this program.",
    ],
  };
}

/** Delivers that many new jobs; an answer other than 202 is put into `wrong`. */
async function deliverMany(
  { driver, signal }: Context,
  path: string,
  count: number,
  wrong: Map<string, number>,
): Promise<void> {
  const prefix = newPrefix();
  let next = 0;
  const deliverInTurn = async () => {
    while (next < count) {
      signal.throwIfAborted();
      const { status, text } = await deliver(driver, path, `${prefix}-${next++}`);
      if (status !== 202) wrong.set(`${status} ${text}`, (wrong.get(`${status} ${text}`) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, deliverInTurn));
}

/** One signed delivery of an event of about 1 KB. */
export function deliver(driver: Driver, path: string, jobId: string): Promise<{ status: number; text: string }> {
  const body = JSON.stringify({ event: "job.completed", job_id: jobId, padding: "x".repeat(940) });
  const headers = signedHeaders([DEVELOPMENT_SECRET], Math.floor(Date.now() / 1_000), body);
  return driver.deliver(path, headers, body);
}

async function until({ signal }: Context, consumed: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + CONSUMED_WITHIN_MS;
  while (!(await consumed())) {
    if (Date.now() > end) throw new Error("the consumer has not finished in time");
    await pause(LOOK_MS, undefined, { signal });
  }
}
