// The record of a job as `inspect` shows it, and the states that a claim can be in. Times are epoch milliseconds.

import type { Attempt } from "./outcomes.ts";
import type { EventSource, Json } from "./values.ts";

/** `completed`, `failed` and `abandoned` have ended; the others are waited for. */
export const CLAIM_STATUSES = ["claimed", "released", "reopened", "completed", "failed", "abandoned"] as const;
export type ClaimStatus = (typeof CLAIM_STATUSES)[number];

/** `exhausted`: the lease of the last attempt ran out, and the ledger gave the claim up. */
export const HISTORY_VERBS = ["claim", "complete", "release", "exhausted", "reopen", "abandon"] as const;

/** One step in a claim's life; `error`, `result` and `retryAt` as they were set by it, or ended by a `reopen`. */
export type HistoryEntry = {
  at: number;
  actor: string;
  verb: (typeof HISTORY_VERBS)[number];
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
  /** Rounds of attempts, from 1: one more with each `reopen`. */
  round: number;
  /** When the present attempt began. */
  claimedAt: number;
  changedAt: number;
  leaseExpiresAt: number | null;
  retryAt: number | null;
  endedAt: number | null;
  error: string | null;
  result: Json;
  dispatchedTo: string[];
  history: HistoryEntry[];
};

export type EventView = {
  type: string;
  /** Of the body that is kept: the newest that came while somebody still had to work with it. */
  source: EventSource;
  /** When the type first came. */
  receivedAt: number;
  bytes: number;
  /** Earlier bodies: when each gave way to the next, and its size; the last 20. */
  replaced: { at: number; bytes: number }[];
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
  /** Consumers whose claim has not ended, or who were sent a message and have not claimed. */
  unfinished: string[];
  /** What was announced by `expectEvent`, one for each consumer, also what arrived or was called off. */
  expectations: { by: string; setAt: number; dueAt: number; cancelledBy: string | null }[];
  /**
   * `null` when nothing is unfinished or expected. `rings`: alerts so far for whoever has had most; `nextAt`: when the
   * next is due; `overdue`: more than it takes the backup to try everything, so a person should look.
   */
  watch: { reason: "not_arrived" | "not_finished"; rings: number; nextAt: number; overdue: boolean } | null;
};
