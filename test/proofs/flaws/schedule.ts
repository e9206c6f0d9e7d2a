// Flaws of the schedule: when the alarm runs, whom it calls, and what is forgotten.

import { type Flaw, TESTS } from "./flaw.ts";

const file = "ledger-service/src/job/schedule.ts";
const record = "ledger-service/src/job/record.ts";

export const SCHEDULE: readonly Flaw[] = [
  {
    name: "the next alarm overlooks what is overdue",
    file,
    find: "const set = times.filter((at) => at !== null);",
    replace: "const set = times.filter((at) => at !== null && at >= Date.now());",
    tests: [TESTS.watch],
    peer: "a next-alarm query that overlooks overdue rows",
  },
  {
    name: "a job is cleaned up while somebody works on it",
    file,
    find: "if (retentionMs === null || isOpen(record)) return null;",
    replace: "if (retentionMs === null || openExpectations(record).length > 0) return null;",
    tests: [TESTS.schedule],
    peer: "cleanup under a live lease",
  },
  {
    name: "a job is cleaned up while its event is expected",
    file,
    find: "if (retentionMs === null || isOpen(record)) return null;",
    replace: "if (retentionMs === null || unfinished(record).length > 0) return null;",
    tests: [TESTS.schedule],
  },
  {
    name: "the end of the last claim leaves the alarm at the watch's time",
    file,
    find: "return is < was || isOpen(before) !== isOpen(after);",
    replace: "return is < was;",
    tests: [TESTS.schedule],
  },
  {
    name: "the alarm is set anew, a row each time, though an early one would do",
    file,
    find: "return is < was || isOpen(before) !== isOpen(after);",
    replace: "return is !== was;",
    tests: [TESTS.schedule],
  },
  {
    name: "the watch rings under a live lease",
    file,
    find: "return Math.max(firstAt, claim.leaseExpiresAt + GRACE_MS);",
    replace: "return firstAt;",
    tests: [TESTS.schedule],
  },
  {
    name: "the watch rings before a retry's time",
    file,
    find: "return Math.max(firstAt, claim.retryAt + GRACE_MS);",
    replace: "return firstAt;",
    tests: [TESTS.schedule],
  },
  {
    name: "there is no grace: the watch rings before the queue's own message has come",
    file,
    find: "export const GRACE_MS = 5 * 60_000;",
    replace: "export const GRACE_MS = 0;",
    tests: [TESTS.watch],
    peer: "an alert at the end of every lease: two messages for one retry",
  },
  {
    name: "no grace after a lease",
    file,
    find: "return Math.max(firstAt, claim.leaseExpiresAt + GRACE_MS);",
    replace: "return Math.max(firstAt, claim.leaseExpiresAt);",
    tests: [TESTS.schedule],
  },
  {
    name: "no grace after a retry's time",
    file,
    find: "return Math.max(firstAt, claim.retryAt + GRACE_MS);",
    replace: "return Math.max(firstAt, claim.retryAt);",
    tests: [TESTS.schedule],
  },
  {
    name: "a reopened claim waits for the grace, though no message is on its way",
    file,
    find: "return claim.openedAt;",
    replace: "return claim.openedAt + GRACE_MS;",
    tests: [TESTS.schedule],
  },
  {
    name: "consumers at work are called again",
    file,
    find: "awaits(record, settings).filter(({ at }) => at <= now)",
    replace: "awaits(record, settings).filter((_, __, all) => all.some(({ at }) => at <= now))",
    tests: [TESTS.jobWatch],
  },
  {
    name: "the watch gives up once it is overdue",
    file,
    find: "return unfinished(record).map((consumer) => {",
    replace:
      "const rings = (consumer: string) => callOf(record, 'not_finished', consumer)?.rings ?? 0;\n" +
      "  const called = unfinished(record).filter((consumer) => rings(consumer) <= OVERDUE_AFTER_RINGS);\n" +
      "  return called.map((consumer) => {",
    tests: [TESTS.watch],
    peer: "a job that is dropped after its last try, into a queue that nobody reads",
  },
  {
    name: "all consumers share the pause that one has earned",
    file,
    find: "(call) => call.reason === reason && call.consumer === consumer &&",
    replace: "(call) => call.reason === reason &&",
    tests: [TESTS.jobWatch],
    peer: "a consumer that renews keeps the others from being called",
  },
  {
    name: "the next alert is as late as the last of those who are waited for",
    file,
    find: "at: Math.min(...waiting.map(({ at }) => at)),",
    replace: "at: Math.max(...waiting.map(({ at }) => at)),",
    tests: [TESTS.schedule],
  },
  {
    name: "alerts before a reopening still put off the next one",
    file,
    find: " && (since === undefined || call.at > since),",
    replace: ",",
    tests: [TESTS.schedule],
  },
  {
    name: "nobody is told that the event is wanted anew",
    file,
    find: 'const refresh = call === undefined && claim?.status === "reopened" && claim.refresh;',
    replace: "const refresh = false;",
    tests: [TESTS.jobWatch],
  },
  {
    name: "every alert of a reopened claim asks Sume to redeliver",
    file,
    find: "const refresh = call === undefined && claim?.status",
    replace: "const refresh = claim?.status",
    tests: [TESTS.jobWatch],
  },
  {
    name: "a conflicting event is not alerted",
    file,
    find: "return events.slice(1 + (watch?.conflictsTold ?? 0));",
    replace: "return events.slice(events.length);",
    tests: [TESTS.schedule],
  },
  {
    name: "a job's first event is taken for a conflict",
    file,
    find: "return events.slice(1 + (watch?.conflictsTold ?? 0));",
    replace: "return events.slice(watch?.conflictsTold ?? 0);",
    tests: [TESTS.schedule],
  },
  {
    name: "a consumer that was dispatched to and never came is not missed",
    file: record,
    find: "if (!record.claims.has(consumer)) waiting.add(consumer);",
    replace: "if (record.claims.has(consumer)) continue;",
    tests: [TESTS.schedule],
    peer: "the acknowledgement leaves nothing to reconcile",
  },
  {
    name: "a released claim counts as finished",
    file: record,
    find: "if (!hasEnded(claim)) waiting.add(claim.consumer);",
    replace: 'if (!hasEnded(claim) && claim.status !== "released") waiting.add(claim.consumer);',
    tests: [TESTS.schedule],
  },
  {
    name: "an abandoned claim is still waited for",
    file: record,
    find: "if (!hasEnded(claim)) waiting.add(claim.consumer);",
    replace: 'if (!hasEnded(claim) || claim.status === "abandoned") waiting.add(claim.consumer);',
    tests: [TESTS.abandon],
  },
];
