// The entrypoint for operators' Workers. Holding a binding to it is the permission; its calls name the namespace, the job
// and who acts.

import { WorkerEntrypoint } from "cloudflare:workers";
import { callJob } from "./call-job.ts";
import {
  AbandonArgs,
  type AbandonOutcome,
  AdminCancelExpectationArgs,
  AdminInspectArgs,
  type CancelExpectationOutcome,
  checked,
  type JobView,
  ReopenArgs,
  type ReopenOutcome,
} from "../../contract/index.ts";

/** All methods throw a `LedgerError` with `code` `invalid_argument` or `too_large` for a caller's mistake. */
export class LedgerAdmin extends WorkerEntrypoint<LedgerServiceEnv> {
  /** The job's record, or `null` if the ledger does not know the job. Writes nothing. */
  async inspect(args: AdminInspectArgs): Promise<JobView | null> {
    const { body, ...job } = checked("inspect", AdminInspectArgs, args);
    return await callJob<JobView | null>(this.ctx.exports.JobLedger, job, (object) => object.inspect(body));
  }

  /**
   * Makes a claim that has ended claimable again, with a fresh count of attempts and a higher fence; `eventType` gives the
   * consumer another of the job's recorded events, `refresh` has Sume asked to redeliver first. The job is dispatched again by
   * the watch, at once. A claim that has not ended is refused with `open`.
   */
  async reopen(args: ReopenArgs): Promise<ReopenOutcome> {
    const { namespace, jobId, eventType = null, ...command } = checked("reopen", ReopenArgs, args);
    return await callJob<ReopenOutcome>(this.ctx.exports.JobLedger, { namespace, jobId }, (object) =>
      object.reopen({ ...command, eventType }),
    );
  }

  /**
   * Ends the wait for a consumer that will never finish or never come, such as one that was removed: no alert any more, and its
   * claims are answered `failed`. A claim that has ended is left as it is; `reopen` undoes an abandonment.
   */
  async abandon(args: AbandonArgs): Promise<AbandonOutcome> {
    const { actor, consumer, ...job } = checked("abandon", AbandonArgs, args);
    return await callJob<AbandonOutcome>(this.ctx.exports.JobLedger, job, (object) =>
      object.abandon({ actor, consumer }),
    );
  }

  /** Calls off the expectations of all consumers. */
  async cancelExpectation(args: AdminCancelExpectationArgs): Promise<CancelExpectationOutcome> {
    const { actor, ...job } = checked("cancelExpectation", AdminCancelExpectationArgs, args);
    return await callJob<CancelExpectationOutcome>(this.ctx.exports.JobLedger, job, (object) =>
      object.cancelExpectation({ consumer: null, actor }),
    );
  }
}
