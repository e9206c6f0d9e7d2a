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
  abandon: "test/unit/job/claims-abandon.test.ts",
  admin: "test/unit/entrypoints/ledger-admin.test.ts",
  alarm: "test/unit/object/alarm.test.ts",
  callJob: "test/unit/entrypoints/call-job.test.ts",
  claim: "test/unit/job/claims-claim.test.ts",
  contract: "test/unit/contract/contract.test.ts",
  events: "test/unit/job/claims-events.test.ts",
  identity: "test/unit/entrypoints/identity.test.ts",
  json: "test/unit/contract/json.test.ts",
  jobLedger: "test/unit/object/job-ledger.test.ts",
  jobName: "test/unit/job/job-name.test.ts",
  jobWatch: "test/unit/job/watch.test.ts",
  ledger: "test/unit/entrypoints/ledger.test.ts",
  log: "test/unit/contract/log.test.ts",
  renew: "test/unit/job/claims-renew.test.ts",
  reopen: "test/unit/job/claims-reopen.test.ts",
  rows: "test/unit/object/rows.test.ts",
  schedule: "test/unit/job/schedule.test.ts",
  settle: "test/unit/job/claims-settle.test.ts",
  transitions: "test/unit/job/claims.test.ts",
  unreadable: "test/unit/object/unreadable.test.ts",
  view: "test/unit/job/view.test.ts",
  waiting: "test/unit/object/waiting.test.ts",
  watch: "test/unit/object/watch.test.ts",

  batch: "test/unit/client/consume-batch.test.ts",
  delays: "test/unit/client/delays.test.ts",
  consume: "test/unit/client/consume-settling.test.ts",
  consumeLog: "test/unit/client/consume-log.test.ts",
  failures: "test/unit/client/run-once-failures.test.ts",
  lease: "test/unit/client/lease.test.ts",
  lostReplies: "test/unit/client/run-once-lost-replies.test.ts",
  mistakes: "test/unit/client/run-once-mistakes.test.ts",
  runOnce: "test/unit/client/run-once.test.ts",
  vanished: "test/unit/client/vanished.test.ts",

  delivery: "test/unit/receiver/delivery.test.ts",
  readBody: "test/unit/receiver/body.test.ts",
  signature: "test/unit/receiver/signature.test.ts",
  body: "test/system/receiver/body.test.ts",
  configuration: "test/system/receiver/configuration.test.ts",
  deliveries: "test/system/receiver/deliveries.test.ts",
  intake: "test/system/receiver/intake.test.ts",
  ledgerTrouble: "test/system/receiver/ledger-trouble.test.ts",
  signed: "test/system/receiver/signature.test.ts",

  archive: "test/unit/artifact-archive/store.test.ts",
  jobIndex: "test/system/consumers/job-index.test.ts",
  reconciler: "test/unit/reconciler/reconciler.test.ts",
  sume: "test/unit/reconciler/sume.test.ts",
} as const;
