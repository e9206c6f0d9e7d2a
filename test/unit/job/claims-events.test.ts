// A second event type for the same job: kept beside the first, flagged to the caller, and without any say in the job's
// outcome.

import { describe, expect, test } from "vitest";
import { EMPTY_RECORD } from "../../../ledger-service/src/job/record.ts";
import { claim } from "../../../ledger-service/src/job/claims.ts";
import { claimCommand, claimIn, EVENT, OTHER_EVENT, SAME_EVENT, type StateName, STATES } from "./states.ts";

const event = (type: string) => ({ type, source: "webhook", bytes: 1, alerted: true }) as const;
const withEvent = (token: string, brought: typeof SAME_EVENT | typeof OTHER_EVENT) => ({
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
      { type: "job.failed", order: 1, source: "poll", receivedAt: now, bytes: 15, alerted: true },
    ]);
    expect(decided.record.claims).toEqual(without.record.claims);
  });

  test.each(STATES_AND_OUTCOMES)("%s, at %i, a second time: the conflict again, kept once", (state, now) => {
    const first = claim(STATES[state], withEvent("another", OTHER_EVENT), now);
    const again = claim(first.record, withEvent("another", OTHER_EVENT), now);
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

  test("the same type with other bytes or from another source is the same event", () => {
    const command = {
      ...claimCommand("a"),
      event: { type: "job.completed", source: "poll", bytes: 999, alerted: true } as const,
    };
    const decided = claim(STATES.completed, command, 1_030_000);
    expect(decided.outcome).not.toHaveProperty("conflict");
    expect(decided.record).toBe(STATES.completed);
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
