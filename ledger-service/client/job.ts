// What work is given, and what it may return.

import type { Json, LedgerEvent } from "../contract/index.ts";

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
