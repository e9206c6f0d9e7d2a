// What the bench holds the product to, in one place. A target is about a median of ratios. Within a run's noise it is a
// matter of taste, so one that is missed is told and no more. Facts, which are counted, are the parts' own, and fail
// the run.

export type Target = { atLeast: number } | { atMost: number };

/** Rates of calls, ours by the other's; and times, ours by the other's, where more is worse. */
export const TARGETS = {
  freshByFloor: { atLeast: 0.9 },
  freshByOneTable: { atLeast: 1 },
  duplicateByFloor: { atLeast: 0.9 },
  /** Time of a consumer's part of 20, by that of one. */
  twentyConsumers: { atMost: 1.2 },
  /** Time of a claim with an event of 1 MB, by that of moving it. */
  largeEvent: { atMost: 2 },
  /** At 64 KB and at 1 MB. */
  verificationByBare: { atLeast: 0.9 },
  /** Time with 30 entries that match nothing, by that with one. */
  uselessEntries: { atMost: 1.5 },
  deliveryByVerifyOnly: { atLeast: 0.5 },
} satisfies Record<string, Target>;

export function isMet(target: Target, ratio: number): boolean {
  return "atLeast" in target ? ratio >= target.atLeast : ratio <= target.atMost;
}

/** For example `≥ 0.9`. */
export function describeTarget(target: Target): string {
  return "atLeast" in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`;
}
