// A second event type for the same job: kept beside the first, flagged to the caller, and without any say in the job's
// outcome. And another body of a type that is known.

import { describe, expect, test } from "vitest";
import type { BroughtEvent } from "../../../ledger-service/src/job/events.ts";
import { EMPTY_RECORD, type EventEntry, type JobRecord } from "../../../ledger-service/src/job/record.ts";
import { claim } from "../../../ledger-service/src/job/claims.ts";
import {
  claimCommand,
  claimIn,
  COMPLETED,
  EVENT,
  OTHER_EVENT,
  recordOf,
  SAME_EVENT,
  type StateName,
  STATES,
} from "./states.ts";

const event = (type: string) => ({ type, source: "webhook", bytes: 1, differs: true }) as const;
const withEvent = (token: string, brought: BroughtEvent) => ({
  ...claimCommand(token),
  event: brought,
});

const STATES_AND_OUTCOMES: [state: Exclude<StateName, "no record">, now: number, outcome: string][] = [
  ["event only", 1_000_500, "claimed"],
  ["claimed", 1_059_999, "in_progress"],
  ["claimed", 1_060_000, "claimed"],
  ["claimed, last attempt", 1_060_000, "failed"],
  ["claimed, no limit", 1_060_000, "claimed"],
  ["released", 1_039_999, "deferred"],
  ["released", 1_040_000, "claimed"],
  ["reopened", 1_030_000, "claimed"],
  ["completed", 1_020_000, "completed"],
  ["failed", 1_020_000, "failed"],
  ["exhausted", 1_070_000, "failed"],
  ["abandoned", 1_030_000, "failed"],
];

describe("a second event type", () => {
  test.each(STATES_AND_OUTCOMES)("%s, at %i: the job's outcome (%s) and a conflict", (state, now, outcome) => {
    const before = STATES[state];
    const without = claim(before, claimCommand("another"), now);
    const decided = claim(before, withEvent("another", OTHER_EVENT), now);
    expect(decided.outcome).toEqual({
      ...without.outcome,
      outcome,
      conflict: { recorded: "job.completed", received: "job.failed" },
    });
    expect(decided.record.events).toEqual([
      EVENT,
      { type: "job.failed", order: 1, source: "poll", receivedAt: now, bytes: 15, replaced: [] },
    ]);
    expect(decided.record.claims).toEqual(without.record.claims);
  });

  test.each(STATES_AND_OUTCOMES)("%s, at %i, a second time: the conflict again, kept once", (state, now) => {
    const first = claim(STATES[state], withEvent("another", OTHER_EVENT), now);
    const again = claim(first.record, withEvent("another", { ...OTHER_EVENT, differs: false }), now);
    expect(again.outcome).toEqual(first.outcome);
    expect(again.record).toBe(first.record);
  });

  test("the first type again, after the second, is no conflict", () => {
    const { record } = claim(STATES.completed, withEvent("another", OTHER_EVENT), 1_030_000);
    const again = claim(record, withEvent("another", SAME_EVENT), 1_030_001);
    expect(again.outcome).not.toHaveProperty("conflict");
    expect(again.record).toBe(record);
  });

  test("a claim is given the first event, whichever type it brought", () => {
    const { outcome, record } = claim(STATES["event only"], withEvent("a", OTHER_EVENT), 1_000_500);
    expect(outcome).toMatchObject({ outcome: "claimed", eventType: "job.completed" });
    expect(claimIn(record)).toMatchObject({ eventType: "job.completed" });
  });
});

const newest = (now: number): EventEntry => ({ ...EVENT, bytes: 99, replaced: [{ at: now, bytes: 18 }] });

/** The job, with an event that was only polled. */
const polled = (record: JobRecord): JobRecord => ({ ...record, events: [{ ...EVENT, source: "poll" }] });

describe("another body of a known type", () => {
  const NEWER = { type: "job.completed", source: "webhook", bytes: 99, differs: true } as const;
  const DONE = recordOf({ ...COMPLETED, dispatchedTo: [] });

  test.each<[string, JobRecord, now: number]>([
    ["a consumer has not claimed", STATES["event only"], 1_000_500],
    ["a consumer is at work", STATES.claimed, 1_010_000],
    ["a consumer is to try again", STATES.released, 1_010_000],
    ["a claim was reopened", STATES.reopened, 1_030_000],
    ["whom it was dispatched to has not claimed", STATES.completed, 1_030_000],
  ])("takes the older one's place while %s", (_, before, now) => {
    const { record, outcome } = claim(polled(before), { ...withEvent("r", NEWER), consumer: "receiver" }, now);
    expect(record.events).toEqual([newest(now)]);
    expect(outcome).toMatchObject({ outcome: "completed" });
    expect(outcome).not.toHaveProperty("conflict");
  });

  test.each<[string, JobRecord]>([
    ["everybody has finished", DONE],
    ["the last one failed", STATES.failed],
    ["the last one was abandoned", STATES.abandoned],
  ])("is not kept once %s", (_, before) => {
    expect(claim(before, withEvent("a", NEWER), 1_040_000).record).toBe(before);
  });

  test("does not take the place of what Sume signed, if it was only polled; it does of what was polled", () => {
    const asked = withEvent("r", { ...NEWER, source: "poll" });
    const signed = STATES["event only"];
    expect(claim(signed, { ...asked, consumer: "receiver" }, 1_000_500).record).toBe(signed);
    const { record } = claim(polled(signed), { ...asked, consumer: "receiver" }, 1_000_500);
    expect(record.events).toEqual([{ ...newest(1_000_500), source: "poll" }]);
  });

  test("of a second type takes that type's place, and is the same conflict", () => {
    const { record: both } = claim(STATES.claimed, withEvent("a", OTHER_EVENT), 1_010_000);
    const { record, outcome } = claim(both, withEvent("a", { ...OTHER_EVENT, bytes: 16 }), 1_020_000);
    expect(record.events.map(({ type, bytes, replaced }) => [type, bytes, replaced.length])).toEqual([
      ["job.completed", 18, 0],
      ["job.failed", 16, 1],
    ]);
    expect(outcome).toMatchObject({ conflict: { recorded: "job.completed", received: "job.failed" } });
  });

  test("keeps the times and sizes of the last 20", () => {
    let record = STATES["event only"];
    for (let count = 1; count <= 21; count++) {
      ({ record } = claim(record, { ...withEvent("r", { ...NEWER, bytes: 100 + count }), consumer: "r" }, count));
    }
    expect(record.events[0]?.replaced.map(({ bytes }) => bytes)).toEqual([
      101,
      ...Array.from({ length: 19 }, (_, i) => 102 + i),
    ]);
    expect(record.events[0]).toMatchObject({ bytes: 121, receivedAt: 1_000_000 });
  });
});

describe("at most 4 event types", () => {
  test("the fourth is kept, the fifth is told as a conflict and forgotten", () => {
    let record = EMPTY_RECORD;
    for (const type of ["e1", "e2", "e3", "e4"]) {
      ({ record } = claim(record, { ...claimCommand("a"), event: event(type) }, 1_000_000));
    }
    expect(record.events.map(({ type, order }) => [type, order])).toEqual([
      ["e1", 0],
      ["e2", 1],
      ["e3", 2],
      ["e4", 3],
    ]);
    const fifth = claim(record, { ...claimCommand("a"), event: event("e5") }, 1_000_000);
    expect(fifth.record).toBe(record);
    expect(fifth.outcome).toMatchObject({ outcome: "claimed", conflict: { recorded: "e1", received: "e5" } });
  });

  test.each(["constructor", "__proto__", "toString", "é", "job.completed "])("%j is a type like any other", (type) => {
    const { record, outcome } = claim(STATES.completed, { ...claimCommand("a"), event: event(type) }, 1_030_000);
    expect(record.events.map((kept) => kept.type)).toEqual(["job.completed", type]);
    expect(outcome).toMatchObject({ conflict: { recorded: "job.completed", received: type } });
  });
});
