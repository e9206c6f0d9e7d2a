// The entrypoint for receivers and consumers. Who calls is read from the binding's `props` and from nowhere else; the
// arguments are checked here, before the job's object is touched.

import { WorkerEntrypoint } from "cloudflare:workers";
import { callJob } from "./call-job.ts";
import {
  CancelExpectationArgs,
  type CancelExpectationOutcome,
  checked,
  ClaimArgs,
  type ClaimOutcome,
  CompleteArgs,
  type CompleteOutcome,
  DEFAULT_LEASE_MS,
  DEFAULT_MAX_ATTEMPTS,
  errorName,
  ExpectEventArgs,
  type ExpectEventOutcome,
  type Identity,
  InspectArgs,
  type JobView,
  log,
  ReleaseArgs,
  type ReleaseOutcome,
  type RenewAnswer,
  RenewArgs,
  type RenewOutcome,
  withTimeout,
} from "../../contract/index.ts";
import { identityOf } from "./identity.ts";
import type { JobLedger } from "../object/job-ledger.ts";

/** Milliseconds; the longest that a renewal is waited for. */
const LONGEST_RENEWAL_MS = 10_000;

/**
 * All methods throw a `LedgerError` with `code` `invalid_props`, `invalid_argument` or `too_large` for a caller's mistake,
 * and the platform's error when the job's object cannot be reached; the latter may be called again as it was, with the
 * same token.
 */
export class Ledger extends WorkerEntrypoint<LedgerServiceEnv> {
  /** Who this binding is to the ledger. */
  whoami(): Identity {
    return this.#identity();
  }

  /**
   * Claims the job for the calling consumer and, when `event` is given and new, records it.
   *
   * `leaseMs` 1 s to 15 min (60 s by default); `waitMs` at most 8 s (0): instead of `in_progress` wait that long for the
   * holder; `maxAttempts` 1 to 1,000, or `null` for no limit (60 for a claim without an event, none with one); `token`
   * makes the call repeatable: while the lease lives, the same token gets the same answer; afterwards it is another attempt.
   */
  async claim(args: ClaimArgs): Promise<ClaimOutcome> {
    const { consumer, ...identity } = this.#identity();
    const { jobId, event, waitMs, ...given } = checked("claim", ClaimArgs, args);
    const command = {
      consumer,
      // Made here when the caller brings none, so that callJob can repeat the call.
      token: given.token ?? crypto.randomUUID(),
      leaseMs: given.leaseMs ?? DEFAULT_LEASE_MS,
      // A receiver must never give a job up by itself: Sume's next attempt is its retry.
      maxAttempts: given.maxAttempts !== undefined ? given.maxAttempts : event ? null : DEFAULT_MAX_ATTEMPTS,
    };
    const waitUntil = Date.now() + waitMs;
    return await this.#job<ClaimOutcome>(identity.namespace, jobId, (job) =>
      // What an earlier try has waited is not waited again.
      job.claim(command, event ?? null, Math.max(0, waitUntil - Date.now())),
    );
  }

  /** Marks the claim's work as finished; `result` is at most 16 KiB of JSON, `dispatchedTo` at most 100 consumers. */
  async complete(args: CompleteArgs): Promise<CompleteOutcome> {
    const { consumer, namespace } = this.#identity();
    const { jobId, token, result = null, dispatchedTo = null } = checked("complete", CompleteArgs, args);
    const command = { consumer, token, result, dispatchedTo };
    return await this.#job<CompleteOutcome>(namespace, jobId, (job) => job.complete(command));
  }

  /** Gives the claim back: claimable again after `retryAfterMs` (at most 12 h, 0 by default), or `failed` if `permanent`. */
  async release(args: ReleaseArgs): Promise<ReleaseOutcome> {
    const { consumer, namespace } = this.#identity();
    const { jobId, error = null, ...given } = checked("release", ReleaseArgs, args);
    const command = { consumer, error, ...given };
    return await this.#job<ReleaseOutcome>(namespace, jobId, (job) => job.release(command));
  }

  /** Renews up to 100 claims and answers each, in the order given; one whose object fails or hangs does not hold up the rest. */
  async renew(args: RenewArgs): Promise<RenewAnswer[]> {
    const { consumer, namespace } = this.#identity();
    const { claims, leaseMs = DEFAULT_LEASE_MS } = checked("renew", RenewArgs, args);
    return await Promise.all(
      claims.map(async ({ jobId, token }): Promise<RenewAnswer> => {
        try {
          const renewal = this.#job<RenewOutcome>(namespace, jobId, (job) => job.renew({ consumer, token, leaseMs }));
          const outcome = await withTimeout(renewal, renewWithinMs(leaseMs));
          return { jobId, ...outcome };
        } catch (error) {
          const outcome = "unavailable";
          log(
            { worker: "ledger-service", event: "renew", outcome, namespace, jobId, consumer, error: errorName(error) },
            "error",
          );
          return { jobId, outcome };
        }
      }),
    );
  }

  /** The job's record, or `null` if the ledger does not know the job. Bodies on request. Writes nothing. */
  async inspect(args: InspectArgs): Promise<JobView | null> {
    const { namespace } = this.#identity();
    const { jobId, body } = checked("inspect", InspectArgs, args);
    return await this.#job<JobView | null>(namespace, jobId, (job) => job.inspect(body));
  }

  /**
   * Announces an event: if it has not come `withinMs` (at most 30 days) from now, the job is alerted as `not_arrived`, so that
   * the backup can ask Sume. Each consumer has a deadline of its own; of several that it sets the earliest stays.
   */
  async expectEvent(args: ExpectEventArgs): Promise<ExpectEventOutcome> {
    const { consumer, namespace } = this.#identity();
    const { jobId, withinMs } = checked("expectEvent", ExpectEventArgs, args);
    return await this.#job<ExpectEventOutcome>(namespace, jobId, (job) => job.expectEvent({ consumer, withinMs }));
  }

  /** Calls off what this consumer expected. */
  async cancelExpectation(args: CancelExpectationArgs): Promise<CancelExpectationOutcome> {
    const { consumer, namespace } = this.#identity();
    const { jobId } = checked("cancelExpectation", CancelExpectationArgs, args);
    return await this.#job<CancelExpectationOutcome>(namespace, jobId, (job) =>
      job.cancelExpectation({ consumer, actor: consumer }),
    );
  }

  #identity(): Identity {
    return identityOf(this.ctx.props);
  }

  #job<T>(namespace: string, jobId: string, call: (job: DurableObjectStub<JobLedger>) => Promise<T>): Promise<T> {
    return callJob(this.ctx.exports.JobLedger, { namespace, jobId }, call);
  }
}

/** Milliseconds a job's object may take for a renewal: the caller, who renews at half the lease, needs the other answers. */
function renewWithinMs(leaseMs: number): number {
  return Math.min(leaseMs / 8, LONGEST_RENEWAL_MS);
}
