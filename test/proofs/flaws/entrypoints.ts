// Flaws of the entrypoints: who is calling, what is let in, and how the objects are called.

import { type Flaw, TESTS } from "./flaw.ts";

const identity = "ledger-service/src/entrypoints/identity.ts";
const ledger = "ledger-service/src/entrypoints/ledger.ts";
const values = "ledger-service/contract/values.ts";

export const ENTRYPOINTS: readonly Flaw[] = [
  {
    name: "a binding without props is let in",
    file: identity,
    find: "const parsed = v.safeParse(Props, props);",
    replace: 'const parsed = v.safeParse(Props, props ?? { namespace: "default", consumer: "consumer" });',
    tests: [TESTS.identity],
    peer: "failing open",
  },
  {
    name: "the namespace of the props is ignored",
    file: "ledger-service/src/job/job-name.ts",
    find: "return `${namespace}:${jobId}`;",
    replace: "return `${namespace.slice(0, 0)}n:${jobId}`;",
    tests: [TESTS.jobName],
  },
  {
    name: "a job id that holds a colon is cut",
    file: "ledger-service/src/job/job-name.ts",
    find: 'const colon = name?.indexOf(":") ?? -1;',
    replace: 'const colon = name?.lastIndexOf(":") ?? -1;',
    tests: [TESTS.jobName],
  },
  {
    name: "the consumer of the props is ignored",
    file: identity,
    find: "return { namespace: parsed.output.namespace, consumer: parsed.output.consumer };",
    replace: 'return { namespace: parsed.output.namespace, consumer: "consumer" };',
    tests: [TESTS.identity],
  },
  {
    name: "one claim that cannot be renewed fails them all",
    file: ledger,
    find: "return { jobId, outcome };\n        }",
    replace: "throw error;\n        }",
    tests: [TESTS.ledger],
  },
  {
    name: "renew waits for an object that hangs",
    file: ledger,
    find: "const outcome = await withTimeout(renewal, renewWithinMs(leaseMs));",
    replace: "const outcome = await renewal;",
    tests: [TESTS.ledger],
    hangs: true,
    peer: "one hanging object costs a hundred leases",
  },
  {
    name: "renew waits for an object that hangs until the leases have ended",
    file: ledger,
    find: "return Math.min(leaseMs / 8, LONGEST_RENEWAL_MS);",
    replace: "return Math.max(leaseMs, LONGEST_RENEWAL_MS);",
    tests: [TESTS.ledger],
    hangs: true,
  },
  {
    name: "renew waits for an object that hangs as long as an eighth of any lease",
    file: ledger,
    find: "return Math.min(leaseMs / 8, LONGEST_RENEWAL_MS);",
    replace: "return leaseMs / 8;",
    tests: [TESTS.ledger],
  },
  {
    name: "a receiver gives a job up after ten deliveries",
    file: ledger,
    find: "event ? null : DEFAULT_MAX_ATTEMPTS",
    replace: "DEFAULT_MAX_ATTEMPTS",
    tests: [TESTS.ledger],
  },
  {
    name: "a call is repeated on an overloaded object",
    file: "ledger-service/src/entrypoints/call-job.ts",
    find: ' && !says("overloaded")',
    replace: "",
    tests: [TESTS.callJob],
  },
  {
    name: "an operator calls off the expectation of one consumer",
    file: "ledger-service/src/entrypoints/ledger-admin.ts",
    find: "object.cancelExpectation({ consumer: null, actor }),",
    replace: "object.cancelExpectation({ consumer: actor, actor }),",
    tests: [TESTS.admin],
  },
  {
    name: "an operator's wish for a fresh event gets lost",
    file: "ledger-service/src/entrypoints/ledger-admin.ts",
    find: "object.reopen({ ...command, eventType }),",
    replace: "object.reopen({ ...command, eventType, refresh: false }),",
    tests: [TESTS.admin],
  },
  {
    name: "a lone surrogate passes as a job id",
    file: values,
    find: "value.isWellFormed()",
    replace: "value.length > 0",
    tests: [TESTS.contract],
  },
  {
    name: "a job id is measured in characters, not bytes",
    file: values,
    find: "v.pipe(Text, v.maxBytes(MAX_JOB_ID_BYTES))",
    replace: "v.pipe(Text, v.maxLength(MAX_JOB_ID_BYTES))",
    tests: [TESTS.contract],
  },
];
