// The entrypoint for operators' Workers. Holding a binding to it is the permission; its calls name the namespace, the job
// and who acts.

import { WorkerEntrypoint } from "cloudflare:workers";
import { callJob } from "./call-job.ts";
import {
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
   * Makes a settled claim claimable again, with a fresh count of attempts and a higher fence; `eventType` gives the
   * consumer another of the job's recorded events. A claim that is not settled is refused with `open`.
   */
  async reopen(args: ReopenArgs): Promise<ReopenOutcome> {
    const { actor, consumer, eventType = null, ...job } = checked("reopen", ReopenArgs, args);
    return await callJob<ReopenOutcome>(this.ctx.exports.JobLedger, job, (object) =>
      object.reopen({ actor, consumer, eventType }),
    );
  }

  /** Calls off an expectation, whoever set it. */
  async cancelExpectation(args: AdminCancelExpectationArgs): Promise<CancelExpectationOutcome> {
    const { actor, ...job } = checked("cancelExpectation", AdminCancelExpectationArgs, args);
    return await callJob<CancelExpectationOutcome>(this.ctx.exports.JobLedger, job, (object) =>
      object.cancelExpectation({ consumer: null, actor }),
    );
  }
}
