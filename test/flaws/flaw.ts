// What a flaw is: one deliberate mistake in the product's code, and the tests that must notice it.

export type Flaw = {
  /** Says what is wrong with the flawed code. */
  name: string;
  /** The file to change, from the project's folder. */
  file: string;
  /** Text that occurs in it exactly once. */
  find: string;
  replace: string;
  /** The test files of which at least one test must fail: the smallest and fastest that will do. */
  tests: readonly string[];
  /** Its sign is that something does not come: tests whose time is up count as having noticed. */
  hangs?: true;
  /** The fault in other code of this kind that it stands for, if it is one that was met. */
  peer?: string;
};

/** Test files by what they are about, shortest first. */
export const TESTS = {
  alarm: "test/workerd/ledger-service/job-ledger-alarm.test.ts",
  callJob: "test/workerd/ledger-service/call-job.test.ts",
  claim: "test/workerd/ledger-service/transitions-claim.test.ts",
  contract: "test/workerd/ledger-service/contract.test.ts",
  events: "test/workerd/ledger-service/transitions-events.test.ts",
  expectation: "test/workerd/ledger-service/expectation.test.ts",
  identity: "test/workerd/ledger-service/identity.test.ts",
  jobLedger: "test/workerd/ledger-service/job-ledger.test.ts",
  ledger: "test/workerd/ledger-service/ledger.test.ts",
  log: "test/workerd/ledger-service/log.test.ts",
  renew: "test/workerd/ledger-service/transitions-renew.test.ts",
  reopen: "test/workerd/ledger-service/transitions-reopen.test.ts",
  rows: "test/workerd/ledger-service/job-ledger-rows.test.ts",
  schedule: "test/workerd/ledger-service/schedule.test.ts",
  settle: "test/workerd/ledger-service/transitions-settle.test.ts",
  stored: "test/workerd/ledger-service/stored-job.test.ts",
  transitions: "test/workerd/ledger-service/transitions.test.ts",
  waiting: "test/workerd/ledger-service/job-ledger-waiting.test.ts",
  watch: "test/workerd/ledger-service/job-ledger-watch.test.ts",

  batch: "test/workerd/client/consume-batch.test.ts",
  consume: "test/workerd/client/consume-settling.test.ts",
  failures: "test/workerd/client/run-once-failures.test.ts",
  lease: "test/workerd/client/lease.test.ts",
  lostReplies: "test/workerd/client/run-once-lost-replies.test.ts",
  mistakes: "test/workerd/client/run-once-mistakes.test.ts",
  runOnce: "test/workerd/client/run-once.test.ts",

  readBody: "test/workerd/receiver/body.test.ts",
  signature: "test/workerd/receiver/signature.test.ts",
  body: "test/system/body.test.ts",
  configuration: "test/system/configuration.test.ts",
  deliveries: "test/system/deliveries.test.ts",
  intake: "test/system/intake.test.ts",
  ledgerTrouble: "test/system/ledger-trouble.test.ts",
  signed: "test/system/signature.test.ts",

  jobIndex: "test/consumers/job-index.test.ts",
  reconciler: "test/workerd/reconciler/reconciler.test.ts",
} as const;
