// What a run finds. Comparisons are ratios, maybe held to a target. Facts were counted and must be as they should. The
// bill is dollars. These are the types of the `--json` document as well.

import type { Bill } from "./bill.ts";
import { ratios, type Spread } from "./measure/statistics.ts";
import { isMet, type Target } from "./targets.ts";

export type Comparison = {
  what: string;
  against: string;
  /** Of rates, more is better; of times, less. */
  of: "rates" | "times";
  ratio: Spread;
  target: (Target & { met: boolean }) | null;
};

/** Counted, not timed; one that is not `ok` fails the run. Where nothing is asked of it, it is there to be compared. */
export type Fact = { what: string; value: number; expected: number | null; ok: boolean };

export type PartReport = {
  title: string;
  comparisons: Comparison[];
  facts: Fact[];
  bills?: Bill[];
  /** What a reader should know of how it was taken. */
  notes: string[];
};

export function compareRates(
  { what, against, target }: { what: string; against: string; target?: Target },
  ours: readonly number[],
  other: readonly number[],
): Comparison {
  return comparison({ what, against, of: "rates", target }, ratios(ours, other));
}

/** `ours` and `other` are rates here too; the time of one call is one by its rate. */
export function compareTimes(
  { what, against, target }: { what: string; against: string; target?: Target },
  ours: readonly number[],
  other: readonly number[],
): Comparison {
  return comparison({ what, against, of: "times", target }, ratios(other, ours));
}

function comparison(
  { target, ...rest }: Pick<Comparison, "what" | "against" | "of"> & { target: Target | undefined },
  ratio: Spread,
): Comparison {
  return { ...rest, ratio, target: target === undefined ? null : { ...target, met: isMet(target, ratio.median) } };
}

/** Something counted that has to be exactly that. */
export function fact(what: string, value: number, expected: number | null = null): Fact {
  return { what, value, expected, ok: expected === null || value === expected };
}

/** Something counted that may be that or less. */
export function factAtMost(what: string, value: number, most: number): Fact {
  return { what, value, expected: most, ok: value <= most };
}
