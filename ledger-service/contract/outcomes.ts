// What callers get back: discriminated unions on `outcome`. Times are epoch milliseconds.

import type { Json, LedgerEvent } from "./values.ts";

/** `attempt` counts from 1, and is 0 of a claim that was abandoned before it was made; `fence` only ever grows, per consumer and job: use it for conditional writes downstream. */
export type Attempt = { attempt: number; fence: number };

/** Set when the claim brought another event type than the job's first. */
export type Conflict = { recorded: string; received: string };

export type ClaimOutcome = { conflict?: Conflict } & (
  | { outcome: "unknown" }
  | (Attempt &
      (
        | {
            outcome: "claimed";
            token: string;
            leaseExpiresAt: number;
            event: LedgerEvent;
            /** Attempts in a row before this one whose lease ran out without a settle; absent: none. */
            vanished?: number;
            /** Milliseconds that the call waited for another holder: the lease began so much later; absent: 0. */
            waitedMs?: number;
          }
        | { outcome: "in_progress"; retryAt: number }
        | { outcome: "deferred"; retryAt: number }
        | { outcome: "completed"; completedAt: number; result: Json; dispatchedTo: string[] }
        | { outcome: "failed"; failedAt: number; error: string | null }
      ))
);

/**
 * The caller's token does not hold the claim, nothing was changed. `taken`: another attempt has it; `settled`: it was
 * settled by another verb; `no_claim`: the caller has none, it was reopened, or abandoned while nobody held it.
 */
export type Stale = { outcome: "stale"; reason: "taken" | "settled" | "no_claim" };
export type CompleteOutcome = { outcome: "ok"; status: "completed" } | Stale;
export type ReleaseOutcome =
  | { outcome: "ok"; status: "released"; retryAt: number }
  | { outcome: "ok"; status: "failed" }
  | Stale;
/** `unavailable`: that job's object could not be reached; the others were still renewed. */
export type RenewOutcome = { outcome: "ok"; leaseExpiresAt: number } | Stale | { outcome: "unavailable" };
export type RenewAnswer = { jobId: string } & RenewOutcome;
export type ReopenOutcome =
  | { outcome: "reopened" }
  /** The claim has not ended: it is held, or released and waiting for its retry. */
  | { outcome: "open"; status: "claimed" | "released" }
  | { outcome: "unknown"; missing: "claim" | "event" };

export type AbandonOutcome =
  | { outcome: "abandoned" }
  /** Nobody waits for this claim any more. */
  | { outcome: "ended"; status: "completed" | "failed" }
  /** The job does not wait for such a consumer: it neither claimed nor was sent a message. */
  | { outcome: "unknown" };

export type ExpectEventOutcome =
  /** The alert comes at `dueAt`, unless the event does. */
  | { outcome: "expected"; dueAt: number }
  /** The event is there already. */
  | { outcome: "arrived" }
  /** The object was not reached by a job's name, so it keeps nothing. */
  | { outcome: "unknown" };
export type CancelExpectationOutcome =
  | { outcome: "cancelled" }
  | { outcome: "arrived" }
  /** The caller expected nothing. */
  | { outcome: "none" };
