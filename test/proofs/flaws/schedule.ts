// Flaws of the schedule: when the alarm rings, whom it calls, and what is forgotten. And of the expectation of an event.

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
    find: "if (retentionMs === null || isExpected(record) || unfinished(record).length > 0) return null;",
    replace: "if (retentionMs === null || isExpected(record)) return null;",
    tests: [TESTS.schedule],
    peer: "cleanup under a live lease",
  },
  {
    name: "a job is cleaned up while its event is expected",
    file,
    find: "if (retentionMs === null || isExpected(record) || unfinished(record).length > 0) return null;",
    replace: "if (retentionMs === null || unfinished(record).length > 0) return null;",
    tests: [TESTS.schedule],
  },
  {
    name: "the watch rings under a live lease",
    file,
    find: "return { ...ring, at: Math.max(ring.at, ready) };",
    replace: "return ring;",
    tests: [TESTS.schedule],
  },
  {
    name: "consumers at work are called again",
    file,
    find: "unfinished(record).filter((consumer) => readyAt(record, consumer) <= now)",
    replace: "unfinished(record)",
    tests: [TESTS.schedule],
  },
  {
    name: "the watch gives up once it is overdue",
    file,
    find: 'if (ring === null || ring.reason === "not_arrived") return ring;',
    replace:
      'if (ring === null || ring.ring > OVERDUE_AFTER_RINGS) return null;\n  if (ring.reason === "not_arrived") return ring;',
    tests: [TESTS.watch],
    peer: "a job that is dropped after its last try, into a queue that nobody reads",
  },
  {
    name: "the pauses of the watch grow without end",
    file,
    find: "return Math.min(watchAfterMs * 2 ** (ring - 1), LONGEST_PAUSE_MS);",
    replace: "return watchAfterMs * 2 ** (ring - 1);",
    tests: [TESTS.schedule],
  },
  {
    name: "what was settled while an alert was sent is overwritten",
    file,
    find: "return { ...record, events, job };",
    replace: "return { ...seen, events, job };",
    tests: [TESTS.schedule],
    peer: "a write decided on what was read before an await",
  },
  {
    name: "a reopening while an alert is sent is forgotten",
    file,
    find: " || record.job !== seen.job) {",
    replace: ") {",
    tests: [TESTS.schedule],
  },
  {
    name: "a conflict that came while alerts were sent is taken for told",
    file,
    find: "seen.events.map(({ type }) => type)",
    replace: "record.events.map(({ type }) => type)",
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
    find: 'if (claim.status !== "completed" && claim.status !== "failed") waiting.add(claim.consumer);',
    replace: 'if (claim.status === "claimed") waiting.add(claim.consumer);',
    tests: [TESTS.schedule],
  },
  {
    name: "a later deadline replaces the earlier one",
    file: "ledger-service/src/job/watch.ts",
    find: "if (open !== null && open.dueAt <= dueAt) return",
    replace: "if (open !== null && open.dueAt > dueAt) return",
    tests: [TESTS.expectation],
  },
  {
    name: "anybody may call off an expectation",
    file: "ledger-service/src/job/watch.ts",
    find: "if (command.consumer !== null && command.consumer !== expectation.by) {",
    replace: 'if (command.consumer === "") {',
    tests: [TESTS.expectation],
  },
];
