// How the watch changes state: announcing an event and calling it off, and what is kept of an alert that was sent. Outcomes at
// literal times.

import { describe, expect, test } from "vitest";
import { claim, complete, reopen } from "../../../ledger-service/src/job/claims.ts";
import { type ClaimEntry, EMPTY_RECORD, EMPTY_WATCH, type JobRecord } from "../../../ledger-service/src/job/record.ts";
import { dueAlerts, dueAt, nextRing, type Settings } from "../../../ledger-service/src/job/schedule.ts";
import { alerted, cancelExpectation, expectEvent } from "../../../ledger-service/src/job/watch.ts";
import { CLAIMED, claimCommand, claimIn, FAILED, recordOf, SAME_EVENT, SECOND_EVENT, EVENT, STATES } from "./states.ts";

const SETTINGS: Settings = { retentionMs: 2_592_000_000, watchAfterMs: 900_000, graceMs: 300_000 };
const MINUTE = 60_000;

const expectation = { by: "app", setAt: 1_000, dueAt: 61_000, cancelledBy: null, round: 1 };
const expected: JobRecord = {
  ...EMPTY_RECORD,
  watch: { ...EMPTY_WATCH, expectations: [expectation], changedAt: 1_000 },
};
const rungTwice: JobRecord = {
  ...expected,
  watch: {
    ...EMPTY_WATCH,
    expectations: [expectation],
    calls: [{ reason: "not_arrived", consumer: "app", round: 1, rings: 2, nextAt: 999_000 }],
    changedAt: 99_000,
  },
};

/** Sends what is due at `now`; the record may have changed by the time it is sent. */
const ring = (seen: JobRecord, decidedAt: number, { record = seen, now = decidedAt } = {}) =>
  alerted(record, { alerts: dueAlerts(seen, SETTINGS, decidedAt), settings: SETTINGS, now });

describe("expectEvent", () => {
  test("of a job that is not known keeps the deadline", () => {
    const { record, outcome } = expectEvent(EMPTY_RECORD, { consumer: "app", withinMs: 60_000 }, 1_000);
    expect(outcome).toEqual({ outcome: "expected", dueAt: 61_000 });
    expect(record).toEqual(expected);
  });

  test.each([
    ["a later one", 70_000],
    ["the same one", 60_000],
  ])("%s of the same consumer changes nothing: the earlier deadline stays", (_, withinMs) => {
    const { record, outcome } = expectEvent(expected, { consumer: "app", withinMs }, 1_000);
    expect(outcome).toEqual({ outcome: "expected", dueAt: 61_000 });
    expect(record).toBe(expected);
  });

  test("an earlier one of the same consumer takes its place, and counts its own alerts", () => {
    const { record, outcome } = expectEvent(rungTwice, { consumer: "app", withinMs: 10_000 }, 2_000);
    expect(outcome).toEqual({ outcome: "expected", dueAt: 12_000 });
    expect(record.watch).toEqual({
      ...EMPTY_WATCH,
      expectations: [{ by: "app", setAt: 2_000, dueAt: 12_000, cancelledBy: null, round: 2 }],
      calls: rungTwice.watch?.calls,
      changedAt: 2_000,
    });
  });

  test("another consumer's stands beside it", () => {
    const { record, outcome } = expectEvent(rungTwice, { consumer: "other", withinMs: 3_600_000 }, 2_000);
    expect(outcome).toEqual({ outcome: "expected", dueAt: 3_602_000 });
    expect(record.watch?.expectations.map(({ by }) => by)).toEqual(["app", "other"]);
    expect(record.watch?.calls).toEqual(rungTwice.watch?.calls);
  });

  test("of an event that is there changes nothing", () => {
    const { record, outcome } = expectEvent(STATES.claimed, { consumer: "app", withinMs: 60_000 }, 1_000);
    expect(outcome).toEqual({ outcome: "arrived" });
    expect(record).toBe(STATES.claimed);
  });

  test("after it was called off begins anew", () => {
    const { record: off } = cancelExpectation(expected, { consumer: "app", actor: "app" }, 2_000);
    const { record, outcome } = expectEvent(off, { consumer: "app", withinMs: 900_000 }, 3_000);
    expect(outcome).toEqual({ outcome: "expected", dueAt: 903_000 });
    expect(record.watch?.expectations).toEqual([
      { by: "app", setAt: 3_000, dueAt: 903_000, cancelledBy: null, round: 2 },
    ]);
  });
});

describe("cancelExpectation", () => {
  const { record: both } = expectEvent(expected, { consumer: "other", withinMs: 120 * MINUTE }, 1_000);

  test("calls off one's own alone: the alarm falls back to the other's deadline", () => {
    expect(dueAt(both, SETTINGS)).toBe(61_000);
    const { record, outcome } = cancelExpectation(both, { consumer: "app", actor: "app" }, 2_000);
    expect(outcome).toEqual({ outcome: "cancelled" });
    expect(record.watch?.expectations.map(({ by, cancelledBy }) => [by, cancelledBy])).toEqual([
      ["app", "app"],
      ["other", null],
    ]);
    expect(dueAt(record, SETTINGS)).toBe(1_000 + 120 * MINUTE);
    const { record: rest } = cancelExpectation(record, { consumer: "other", actor: "other" }, 3_000);
    expect(nextRing(rest, SETTINGS)).toBeNull();
  });

  test("by an operator calls off all", () => {
    const { record, outcome } = cancelExpectation(both, { consumer: null, actor: "ann" }, 2_000);
    expect(outcome).toEqual({ outcome: "cancelled" });
    expect(record.watch?.expectations.map(({ cancelledBy }) => cancelledBy)).toEqual(["ann", "ann"]);
  });

  test("by an operator leaves on the record who called off before", () => {
    const { record: off } = cancelExpectation(both, { consumer: "app", actor: "app" }, 2_000);
    const { record } = cancelExpectation(off, { consumer: null, actor: "ann" }, 3_000);
    expect(record.watch?.expectations.map(({ by, cancelledBy }) => [by, cancelledBy])).toEqual([
      ["app", "app"],
      ["other", "ann"],
    ]);
  });

  test.each([
    ["where nothing was expected", EMPTY_RECORD],
    ["by one who expected nothing", expected],
  ])("%s", (_, before) => {
    const { record, outcome } = cancelExpectation(before, { consumer: "mail", actor: "mail" }, 1_000);
    expect(outcome).toEqual({ outcome: "none" });
    expect(record).toBe(before);
  });

  test("once the event is there", () => {
    const { record: arrived } = claim(
      expected,
      { ...claimCommand("t"), event: { ...SAME_EVENT, differs: true } },
      2_000,
    );
    const { record, outcome } = cancelExpectation(arrived, { consumer: "app", actor: "app" }, 3_000);
    expect(outcome).toEqual({ outcome: "arrived" });
    expect(record).toBe(arrived);
  });

  test("twice is the same as once", () => {
    const { record: once } = cancelExpectation(expected, { consumer: "app", actor: "app" }, 2_000);
    const { record, outcome } = cancelExpectation(once, { consumer: "app", actor: "app" }, 3_000);
    expect(outcome).toEqual({ outcome: "cancelled" });
    expect(record).toBe(once);
  });
});

describe("alerted", () => {
  test("pauses grow from the first to a day, and never end", () => {
    let record = STATES["event only"];
    const pauses: number[] = [];
    for (let count = 0; count < 12; count++) {
      const now = dueAt(record, SETTINGS) ?? Number.NaN;
      record = ring(record, now);
      pauses.push((dueAt(record, SETTINGS) ?? Number.NaN) - now);
    }
    const minutes = pauses.map((pause) => pause / MINUTE);
    expect(minutes).toEqual([15, 30, 60, 120, 240, 480, 960, 1_440, 1_440, 1_440, 1_440, 1_440]);
    expect(nextRing(record, SETTINGS)?.rings).toBe(12);
  });

  test("changes nothing where nothing was due", () => {
    expect(ring(STATES["event only"], 1_899_999)).toBe(STATES["event only"]);
  });

  test("a settle that lands while the alert is on its way is not overwritten, and needs no further alert", () => {
    const seen = STATES["event only"];
    const { record: claimed } = claim(seen, claimCommand("t"), 1_900_001);
    const end = { consumer: "index", token: "t", result: null, dispatchedTo: null };
    const { record } = complete(claimed, end, 1_900_001);
    const after = ring(seen, 1_900_000, { record, now: 1_900_002 });
    expect(after).toBe(record);
    expect(claimIn(after)?.status).toBe("completed");
  });

  test("a claim that lands while the alert is on its way is not overwritten, and the alert counts", () => {
    const seen = STATES["event only"];
    const { record } = claim(seen, claimCommand("t"), 1_900_001);
    const after = ring(seen, 1_900_000, { record, now: 1_900_002 });
    expect(after.claims).toBe(record.claims);
    expect(nextRing(after, SETTINGS)).toEqual({ at: 2_800_002, reason: "not_finished", rings: 1 });
  });

  test("who becomes due while an alert is on its way is due by himself, not after the pause of the others", () => {
    const waiting = recordOf({ ...CLAIMED, leaseExpiresAt: 1_601_000 });
    const receiver = waiting.claims.get("receiver");
    if (receiver === undefined) throw new Error("no receiver");
    const claims = new Map(waiting.claims).set("receiver", { ...receiver, dispatchedTo: ["index", "mail"] });
    const seen: JobRecord = { ...waiting, claims };
    // «mail» never claimed; the lease of «index» ends, its grace over at 1_901_000, while the queue takes 1.5 s.
    expect(dueAlerts(seen, SETTINGS, 1_900_000)).toMatchObject([{ ring: 1, pending: ["mail"] }]);
    const after = ring(seen, 1_900_000, { now: 1_901_500 });
    expect(dueAt(after, SETTINGS)).toBe(1_901_000);
    expect(dueAlerts(after, SETTINGS, 1_901_501)).toMatchObject([{ ring: 1, pending: ["index"] }]);
    expect(nextRing(ring(after, 1_901_501), SETTINGS)).toMatchObject({ at: 2_801_500, rings: 1 });
  });

  test("one consumer that renews makes the watch ring for nobody else: 15, 30 and 60 minutes", () => {
    const start = recordOf({ ...CLAIMED, leaseExpiresAt: Number.MAX_SAFE_INTEGER });
    const receiver = start.claims.get("receiver");
    if (receiver === undefined) throw new Error("no receiver");
    let record: JobRecord = {
      ...start,
      claims: new Map(start.claims).set("receiver", { ...receiver, dispatchedTo: ["index", "mail"] }),
    };
    const rings: unknown[] = [];
    for (let minute = 0; minute <= 60; minute++) {
      const now = 1_000_000 + minute * MINUTE;
      // Every two minutes «index» holds a lease of four more.
      const lease = { ...CLAIMED, leaseExpiresAt: now + (4 - (minute % 2)) * MINUTE };
      record = { ...record, claims: new Map(record.claims).set("index", lease) };
      for (const alert of dueAlerts(record, SETTINGS, now)) rings.push([minute, alert.ring, alert.pending]);
      record = ring(record, now);
    }
    expect(rings).toEqual([
      [15, 1, ["mail"]],
      [30, 2, ["mail"]],
      [60, 3, ["mail"]],
    ]);
  });

  test("a reopening that lands while the alert is on its way is due at once, and counts anew", () => {
    const called = ring(ring(STATES["event only"], 1_900_000), 2_800_000);
    const failed = { ...called, claims: new Map(called.claims).set("index", FAILED) };
    const { record } = reopen(failed, { actor: "ann", consumer: "index", eventType: null, refresh: false }, 4_600_001);
    const after = ring(called, 4_600_000, { record, now: 4_600_002 });
    expect(dueAt(after, SETTINGS)).toBe(4_600_001);
    expect(dueAlerts(after, SETTINGS, 4_600_002)).toMatchObject([{ ring: 1, pending: ["index"] }]);
    expect(nextRing(ring(after, 4_600_002), SETTINGS)).toEqual({ at: 5_500_002, reason: "not_finished", rings: 1 });
  });

  test("a reopening is due at once with the first ring, by a clock that has stepped back too", () => {
    const called = ring(ring(STATES["event only"], 1_900_000), 2_800_000);
    const failed = { ...called, claims: new Map(called.claims).set("index", FAILED) };
    const reopening = { actor: "ann", consumer: "index", eventType: null, refresh: true };
    const { record } = reopen(failed, reopening, 1_500_000);
    expect(dueAlerts(record, SETTINGS, 1_500_000)).toMatchObject([{ ring: 1, refresh: true }]);
    expect(dueAlerts(ring(record, 1_500_000), SETTINGS, 1_500_000)).toEqual([]);
  });

  test("of whoever was dispatched to counts anew when the dispatcher was reopened and has finished", () => {
    const called = ring(ring(STATES["event only"], 1_900_000), 2_800_000);
    const by = { consumer: "receiver", token: "again", result: null };
    const { record: opened } = reopen(
      called,
      { actor: "ann", consumer: "receiver", eventType: null, refresh: false },
      3_000_000,
    );
    const { record: claimed } = claim(opened, { ...claimCommand("again"), consumer: "receiver" }, 3_000_000);
    const { record } = complete(claimed, { ...by, dispatchedTo: ["index"] }, 3_000_000);
    expect(nextRing(record, SETTINGS)).toEqual({ at: 3_300_000, reason: "not_finished", rings: 0 });
  });

  test("who is sent his first message late is given time for it", () => {
    const late = { consumer: "receiver", token: "receivers", result: null, dispatchedTo: ["index"] };
    const held: ClaimEntry = { ...CLAIMED, consumer: "receiver", token: "receivers", maxAttempts: null };
    const { record } = complete({ ...recordOf(null), claims: new Map([["receiver", held]]) }, late, 4_000_000);
    expect(nextRing(record, SETTINGS)?.at).toBe(4_300_000);
    expect(nextRing(record, { ...SETTINGS, watchAfterMs: 1_500 })?.at).toBe(4_001_500);
  });

  test("a nearer deadline that is set while the alert is on its way is kept", () => {
    const { record } = expectEvent(rungTwice, { consumer: "other", withinMs: 10_000 }, 999_001);
    const after = ring(rungTwice, 999_000, { record, now: 999_002 });
    expect(dueAt(after, SETTINGS)).toBe(1_009_001);
  });

  test("a deadline that is called off and set anew while its alert is on its way counts anew", () => {
    const { record: off } = cancelExpectation(rungTwice, { consumer: "app", actor: "app" }, 999_001);
    const { record } = expectEvent(off, { consumer: "app", withinMs: 10_000 }, 999_001);
    const after = ring(rungTwice, 999_000, { record, now: 999_002 });
    expect(after).toBe(record);
    expect(nextRing(after, SETTINGS)).toEqual({ at: 1_009_001, reason: "not_arrived", rings: 0 });
  });

  test("an event that arrives while its absence is alerted starts the watch afresh", () => {
    const command = { ...claimCommand("t"), event: { ...SAME_EVENT, differs: true } };
    const { record } = claim(expected, command, 61_001);
    const after = ring(expected, 61_000, { record, now: 61_002 });
    expect(after).toBe(record);
    expect(nextRing(after, SETTINGS)).toEqual({ at: 961_001, reason: "not_finished", rings: 0 });
  });

  test("of a conflict is sent once, and another for an event that came meanwhile", () => {
    const seen: JobRecord = { ...STATES.failed, events: [EVENT, SECOND_EVENT] };
    const third = { ...SECOND_EVENT, type: "job.expired", order: 2 };
    const now: JobRecord = { ...seen, events: [...seen.events, third] };
    const after = ring(seen, 1_006_000, { record: now });
    expect(dueAlerts(after, SETTINGS, 1_006_000)).toMatchObject([{ reason: "conflict" }]);
    expect(dueAlerts(ring(after, 1_006_000), SETTINGS, 1_006_000)).toEqual([]);
  });

  test("asks for a fresh event with the first alert of a claim that was reopened for one, and not again", () => {
    const reopening = { actor: "ann", consumer: "index", eventType: null, refresh: true };
    const { record } = reopen(STATES.failed, reopening, 2_000_000);
    expect(dueAlerts(record, SETTINGS, 2_000_000)).toMatchObject([{ ring: 1, pending: ["index"], refresh: true }]);
    const after = ring(record, 2_000_001);
    expect(dueAlerts(after, SETTINGS, 9_000_000)).not.toMatchObject([{ refresh: true }]);
  });
});
