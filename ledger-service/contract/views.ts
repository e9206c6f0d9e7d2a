// The record of a job as `inspect` shows it. Times are epoch milliseconds.

import type { Attempt } from "./outcomes.ts";
import type { EventSource, Json } from "./values.ts";

export type ClaimStatus = "claimed" | "released" | "reopened" | "completed" | "failed";

/** One step in a claim's life; `error`, `result` and `retryAt` as they were set by it, or ended by a `reopen`. */
export type HistoryEntry = {
  at: number;
  actor: string;
  verb: "claim" | "complete" | "release" | "exhausted" | "reopen";
  status: ClaimStatus;
  attempt: number;
  error?: string | null;
  result?: Json;
};

export type ClaimView = Attempt & {
  consumer: string;
  status: ClaimStatus;
  eventType: string;
  maxAttempts: number | null;
  claimedAt: number;
  changedAt: number;
  leaseExpiresAt: number | null;
  retryAt: number | null;
  settledAt: number | null;
  error: string | null;
  result: Json;
  dispatchedTo: string[];
  history: HistoryEntry[];
};

export type EventView = {
  type: string;
  source: EventSource;
  receivedAt: number;
  bytes: number;
  body?: string;
};

/** What `inspect` shows. It holds no token: whoever may look may not therefore settle. */
export type JobView = {
  namespace: string;
  jobId: string;
  events: EventView[];
  /** More than one event type came for this job. */
  conflict: boolean;
  claims: ClaimView[];
  /** Consumers whose work is not settled, or who were sent a message and have not claimed. */
  unfinished: string[];
  /** What `expectEvent` announced, until it came or was called off. */
  expectation: {
    by: string;
    setAt: number;
    dueAt: number;
    cancelledBy: string | null;
    arrived: boolean;
  } | null;
  /**
   * `null` when nothing is unfinished or expected. `rings`: alerts so far; `nextAt`: when the next is due; `overdue`: more
   * rings than it takes the backup to try everything, so a person should look.
   */
  watch: { reason: "not_arrived" | "not_finished"; rings: number; nextAt: number; overdue: boolean } | null;
};
