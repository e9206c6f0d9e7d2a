// The consumers' side of the ledger: what a Worker imports as `job-ledger/client`. `consume` for a queue handler, `runOnce`
// for anything else, and the contract's types. It depends on the ledger's contract and on nothing of any consumer.

export type {
  AdminCancelExpectationArgs,
  AlertMessage,
  Attempt,
  CancelExpectationOutcome,
  ClaimArgs,
  ClaimOutcome,
  ClaimView,
  CompleteArgs,
  CompleteOutcome,
  ExpectEventArgs,
  ExpectEventOutcome,
  Identity,
  JobView,
  Json,
  ReleaseArgs,
  ReleaseOutcome,
  RenewAnswer,
  RenewArgs,
  ReopenOutcome,
} from "../contract/index.ts";
// What a receiver checks its callers with, so that it refuses at the door just what the ledger would refuse.
export { checked, describeIssue, EventType, JobId, LedgerEvent, Name } from "../contract/index.ts";
export { LedgerError } from "../contract/errors.ts";
export { MAX_DISPATCHED_TO } from "../contract/limits.ts";
export { MAX_EVENT_BODY_BYTES } from "../contract/limits.ts";
export { errorName, log } from "../contract/log.ts";
export { withTimeout } from "../contract/timeout.ts";
export { type ConsumeOptions, consume, type JobMessage } from "./consume.ts";
export { type Job, parseBody, type Work } from "./job.ts";
export {
  identify,
  type LedgerAdminService,
  type LedgerBinding,
  type LedgerService,
  UNKNOWN,
} from "./ledger-binding.ts";
export { ClaimLostError, NonRetryableError } from "./errors.ts";
export { type RunOptions, type RunOutcome, runOnce } from "./run-once.ts";
