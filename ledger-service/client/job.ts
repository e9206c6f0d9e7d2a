// What work is given, what it may return, and what comes of it.

import type { Attempt, ClaimOutcome, Json, LedgerEvent } from "../contract/index.ts";

export type Job = {
  jobId: string;
  /** The event as the ledger holds it; `body` is the text exactly as it was received. */
  event: LedgerEvent;
  /** The event's body as a value. Numbers beyond 2^53 lose digits here: take them from `event.body`. */
  payload(): unknown;
  /** Counts from 1. */
  attempt: number;
  /** Higher than that of every earlier attempt: make writes conditional on it where a late one could do harm. */
  fence: number;
  /** Aborted (reason: a `ClaimLostError`) when the claim is lost. Pass it to `fetch` and the like. */
  signal: AbortSignal;
};

/**
 * The work of one job. What it returns is kept as the claim's result: plain JSON, at most 16 KiB and 64 levels deep.
 * Anything else, such as a `Date`, a `Map` or an object of R2, makes the job `failed` at once: doing it again would
 * not help.
 */
export type Work = (job: Job) => Promise<Json | void>;

/** What came of a job for which work was to be done. */
export type RunOutcome =
  /** This call did the work and the ledger knows it. */
  | ({ outcome: "done"; result: Json } & Attempt)
  /** The work threw; the claim is free again at `retryAt`. */
  | ({ outcome: "released"; retryAt: number; error: string } & Attempt)
  /** The work threw for good, by a `NonRetryableError` or at its last attempt, or its result cannot be kept. */
  | ({ outcome: "gave_up"; error: string } & Attempt)
  /** Another attempt took the claim while the work ran; the other's outcome counts. */
  | ({ outcome: "lost" } & Attempt)
  /** The work ended but the ledger could not be told; the next claim finds out, at the latest when the lease ends. */
  | ({ outcome: "unsettled"; retryAt: number } & Attempt)
  /** There was no claim to be had, and the work was not run. */
  | Exclude<ClaimOutcome, { outcome: "claimed" }>;
