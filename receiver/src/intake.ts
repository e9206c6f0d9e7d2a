// The receiver's RPC side, for trusted Workers such as the reconciler. It takes an event that was learned by other
// means, and sends a job's messages again. Holding a binding to it is the permission.

import { WorkerEntrypoint } from "cloudflare:workers";
import {
  checked,
  errorName,
  type Identity,
  JobId,
  LedgerError,
  LedgerEvent,
  log,
  MAX_DISPATCHED_TO,
  Name,
} from "job-ledger/contract";
import * as v from "valibot";
import { ANSWER_WITHIN_MS, Deadline } from "./deadline.ts";
import { deliver, type DeliveryOutcome, dispatch } from "./delivery.ts";
import { logDelivery, WORKER } from "./log.ts";
import { type DispatchQueues, readDispatchQueues } from "./settings.ts";

const IngestArgs = v.strictObject({ namespace: Name, jobId: JobId, event: LedgerEvent });
const RedispatchArgs = v.strictObject({
  namespace: Name,
  jobId: JobId,
  // A namespace may have several receivers, each with its consumers. A Worker may send about a thousand messages.
  pending: v.pipe(v.array(Name), v.maxLength(10 * MAX_DISPATCHED_TO)),
});

export type IngestArgs = v.InferInput<typeof IngestArgs>;
export type RedispatchArgs = v.InferInput<typeof RedispatchArgs>;
export type RedispatchOutcome =
  | DeliveryOutcome
  /** The receiver's own claim had ended; messages went to those of `pending` that have a queue here. */
  | { outcome: "redispatched"; dispatchedTo: string[] }
  /** None of `pending` has a queue here; the log names the bindings to add. */
  | { outcome: "no_queue"; consumers: string[] };

export class Intake extends WorkerEntrypoint<ReceiverEnv> {
  /**
   * Takes an event that did not come by webhook as if it had: records it, dispatches it to every consumer, completes.
   * @throws {LedgerError} `invalid_argument` or `too_large`, also for another namespace than this receiver's.
   */
  async ingest(args: IngestArgs): Promise<DeliveryOutcome> {
    const { namespace, jobId, event } = checked("ingest", IngestArgs, args);
    const { queues, deadline, own } = await this.#begin(namespace);
    const delivery = await deliver(this.env.LEDGER, queues, { jobId, event }, deadline, this.ctx);
    logDelivery("ingest", { jobId, type: event.type }, own, delivery);
    return delivery;
  }

  /**
   * Sends a job's messages again; the ledger holds its event. They go to `pending` only if the receiver's own claim is
   * completed or failed, else to every consumer.
   * @throws {LedgerError} `invalid_argument` or `too_large`, also for another namespace than this receiver's.
   */
  async redispatch(args: RedispatchArgs): Promise<RedispatchOutcome> {
    const { namespace, jobId, pending } = checked("redispatch", RedispatchArgs, args);
    const { queues, deadline, own } = await this.#begin(namespace);
    const delivery = await deliver(this.env.LEDGER, queues, { jobId }, deadline, this.ctx);
    if (delivery.outcome !== "duplicate") {
      logDelivery("redispatch", { jobId }, own, delivery);
      return delivery;
    }
    const { bound, unbound } = split(
      queues,
      pending.filter((name) => name !== own.consumer),
    );
    for (const name of unbound) {
      const detail = `bind its queue as DISPATCH_${name.toUpperCase().replaceAll("-", "_")}`;
      log(
        { worker: WORKER, event: "redispatch", outcome: "no_queue", namespace, jobId, consumer: name, detail },
        "error",
      );
    }
    const refused = await dispatch(queues, jobId, bound, deadline);
    const outcome = redispatched({ bound, unbound, refused }, delivery.claim.attempt);
    log({ worker: WORKER, event: "redispatch", outcome: outcome.outcome, namespace, jobId, dispatchedTo: bound });
    return outcome;
  }

  async #begin(namespace: string): Promise<{ queues: DispatchQueues; deadline: Deadline; own: Identity }> {
    const deadline = new Deadline(ANSWER_WITHIN_MS);
    const own = await deadline.within(this.env.LEDGER.whoami());
    if (namespace !== own.namespace) {
      throw new LedgerError(
        "invalid_argument",
        `this receiver serves the namespace ${own.namespace}, not the one asked for`,
      );
    }
    try {
      return { queues: readDispatchQueues({ ...this.env }), deadline, own };
    } catch (error) {
      const detail = error instanceof Error ? error.message : "";
      log({ worker: WORKER, event: "configuration", outcome: errorName(error), detail }, "error");
      throw error;
    }
  }
}

function split(queues: DispatchQueues, names: string[]): { bound: string[]; unbound: string[] } {
  return {
    bound: names.filter((name) => queues.has(name)),
    unbound: names.filter((name) => !queues.has(name)),
  };
}

function redispatched(
  { bound, unbound, refused }: { bound: string[]; unbound: string[]; refused: string[] },
  attempt: number,
): RedispatchOutcome {
  if (refused.length > 0) return { outcome: "queue_refused", consumers: refused, attempt };
  if (bound.length === 0 && unbound.length > 0) return { outcome: "no_queue", consumers: unbound };
  return { outcome: "redispatched", dispatchedTo: bound };
}
