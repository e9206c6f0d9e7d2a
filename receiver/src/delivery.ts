// The one path of an event through the receiver, whether it came by HTTP, by `Intake.ingest` or again by
// `Intake.redispatch`: claim, one message to every consumer's queue, complete. Outcomes are values; the callers turn them
// into answers.

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

/** Milliseconds. Longer than Sume's 10 s timeout, shorter than its 30 s delay: its next retry can take over from a dead one. */
const LEASE_MS = 15_000;
/** Milliseconds to wait for another delivery of the same event that is being worked on, at most. */
const WAIT_MS = 5_000;
/** Milliseconds of the delivery's time that a wait leaves, for whoever gets the claim has still to dispatch and complete. */
const RESERVE_MS = 2_000;
/** Milliseconds for giving the claim back after a failure: with the delivery's 8 s still within Sume's 10. */
const RELEASE_WITHIN_MS = 1_000;

/** Milliseconds from our answer: the platform ends background work after 30 s, and a lease has ended by then as well. */
const GIVE_BACK_WITHIN_MS = 20_000;

export type DeliveryOutcome =
  /** Every queue took its message, and the ledger knows it. */
  | { outcome: "accepted"; dispatchedTo: string[]; attempt: number }
  /** An earlier delivery was accepted, or failed for good. */
  | {
      outcome: "duplicate";
      claim: Exclude<ClaimOutcome, { outcome: "claimed" }> & { outcome: "completed" | "failed" };
    }
  /** Another delivery of the event holds the claim. */
  | { outcome: "in_progress"; retryAt: number; attempt: number }
  /** These consumers' queues refused their message, or did not answer; the claim was released. */
  | { outcome: "queue_refused"; consumers: string[]; attempt: number }
  /** The ledger did not answer, or not in time, or no longer knew our claim when all was sent. */
  | { outcome: "ledger_unavailable"; during: "claim" | "complete"; error: string; attempt?: number }
  /** There is no event: none was brought and the ledger holds none. */
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
  // No limit of attempts: the receiver never gives a job up by itself.
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

/** A claim that is granted after our time is up would be held by nobody who works on it, until its lease ends. */
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
    // It was not granted, or the end of its lease does the same.
  }
}

/** One message to each named consumer's queue. Answers the names of those that did not take it. */
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
    // Free at once: a copy that waits in the ledger takes over. If this call fails, the end of the lease does the same.
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
