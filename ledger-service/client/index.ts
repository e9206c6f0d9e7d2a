// `job-ledger/client`: the consumers' side of the ledger. `consume` for a queue handler, `runOnce` for anything else,
// and the types that their code names. It depends on the contract and on nothing of the ledger service or of any
// consumer.

export type {
  Attempt,
  CancelExpectationOutcome,
  ClaimOutcome,
  ClaimView,
  ExpectEventOutcome,
  Identity,
  JobMessage,
  JobView,
  Json,
  LedgerAdminService,
  LedgerBinding,
  LedgerEvent,
  LedgerService,
  ReopenOutcome,
} from "../contract/index.ts";
export { type ConsumeOptions, consume } from "./consume.ts";
export { ClaimLostError, NonRetryableError } from "./errors.ts";
export { type Job, type RunOutcome, type Work } from "./job.ts";
export { type RunOptions, runOnce } from "./run-once.ts";
