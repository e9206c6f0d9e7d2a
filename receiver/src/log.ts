// The receiver's log line for a delivery, whichever way it came.

import { type Conflict, identify, type Identity, type LedgerBinding, log, UNKNOWN } from "job-ledger/contract";
import type { Deadline } from "./deadline.ts";
import type { DeliveryOutcome } from "./delivery.ts";

export const WORKER = "receiver";

/**
 * Writes an error line where something is down, though the delivery comes again. The ledger alerts a conflict, once.
 */
export function logDelivery(
  event: string,
  { jobId, type }: { jobId: string; type?: string },
  { namespace, consumer }: Identity,
  delivery: DeliveryOutcome & { conflict?: Conflict },
): void {
  const troubled = delivery.outcome === "ledger_unavailable" || delivery.outcome === "queue_refused";
  log(
    {
      worker: WORKER,
      event,
      outcome: delivery.outcome,
      namespace,
      jobId,
      consumer,
      type,
      attempt:
        delivery.outcome === "duplicate"
          ? delivery.claim.attempt
          : "attempt" in delivery
            ? delivery.attempt
            : undefined,
      dispatchedTo: delivery.outcome === "accepted" ? delivery.dispatchedTo : undefined,
      refusedBy: delivery.outcome === "queue_refused" ? delivery.consumers : undefined,
      during: delivery.outcome === "ledger_unavailable" ? delivery.during : undefined,
      error: delivery.outcome === "ledger_unavailable" ? delivery.error : undefined,
      conflictWith: delivery.conflict?.recorded,
    },
    troubled ? "error" : "info",
  );
}

/** Who this receiver is to the ledger; «unknown» if the ledger does not answer in time. */
export function identifyWithin(deadline: Deadline, ledger: LedgerBinding): Promise<Identity> {
  return deadline.within(identify(ledger)).catch(() => UNKNOWN);
}
