// The one path of an event through the receiver: claim, one message to every consumer's queue, complete. HTTP,
// `Intake.ingest` and `Intake.redispatch` all take it. Outcomes are values; the callers turn them into answers.

import {
  type ClaimOutcome,
  type Conflict,
  errorName,
  type LedgerBinding,
  type LedgerEvent,
  withTimeout,
} from "job-ledger/contract";
import { Deadline } from "./deadline.ts";
import type { DispatchQueues } from "./settings.ts";

/** Milliseconds: longer than Sume's 10 s timeout, shorter than its 30 s delay, so that the next retry can take over. */
const LEASE_MS = 15_000;
/** Milliseconds, at most, that a delivery waits while another one of its event holds the claim. */
const WAIT_MS = 5_000;
/** Milliseconds of its time that a delivery does not wait: with the claim it must still dispatch and complete. */
const RESERVE_MS = 2_000;
/** Milliseconds to give the claim back after a failure; they follow the delivery's 8 s and end before Sume's 10. */
const RELEASE_WITHIN_MS = 1_000;

/** Milliseconds after our answer to give back a late claim: longer than its lease, shorter than the platform's 30 s. */
const GIVE_BACK_WITHIN_MS = 20_000;

export type DeliveryOutcome =
  /** Every queue took its message, and the ledger knows it. */
  | { outcome: "accepted"; dispatchedTo: string[]; attempt: number }
  /** The receiver's claim is completed, or failed for good. */
  | {
      outcome: "duplicate";
      claim: Exclude<ClaimOutcome, { outcome: "claimed" }> & { outcome: "completed" | "failed" };
    }
  /** Another delivery of the event holds the claim. */
  | { outcome: "in_progress"; retryAt: number; attempt: number }
  /** These consumers' queues refused their message, or did not answer; the claim was released. */
  | { outcome: "queue_refused"; consumers: string[]; attempt: number }
  /** The ledger did not answer in time, or our claim was stale when all was sent. */
  | { outcome: "ledger_unavailable"; during: "claim" | "complete"; error: string; attempt?: number }
  /** The call brought no event, and the ledger holds none. */
  | { outcome: "unknown" };

export async function deliver(
  ledger: LedgerBinding,
  queues: DispatchQueues,
  { jobId, event }: { jobId: string; event?: LedgerEvent },
  deadline: Deadline,
  background: Pick<ExecutionContext, "waitUntil">,
): Promise<DeliveryOutcome & { conflict?: Conflict }> {
  const token = crypto.randomUUID();
  const waitMs = Math.max(0, Math.min(WAIT_MS, deadline.leftMs() - RESERVE_MS));
  // No limit of attempts: the receiver never gives a job up.
  const args = { jobId, ...(event && { event }), token, leaseMs: LEASE_MS, waitMs, maxAttempts: null };
  const claiming = Promise.try(() => ledger.claim(args));
  let claimed: ClaimOutcome;
  try {
    claimed = await deadline.within(claiming);
  } catch (error) {
    background.waitUntil(giveBackLate(ledger, claiming, { jobId, token }));
    return { outcome: "ledger_unavailable", during: "claim", error: errorName(error) };
  }
  const conflict = claimed.conflict === undefined ? {} : { conflict: claimed.conflict };
  switch (claimed.outcome) {
    case "completed":
    case "failed":
      return { outcome: "duplicate", claim: claimed, ...conflict };
    case "in_progress":
    case "deferred":
      return { outcome: "in_progress", retryAt: claimed.retryAt, attempt: claimed.attempt, ...conflict };
    case "unknown":
      return { outcome: "unknown" };
    case "claimed":
      return {
        ...(await dispatchClaimed(ledger, queues, { jobId, token, attempt: claimed.attempt }, deadline)),
        ...conflict,
      };
    default:
      return claimed satisfies never;
  }
}

/** Releases a claim that is granted after our time is up: nobody would work on it until its lease ends. */
async function giveBackLate(
  ledger: LedgerBinding,
  claiming: Promise<ClaimOutcome>,
  { jobId, token }: { jobId: string; token: string },
): Promise<void> {
  try {
    const claimed = await withTimeout(claiming, GIVE_BACK_WITHIN_MS);
    if (claimed.outcome !== "claimed") return;
    await ledger.release({ jobId, token, error: "the claim was granted after the time for an answer" });
  } catch {
    // The claim was not granted, or the end of its lease frees it.
  }
}

/** Sends one message to each named consumer's queue. Answers the consumers whose queue did not take it. */
export async function dispatch(
  queues: DispatchQueues,
  jobId: string,
  consumers: readonly string[],
  deadline: Deadline,
): Promise<string[]> {
  const sent = await Promise.all(
    consumers.map(async (consumer) => {
      try {
        const queue = queues.get(consumer);
        if (queue === undefined) return [consumer];
        await deadline.within(Promise.resolve(queue.send({ jobId })));
        return [];
      } catch {
        return [consumer];
      }
    }),
  );
  return sent.flat();
}

async function dispatchClaimed(
  ledger: LedgerBinding,
  queues: DispatchQueues,
  { jobId, token, attempt }: { jobId: string; token: string; attempt: number },
  deadline: Deadline,
): Promise<DeliveryOutcome> {
  const consumers = [...queues.keys()];
  const refused = await dispatch(queues, jobId, consumers, deadline);
  if (refused.length > 0) {
    const error = `these consumers' queues did not take their message: ${refused.join(", ")}`;
    // A copy that waits in the ledger takes over at once. If this call fails, the end of the lease frees the claim.
    const soon = new Deadline(RELEASE_WITHIN_MS); // a queue that hung has used up the delivery's own time
    await soon.within(ledger.release({ jobId, token, error })).catch(() => undefined);
    return { outcome: "queue_refused", consumers: refused, attempt };
  }
  try {
    const completed = await deadline.within(ledger.complete({ jobId, token, dispatchedTo: consumers }));
    if (completed.outcome === "ok") return { outcome: "accepted", dispatchedTo: consumers, attempt };
    return { outcome: "ledger_unavailable", during: "complete", error: `stale ${completed.reason}`, attempt };
  } catch (error) {
    return { outcome: "ledger_unavailable", during: "complete", error: errorName(error), attempt };
  }
}
