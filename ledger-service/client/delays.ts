// When what failed is tried again. Every delay of the client has jitter, and has it from here: jobs that failed
// together must not come back together and drown what has just recovered.

import { MAX_RETRY_AFTER_MS } from "../contract/index.ts";

const FIRST_RETRY_MS = 30_000;
/**
 * Milliseconds. Once a dependency is back, no job waits longer than this; and an attempt an hour costs next to
 * nothing.
 */
const LONGEST_RETRY_MS = 60 * 60_000;

/** Seconds; the longest delay that a queue takes. */
const LONGEST_DELAY_S = 12 * 60 * 60;
/** Milliseconds. A message comes later than its claim is free, by an eighth of the delay and at most by this. */
const LONGEST_MARGIN_MS = 4_000;
/**
 * Milliseconds, at most, until a message comes again that was given back untouched: another invocation can take it
 * now.
 */
const GIVE_BACK_MS = 10_000;

/**
 * A time between half of `ms` and all of it. The upper half is drawn, to spread widely those who failed together. The
 * lower half is sure, so that the attempts outlast an outage whatever is drawn (`DEFAULT_MAX_ATTEMPTS`).
 */
export function jittered(ms: number, random: () => number = Math.random): number {
  return (ms / 2) * (1 + random());
}

/** Milliseconds to wait at most after failed attempt n, from 1: 30 s, doubled each time, at most an hour. */
export function retryDelayMs(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LONGEST_RETRY_MS);
}

/** Whole milliseconds that the ledger takes: a mistake in a caller's own reckoning must not cost it the release. */
export function retryAfter(attempt: number, retryAfterMs: (attempt: number) => number): number {
  let ms: unknown;
  try {
    ms = retryAfterMs(attempt);
  } catch {
    ms = Number.NaN;
  }
  const most =
    typeof ms !== "number" || Number.isNaN(ms) ? retryDelayMs(attempt) : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
  return Math.ceil(jittered(most));
}

/**
 * Whole seconds until a message should come for a claim that is free in `ms` milliseconds. Later than that and never
 * sooner: a delivery that finds the claim not yet free is wasted, and the ledger's clock need not be this one.
 */
export function messageDelayS(ms: number): number {
  return delayS(ms + jittered(Math.min(Math.max(ms, 0) / 8, LONGEST_MARGIN_MS)));
}

/** Whole seconds until a message should come whose claim told no time, after that many deliveries. */
export function deliveryDelayS(deliveries: number): number {
  return delayS(jittered(retryDelayMs(deliveries)));
}

/** Whole seconds until a message should come again that was given back untouched. */
export function givenBackDelayS(): number {
  return delayS(jittered(GIVE_BACK_MS));
}

function delayS(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms / 1_000), 1), LONGEST_DELAY_S);
}
