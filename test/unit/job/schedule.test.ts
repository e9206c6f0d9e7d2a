// When the alarm must ring next and what is due when it does, at literal times: the watch, the expectation, conflicts,
// cleanup. The event of the states came at 1_000_000; an unfinished job is first alerted 900_000 ms later.

import { describe, expect, test } from "vitest";
import { EMPTY_RECORD, type JobEntry, type JobRecord } from "../../../ledger-service/src/job/record.ts";
import {
  alarmMoves,
  dueAlerts,
  dueAt,
  expire,
  isCleanupDue,
  rung,
  type Settings,
} from "../../../ledger-service/src/job/schedule.ts";
import { claim, complete, release, renew, reopen } from "../../../ledger-service/src/job/claims.ts";
import {
  CLAIMED,
  claimCommand,
  claimIn,
  COMPLETED,
  EVENT,
  EXHAUSTED,
  FAILED,
  recordOf,
  RELEASED,
  SECOND_EVENT,
  STATES,
} from "./states.ts";

const SETTINGS: Settings = { retentionMs: 2_592_000_000, watchAfterMs: 900_000 };
const FOR_EVER: Settings = { ...SETTINGS, retentionMs: null };
const DAY = 86_400_000;
/** Completed, and what it was dispatched to completed as well. */
const DONE: JobRecord = recordOf({ ...COMPLETED, dispatchedTo: [] });

const watched = (record: JobRecord, rings: number, nextAt: number): JobRecord => ({
  ...record,
  job: { expectation: null, watch: { reason: "not_finished", rings, nextAt }, changedAt: 1_900_000 },
});
const expecting = (dueAtTime: number, rest: Partial<JobEntry> = {}): JobRecord => ({
  ...EMPTY_RECORD,
  job: {
    expectation: { by: "app", setAt: 500_000, dueAt: dueAtTime, cancelledBy: null },
    watch: null,
    changedAt: 500_000,
    ...rest,
  },
});

const ring = (record: JobRecord, now: number, seen = record) =>
  rung(record, { seen, alerts: dueAlerts(seen, SETTINGS, now), settings: SETTINGS, now });

describe("dueAt", () => {
  test.each([
    ["a job that was never written", EMPTY_RECORD, null],
    ["a message sent to a consumer that has not claimed: the watch", STATES["event only"], 1_900_000],
    ["a claim that is held: the watch, after its lease", STATES.claimed, 1_900_000],
    ["a lease that ends after the watch is due", recordOf({ ...CLAIMED, leaseExpiresAt: 2_500_000 }), 2_500_000],
    ["a claim that is to be retried: the watch", STATES.released, 1_900_000],
    ["a retry after the watch is due", recordOf({ ...RELEASED, retryAt: 9_000_000 }), 9_000_000],
    ["the second alert", watched(STATES.released, 1, 2_800_000), 2_800_000],
    [
      "the second alert, a retry after it",
      watched(recordOf({ ...RELEASED, retryAt: 3_000_000 }), 1, 2_800_000),
      3_000_000,
    ],
    ["completed, but dispatched to one that has not claimed: the watch", STATES.completed, 1_900_000],
    ["completed: cleanup", DONE, 2_593_020_000],
    ["failed: cleanup", STATES.failed, 2_593_020_000],
    ["attempts used up: cleanup", STATES.exhausted, 2_593_070_000],
    ["finished after alerts: cleanup after the last change", watched(DONE, 3, 9_000_000), 2_593_900_000],
    ["an expected event", expecting(700_000), 700_000],
    ["an expectation called off: cleanup", called("ann"), 2_592_500_000],
    ["a conflict whose alert could not be sent: at once", unsent(DONE), 1_005_000],
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
    expect(dueAlerts(record, SETTINGS, 1_900_000)).toEqual([{ reason: "not_finished", ring: 1, pending: ["index"] }]);
  });

  test("a reopening makes the watch due at once, however far ahead it was", () => {
    const { record } = reopen(
      watched(STATES.failed, 9, 1_000_000_000),
      { actor: "ann", consumer: "index", eventType: null },
      2_000_000,
    );
    expect(dueAt(record, SETTINGS)).toBe(2_000_000);
    expect(dueAlerts(record, SETTINGS, 2_000_000)).toEqual([{ reason: "not_finished", ring: 1, pending: ["index"] }]);
  });
});

describe("dueAlerts", () => {
  test.each([
    ["before the watch", STATES["event only"], 1_899_999, []],
    ["at the watch", STATES["event only"], 1_900_000, [{ reason: "not_finished", ring: 1, pending: ["index"] }]],
    ["under a live lease", recordOf({ ...CLAIMED, leaseExpiresAt: 2_500_000 }), 2_499_999, []],
    [
      "at the lease's end",
      recordOf({ ...CLAIMED, leaseExpiresAt: 2_500_000 }),
      2_500_000,
      [{ reason: "not_finished", ring: 1, pending: ["index"] }],
    ],
    ["before a retry", recordOf({ ...RELEASED, retryAt: 2_500_000 }), 2_499_999, []],
    [
      "after four",
      watched(STATES.released, 4, 3_000_000),
      3_000_000,
      [{ reason: "not_finished", ring: 5, pending: ["index"] }],
    ],
    ["of a finished job", DONE, 9_000_000_000, []],
    ["of a failed job", STATES.failed, 9_000_000_000, []],
    ["before the deadline", expecting(700_000), 699_999, []],
    ["at the deadline", expecting(700_000), 700_000, [{ reason: "not_arrived", ring: 1, pending: [] }]],
    ["called off", called("ann"), 9_000_000_000, []],
    ["of an unsent conflict", unsent(DONE), 1_005_000, [{ reason: "conflict", ring: 1, pending: [] }]],
  ])("%s", (_, record, now, alerts) => {
    expect(dueAlerts(record, SETTINGS, now)).toEqual(alerts);
  });
});

describe("rung", () => {
  test("pauses grow from the first to a day, and never end", () => {
    let record = STATES["event only"];
    const pauses: number[] = [];
    for (let count = 0; count < 12; count++) {
      const now = dueAt(record, SETTINGS) ?? Number.NaN;
      record = ring(record, now);
      pauses.push((dueAt(record, SETTINGS) ?? Number.NaN) - now);
    }
    const minutes = pauses.map((pause) => pause / 60_000);
    expect(minutes).toEqual([15, 30, 60, 120, 240, 480, 960, 1_440, 1_440, 1_440, 1_440, 1_440]);
    expect(record.job?.watch?.rings).toBe(12);
  });

  test("changes nothing where nothing was due", () => {
    expect(ring(STATES["event only"], 1_899_999)).toBe(STATES["event only"]);
  });

  test("a settle that lands while the alert is on its way is not overwritten, and needs no further alert", () => {
    const seen = STATES.claimed;
    const { record } = complete(
      seen,
      { consumer: "index", token: "held", result: null, dispatchedTo: null },
      1_900_001,
    );
    const after = ring(record, 1_900_002, seen);
    expect(after).toBe(record);
    expect(claimIn(after)?.status).toBe("completed");
  });

  test("a claim that lands while the alert is on its way is not overwritten, and the ring counts", () => {
    const seen = STATES["event only"];
    const { record } = claim(seen, claimCommand("t"), 1_900_001);
    const after = ring(record, 1_900_002, seen);
    expect(after.claims).toBe(record.claims);
    expect(claimIn(after)?.status).toBe("claimed");
    // Its lease ends before the pause does, and nobody else is waited for.
    expect(after.job?.watch).toEqual({ reason: "not_finished", rings: 1, nextAt: 1_930_001 });
  });

  test("a reopening that lands while the alert is on its way rings again at once", () => {
    const seen = watched(STATES["event only"], 2, 1_950_000);
    const failed = { ...seen, claims: new Map(seen.claims).set("index", FAILED) };
    const { record } = reopen(failed, { actor: "ann", consumer: "index", eventType: null }, 1_950_001);
    const after = ring(record, 1_950_002, seen);
    expect(after).toBe(record);
    expect(dueAt(after, SETTINGS)).toBe(1_950_001);
  });

  test("an event that arrives while its absence is alerted starts the watch afresh", () => {
    const seen = expecting(700_000);
    const command = {
      ...claimCommand("t"),
      event: { type: "job.completed", source: "webhook", bytes: 2, alerted: true } as const,
    };
    const { record } = claim(seen, command, 700_001);
    const after = ring(record, 700_002, seen);
    expect(after).toBe(record);
    expect(dueAt(after, SETTINGS)).toBe(1_600_001);
    expect(dueAlerts(after, SETTINGS, 1_600_001)).toMatchObject([{ reason: "not_finished", ring: 1 }]);
  });

  test("marks a conflict's alert as sent, but not that of an event which came meanwhile", () => {
    const seen = unsent(DONE);
    const third = { ...SECOND_EVENT, type: "job.expired", order: 2, alerted: false };
    const now = { ...seen, events: [...seen.events, third] };
    const after = ring(now, 1_006_000, seen);
    expect(after.events.map(({ type, alerted }) => [type, alerted])).toEqual([
      ["job.completed", true],
      ["job.failed", true],
      ["job.expired", false],
    ]);
  });
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
    ["a second event of a finished job", DONE, { ...DONE, events: [EVENT, SECOND_EVENT] }, false],
    ["a second event that could not be told", DONE, unsent(DONE), true],
    [
      "a release before a lease that the alarm was waiting for",
      recordOf({ ...CLAIMED, leaseExpiresAt: 2_500_000 }),
      release(
        recordOf({ ...CLAIMED, leaseExpiresAt: 2_500_000 }),
        { ...index, error: null, retryAfterMs: 0, permanent: false },
        2_000_000,
      ).record,
      true,
    ],
    ["a nearer deadline", expecting(700_000), expecting(600_000), true],
    ["the expected event", expecting(700_000), first(), true],
  ])("%s: %#", (_, before, after, moves) => {
    expect(alarmMoves(before, after, SETTINGS)).toBe(moves);
  });
});

describe("cleanup", () => {
  test.each([
    ["before its time", DONE, 2_593_019_999, false],
    ["at its time", DONE, 2_593_020_000, true],
    [
      "after a second event, before its time",
      { ...DONE, events: [EVENT, { ...SECOND_EVENT, receivedAt: 1_500_000 }] },
      2_593_499_999,
      false,
    ],
    [
      "after a second event, at its time",
      { ...DONE, events: [EVENT, { ...SECOND_EVENT, receivedAt: 1_500_000 }] },
      2_593_500_000,
      true,
    ],
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

describe("expire", () => {
  test.each([
    ["the last attempt, before its lease ends", STATES["claimed, last attempt"], 1_059_999, "claimed"],
    ["the last attempt, at its lease's end", STATES["claimed, last attempt"], 1_060_000, "failed"],
    ["an attempt with more to come", STATES.claimed, 9_000_000, "claimed"],
    ["an attempt without limit", STATES["claimed, no limit"], 9_000_000, "claimed"],
  ])("%s", (_, record, now, status) => {
    const after = expire(record, now);
    expect(claimIn(after)?.status).toBe(status);
    expect(after === record).toBe(status === "claimed");
  });

  test("shows why", () => {
    expect(claimIn(expire(STATES["claimed, last attempt"], 1_070_000))).toEqual(EXHAUSTED);
  });
});

function called(cancelledBy: string): JobRecord {
  return expecting(700_000, { expectation: { by: "app", setAt: 500_000, dueAt: 700_000, cancelledBy } });
}

function unsent(record: JobRecord): JobRecord {
  return { ...record, events: [EVENT, { ...SECOND_EVENT, alerted: false }] };
}

function first(): JobRecord {
  const event = { type: "job.completed", source: "webhook", bytes: 18, alerted: true } as const;
  return claim(EMPTY_RECORD, { ...claimCommand("held"), event }, 1_000_000).record;
}
