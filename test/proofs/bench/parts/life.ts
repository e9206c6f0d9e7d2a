// Part 3: a job's whole life with more and more consumers, of which each must cost the same. Then a claim with a larger
// and larger event, beside moving as many bytes over the same two hops.

import { calls, type Context, expectOnly, measureRounds, newPrefix } from "../part.ts";
import { compareTimes, type Fact, factAtMost, type PartReport } from "../report.ts";
import { type Contender, rateOf } from "../measure/rounds.ts";
import { TARGETS } from "../targets.ts";

const CONSUMERS = [1, 2, 5, 20];
/** Jobs at a time; of a whole life the consumers follow each other. */
const CONCURRENCY = 4;
const BYTES = { "1 KB": 1_000, "64 KB": 64_000, "1 MB": 1_000_000 };

/** Rows that a job may cost: first claim 3, the receiver's settle 1, each consumer 2, the last alarm 1. */
export const rowBudget = (consumers: number): number => 5 + 2 * consumers;

export async function wholeLife(context: Context): Promise<PartReport> {
  const rates = await measureRounds(
    context,
    "whole lives",
    CONSUMERS.map((consumers) => lives(context, consumers)),
    { rounds: 12, windowMs: 300, withinMs: 50_000 },
  );
  const one = rateOf(rates, "1 consumers");
  const comparisons = CONSUMERS.slice(1).map((consumers) =>
    compareTimes(
      {
        what: `a consumer's part, of ${consumers}`,
        against: "a consumer's part, of 1",
        ...(consumers === 20 && { target: TARGETS.twentyConsumers }),
      },
      rateOf(rates, `${consumers} consumers`),
      one,
    ),
  );
  return {
    title: "Whole life by number of consumers",
    comparisons,
    facts: await countRows(context),
    notes: [
      "A consumer's part is its claim and its complete; jobs are received and dispatched before the time is taken.",
    ],
  };
}

/** Its count is of consumers' parts, so that its rate is too. */
function lives({ driver }: Context, consumers: number): Contender {
  let prefix = "";
  const run = async (variant: "prepare" | "consume", count: number, outcome: string) => {
    const jobs = count / consumers;
    const ran = await driver.run({ variant, count: jobs, concurrency: CONCURRENCY, prefix, consumers });
    expectOnly(variant, ran.outcomes, outcome, jobs);
  };
  return {
    name: `${consumers} consumers`,
    step: consumers * CONCURRENCY,
    prepare: async (count) => {
      prefix = newPrefix();
      await run("prepare", count, "ok");
    },
    run: (count) => run("consume", count, "done"),
  };
}

async function countRows({ driver }: Context): Promise<Fact[]> {
  const facts: Fact[] = [];
  for (const consumers of CONSUMERS) {
    const jobId = newPrefix();
    await driver.live(jobId, consumers);
    const { object } = await driver.counts("ledger", jobId);
    if (object === null) throw new Error("the counted ledger counted nothing");
    const rows = object.rowsWritten + object.alarmsSet;
    facts.push(factAtMost(`rows written for a job with ${consumers} consumers`, rows, rowBudget(consumers)));
  }
  return facts;
}

export async function payloads(context: Context): Promise<PartReport> {
  const comparisons = [];
  for (const [name, bytes] of Object.entries(BYTES)) {
    const run = { bytes, concurrency: CONCURRENCY };
    const rates = await measureRounds(
      context,
      `events of ${name}`,
      [
        calls(context, "ledger", { variant: "claim with event", ...run }, "moved"),
        calls(context, "echo", { variant: "echo event", ...run }, "moved"),
      ],
      { rounds: 16, windowMs: 300, withinMs: 12_000 },
    );
    const target = bytes === BYTES["1 MB"] ? { target: TARGETS.largeEvent } : {};
    comparisons.push(
      compareTimes(
        {
          what: `fresh claim with an event of ${name}`,
          against: "moving it over the same two hops and back",
          ...target,
        },
        rateOf(rates, "ledger"),
        rateOf(rates, "echo"),
      ),
    );
  }
  return { title: "Claim by size of the event", comparisons, facts: [], notes: [] };
}
