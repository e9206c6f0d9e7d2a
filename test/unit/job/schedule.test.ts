// When the alarm must run next and what is due when it does, at literal times: the watch, the expectation, conflicts,
// cleanup. The event of the states came at 1_000_000; an unfinished job is first alerted 900_000 ms later.

import { describe, expect, test } from "vitest";
import { EMPTY_RECORD, EMPTY_WATCH, type JobRecord, type WatchEntry } from "../../../ledger-service/src/job/record.ts";
import {
  type Alert,
  alarmMoves,
  dueAlerts,
  dueAt,
  isCleanupDue,
  nextRing,
  type Settings,
} from "../../../ledger-service/src/job/schedule.ts";
import { claim, release, renew, reopen } from "../../../ledger-service/src/job/claims.ts";
import { CLAIMED, claimCommand, COMPLETED, EVENT, recordOf, RELEASED, SECOND_EVENT, STATES } from "./states.ts";

const SETTINGS: Settings = { retentionMs: 2_592_000_000, watchAfterMs: 900_000, graceMs: 300_000 };
const FOR_EVER: Settings = { ...SETTINGS, retentionMs: null };
const DAY = 86_400_000;
const INDEX_ONCE: Alert = {
  reason: "not_finished",
  ring: 1,
  pending: ["index"],
  awaited: [{ consumer: "index", round: 1 }],
};
const LEASED = recordOf({ ...CLAIMED, leaseExpiresAt: 2_500_000 });
/** Completed, and what it was dispatched to completed as well. */
const DONE: JobRecord = recordOf({ ...COMPLETED, dispatchedTo: [] });

const watched = (record: JobRecord, rings: number, nextAt: number): JobRecord => ({
  ...record,
  watch: {
    ...EMPTY_WATCH,
    calls: [{ reason: "not_finished", consumer: "index", round: 1, rings, nextAt }],
    changedAt: 1_900_000,
  },
});
const expecting = (dueAtTime: number, rest: Partial<WatchEntry["expectations"][number]> = {}): JobRecord => ({
  ...EMPTY_RECORD,
  watch: {
    ...EMPTY_WATCH,
    expectations: [{ by: "app", setAt: 500_000, dueAt: dueAtTime, cancelledBy: null, round: 1, ...rest }],
    changedAt: 500_000,
  },
});

describe("dueAt", () => {
  test.each([
    ["a job that was never written", EMPTY_RECORD, null],
    ["a message sent to a consumer that has not claimed: the watch", STATES["event only"], 1_900_000],
    ["a claim that is held: the watch, after its lease", STATES.claimed, 1_900_000],
    ["a lease that ends after the watch is due: a grace after it", LEASED, 2_800_000],
    ["a lease that ends just before: the grace counts", recordOf({ ...CLAIMED, leaseExpiresAt: 1_600_001 }), 1_900_001],
    ["a claim that is to be retried: the watch", STATES.released, 1_900_000],
    ["a retry after the watch is due: a grace after it", recordOf({ ...RELEASED, retryAt: 9_000_000 }), 9_300_000],
    ["the second alert", watched(STATES.released, 1, 2_800_000), 2_800_000],
    [
      "the second alert, a retry after it",
      watched(recordOf({ ...RELEASED, retryAt: 3_000_000 }), 1, 2_800_000),
      3_300_000,
    ],
    ["completed, but dispatched to one that has not claimed: the watch", STATES.completed, 1_900_000],
    ["reopened, however soon after the event: at once", STATES.reopened, 1_030_000],
    ["completed: cleanup", DONE, 2_593_020_000],
    ["failed: cleanup", STATES.failed, 2_593_020_000],
    ["attempts used up: cleanup", STATES.exhausted, 2_593_070_000],
    ["finished after alerts: cleanup after the last change", watched(DONE, 3, 9_000_000), 2_593_900_000],
    ["an expected event", expecting(700_000), 700_000],
    ["an expectation called off: cleanup", called("ann"), 2_592_500_000],
    ["a conflict that was not alerted: at once", conflicting(DONE), 1_005_000],
  ])("%s", (_, record, at) => {
    expect(dueAt(record, SETTINGS)).toBe(at);
  });

  test("never, where finished jobs are kept for ever", () => {
    for (const record of [EMPTY_RECORD, DONE, STATES.failed, called("ann")]) expect(dueAt(record, FOR_EVER)).toBeNull();
  });

  test("a consumer that could be called is not kept waiting by another's lease", () => {
    const { record } = claim(
      STATES["event only"],
      { ...claimCommand("t"), consumer: "other", leaseMs: 900_000 },
      1_800_000,
    );
    expect(dueAt(record, SETTINGS)).toBe(1_900_000);
    expect(dueAlerts(record, SETTINGS, 1_900_000)).toEqual([INDEX_ONCE]);
  });

  test("a reopening makes the watch due at once, however far ahead it was", () => {
    const { record } = reopen(
      watched(STATES.failed, 9, 1_000_000_000),
      { actor: "ann", consumer: "index", eventType: null, refresh: false },
      2_000_000,
    );
    expect(dueAt(record, SETTINGS)).toBe(2_000_000);
    expect(dueAlerts(record, SETTINGS, 2_000_000)).toEqual([
      { ...INDEX_ONCE, awaited: [{ consumer: "index", round: 2 }] },
    ]);
  });
});

describe("dueAlerts", () => {
  test.each([
    ["before the watch", STATES["event only"], 1_899_999, []],
    ["at the watch", STATES["event only"], 1_900_000, [INDEX_ONCE]],
    ["before the grace after a lease is over", LEASED, 2_799_999, []],
    ["when it is over", LEASED, 2_800_000, [INDEX_ONCE]],
    ["before the grace after a retry's time is over", recordOf({ ...RELEASED, retryAt: 2_500_000 }), 2_799_999, []],
    ["when that is over", recordOf({ ...RELEASED, retryAt: 2_500_000 }), 2_800_000, [INDEX_ONCE]],
    ["after four", watched(STATES.released, 4, 3_000_000), 3_000_000, [{ ...INDEX_ONCE, ring: 5 }]],
    ["of a finished job", DONE, 9_000_000_000, []],
    ["of a failed job", STATES.failed, 9_000_000_000, []],
    ["before the deadline", expecting(700_000), 699_999, []],
    [
      "at the deadline",
      expecting(700_000),
      700_000,
      [{ reason: "not_arrived", ring: 1, pending: [], awaited: [{ consumer: "app", round: 1 }] }],
    ],
    ["called off", called("ann"), 9_000_000_000, []],
    ["of a conflict", conflicting(DONE), 1_005_000, [{ reason: "conflict", ring: 1, pending: [], awaited: [] }]],
  ])("%s", (_, record, now, alerts) => {
    expect(dueAlerts(record, SETTINGS, now)).toEqual(alerts);
  });
});

test("several who are due share an alert: the highest of their rings, and a fresh event if one of them wants it", () => {
  const receiver = STATES.failed.claims.get("receiver");
  if (receiver === undefined) throw new Error("no receiver");
  const claims = new Map(STATES.failed.claims).set("receiver", { ...receiver, dispatchedTo: ["index", "mail"] });
  const mail = { reason: "not_finished", consumer: "mail", round: 1, rings: 2, nextAt: 2_000_000 } as const;
  const seen: JobRecord = {
    ...STATES.failed,
    claims,
    watch: { ...EMPTY_WATCH, calls: [mail], changedAt: 1_900_000 },
  };
  const { record } = reopen(seen, { actor: "ann", consumer: "index", eventType: null, refresh: true }, 2_000_000);
  const awaited = [
    { consumer: "mail", round: 1 },
    { consumer: "index", round: 2 },
  ];
  expect(dueAlerts(record, SETTINGS, 2_000_000)).toEqual([
    { reason: "not_finished", ring: 3, pending: ["mail", "index"], awaited, refresh: true },
  ]);
  expect(nextRing(record, SETTINGS)).toMatchObject({ rings: 2 });
});

describe("alarmMoves", () => {
  const index = { consumer: "index", token: "held" };
  test.each([
    ["the first claim", EMPTY_RECORD, first(), true],
    [
      "a renewal before the watch",
      STATES.claimed,
      renew(STATES.claimed, { ...index, leaseMs: 60_000 }, 1_030_000).record,
      false,
    ],
    ["a settle while another is unfinished", STATES.completed, STATES.completed, false],
    ["the settle that leaves nothing unfinished", STATES.claimed, DONE, true],
    ["the failure that leaves nothing unfinished", STATES.claimed, STATES.failed, true],
    ["a second event type", DONE, conflicting(DONE), true],
    ["a second event type that was told", DONE, told(DONE), false],
    [
      "a release before a lease that the alarm was waiting for",
      LEASED,
      release(LEASED, { ...index, error: null, retryAfterMs: 0, permanent: false }, 2_000_000).record,
      true,
    ],
    ["a nearer deadline", expecting(700_000), expecting(600_000), true],
    ["the expected event: the alarm runs early, which costs no more", expecting(700_000), first(), false],
  ])("%s: %#", (_, before, after, moves) => {
    expect(alarmMoves(before, after, SETTINGS)).toBe(moves);
  });
});

describe("cleanup", () => {
  test.each([
    ["before its time", DONE, 2_593_019_999, false],
    ["at its time", DONE, 2_593_020_000, true],
    ["after a second event, before its time", told(DONE, 1_500_000), 2_593_499_999, false],
    ["after a second event, at its time", told(DONE, 1_500_000), 2_593_500_000, true],
    ["under a live lease", STATES.claimed, 1_000_000 + 1_000 * DAY, false],
    ["of an unfinished claim", STATES.released, 1_000_000 + 1_000 * DAY, false],
    ["of a consumer that has not claimed", STATES["event only"], 1_000_000 + 1_000 * DAY, false],
    ["of an open expectation", expecting(700_000), 1_000_000 + 1_000 * DAY, false],
    ["of an expectation called off", called("ann"), 2_592_500_000, true],
    ["of a job that was never written", EMPTY_RECORD, 1_000_000 + 1_000 * DAY, false],
  ])("%s: %#", (_, record, now, due) => {
    expect(isCleanupDue(record, SETTINGS, now)).toBe(due);
  });
});

function called(cancelledBy: string): JobRecord {
  return expecting(700_000, { cancelledBy });
}

function conflicting(record: JobRecord, receivedAt = 1_005_000): JobRecord {
  return { ...record, events: [EVENT, { ...SECOND_EVENT, receivedAt }] };
}

function told(record: JobRecord, receivedAt?: number): JobRecord {
  return { ...conflicting(record, receivedAt), watch: { ...EMPTY_WATCH, conflictsTold: 1, changedAt: 1_005_001 } };
}

function first(): JobRecord {
  const event = { type: "job.completed", source: "webhook", bytes: 18, differs: true } as const;
  return claim(EMPTY_RECORD, { ...claimCommand("held"), event }, 1_000_000).record;
}
