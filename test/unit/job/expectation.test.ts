// Announcing an event and calling it off: outcomes at literal times.

import { describe, expect, test } from "vitest";
import { cancelExpectation, expectEvent } from "../../../ledger-service/src/job/watch.ts";
import { EMPTY_RECORD, type JobRecord } from "../../../ledger-service/src/job/record.ts";
import { claim } from "../../../ledger-service/src/job/claims.ts";
import { claimCommand, SAME_EVENT, STATES } from "./states.ts";

const expected: JobRecord = {
  ...EMPTY_RECORD,
  job: {
    expectation: { by: "app", setAt: 1_000, dueAt: 61_000, cancelledBy: null },
    watch: null,
    changedAt: 1_000,
  },
};
const rungTwice: JobRecord = {
  ...expected,
  job: {
    expectation: { by: "app", setAt: 1_000, dueAt: 61_000, cancelledBy: null },
    watch: { reason: "not_arrived", rings: 2, nextAt: 999_000 },
    changedAt: 99_000,
  },
};

describe("expectEvent", () => {
  test("of a job that is not known keeps the deadline", () => {
    const { record, outcome } = expectEvent(EMPTY_RECORD, { consumer: "app", withinMs: 60_000 }, 1_000);
    expect(outcome).toEqual({ outcome: "expected", dueAt: 61_000 });
    expect(record).toEqual(expected);
  });

  test.each([
    ["a later one", 70_000, 61_000],
    ["the same one", 60_000, 61_000],
  ])("%s changes nothing: the earlier deadline stays", (_, withinMs, dueAt) => {
    const { record, outcome } = expectEvent(expected, { consumer: "other", withinMs }, 1_000);
    expect(outcome).toEqual({ outcome: "expected", dueAt });
    expect(record).toBe(expected);
  });

  test("an earlier one takes the place, and belongs to who set it", () => {
    const { record, outcome } = expectEvent(rungTwice, { consumer: "other", withinMs: 10_000 }, 2_000);
    expect(outcome).toEqual({ outcome: "expected", dueAt: 12_000 });
    expect(record.job).toEqual({
      expectation: { by: "other", setAt: 2_000, dueAt: 12_000, cancelledBy: null },
      watch: null,
      changedAt: 2_000,
    });
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
    expect(record.job?.expectation?.cancelledBy).toBeNull();
  });
});

describe("cancelExpectation", () => {
  test.each([
    ["by who set it", "app", "app"],
    ["by an operator", null, "ann"],
  ])("%s", (_, consumer, actor) => {
    const { record, outcome } = cancelExpectation(rungTwice, { consumer, actor }, 100_000);
    expect(outcome).toEqual({ outcome: "cancelled" });
    expect(record.job).toMatchObject({ expectation: { by: "app", cancelledBy: actor }, watch: null });
  });

  test("by another consumer is refused", () => {
    const { record, outcome } = cancelExpectation(rungTwice, { consumer: "other", actor: "other" }, 100_000);
    expect(outcome).toEqual({ outcome: "not_yours", by: "app" });
    expect(record).toBe(rungTwice);
  });

  test("where nothing was expected", () => {
    const { record, outcome } = cancelExpectation(EMPTY_RECORD, { consumer: "app", actor: "app" }, 1_000);
    expect(outcome).toEqual({ outcome: "none" });
    expect(record).toBe(EMPTY_RECORD);
  });

  test("once the event is there", () => {
    const { record: arrived } = claim(expected, { ...claimCommand("t"), event: SAME_EVENT }, 2_000);
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
