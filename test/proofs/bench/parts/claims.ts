// Part 1, the fresh claim, and part 2, the duplicate. Every delivery needs these two. They stand beside the platform's
// floor and beside what most people would write.

import { STORES } from "../workers/driver/src/calls.ts";
import { calls, type Context, expectOnly, measureRounds, newPrefix } from "../part.ts";
import { compareRates, fact, type PartReport } from "../report.ts";
import { rateOf } from "../measure/rounds.ts";
import { TARGETS } from "../targets.ts";

const CONCURRENCY = 16;
const COPIES = 50;
/** Jobs that the duplicates are spread over. */
const JOBS = 16;

export async function freshClaims(context: Context): Promise<PartReport> {
  const concurrency = CONCURRENCY;
  const rates = await measureRounds(
    context,
    "fresh claims",
    [
      ...STORES.map((store) => calls(context, store, { variant: `fresh ${store}`, concurrency }, "first")),
      calls(context, "no-op", { variant: "fresh no-op", concurrency }, "done"),
      calls(context, "write", { variant: "fresh write", concurrency }, "done"),
      calls(context, "no-op, direct", { variant: "fresh no-op, direct", concurrency }, "done"),
    ],
    { rounds: 24, windowMs: 250, withinMs: 45_000 },
  );
  const ours = rateOf(rates, "ledger");
  const compare = (other: string, against: string, target = {}) =>
    compareRates({ what: "fresh claim", against, ...target }, ours, rateOf(rates, other));

  const facts = [];
  for (const store of STORES) {
    const { firsts } = await context.driver.copies(store, COPIES, newPrefix());
    facts.push(fact(`told «first» of ${COPIES} simultaneous copies, ${store}`, firsts, store === "ledger" ? 1 : null));
  }
  return {
    title: "Fresh claim",
    comparisons: [
      compare("no-op", "no-op, same two hops, fresh object", { target: TARGETS.freshByFloor }),
      compare("no-op, direct", "no-op, called directly, fresh object"),
      compare("write", "writing as many rows, same two hops, deciding nothing"),
      compare("one-table", "one-table ledger, called directly", { target: TARGETS.freshByOneTable }),
      compare("d1", "INSERT … ON CONFLICT DO NOTHING in D1"),
      compare("kv", "get, then put in KV"),
    ],
    facts,
    notes: [
      "The floor is a no-op without arguments on a fresh object of a SQLite-backed class, through an entrypoint as the ledger is.",
      "In all parts log lines are made but not written: in development they pass through three programs, which can hold the runtime up.",
      "A claim brings an event of 1 KB, keeps it, a lease and an alarm; the others keep the job's id.",
    ],
  };
}

export async function duplicateClaims(context: Context): Promise<PartReport> {
  const { driver } = context;
  const [prefix, concurrency] = [newPrefix(), CONCURRENCY];
  const made = await driver.run({ variant: "prepare", count: JOBS, concurrency, prefix, consumers: 1 });
  expectOnly("prepare", made.outcomes, "ok", JOBS);
  const warm = { concurrency, prefix, jobs: JOBS };
  const rates = await measureRounds(
    context,
    "duplicates",
    [
      calls(context, "ledger", { variant: "duplicate", ...warm }, "completed"),
      calls(context, "no-op", { variant: "warm no-op", ...warm }, "done"),
      calls(context, "no-op with event", { variant: "warm no-op with event", ...warm }, "completed"),
    ],
    { rounds: 24, windowMs: 200, withinMs: 20_000, firstCount: 100 },
  );
  const compare = (other: string, against: string, target = {}) =>
    compareRates({ what: "duplicate", against, ...target }, rateOf(rates, "ledger"), rateOf(rates, other));
  return {
    title: "Duplicate claim",
    comparisons: [
      compare("no-op", "no-op, same two hops, warm object", { target: TARGETS.duplicateByFloor }),
      compare("no-op with event", "the same with the claim's arguments and answer"),
    ],
    facts: [],
    notes: [
      "The duplicate brings its event of 1 KB, as a delivery does; the first no-op has neither arguments nor an answer.",
    ],
  };
}
