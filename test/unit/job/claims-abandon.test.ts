// What an operator's `abandon` does: it ends the wait for a consumer that will never finish, or never come.

import { describe, expect, test } from "vitest";
import type { AbandonOutcome } from "../../../ledger-service/contract/index.ts";
import { abandon, claim, complete, reopen } from "../../../ledger-service/src/job/claims.ts";
import { unfinished } from "../../../ledger-service/src/job/record.ts";
import { ABANDONED, claimCommand, claimIn, EXHAUSTED, type StateName, STATES } from "./states.ts";

const ann = { actor: "ann", consumer: "index" };

const TABLE: [state: StateName, outcome: AbandonOutcome, effect: "unchanged" | "abandoned"][] = [
  ["no record", { outcome: "unknown" }, "unchanged"],
  ["event only", { outcome: "abandoned" }, "abandoned"],
  ["claimed", { outcome: "abandoned" }, "abandoned"],
  ["claimed, last attempt", { outcome: "abandoned" }, "abandoned"],
  ["claimed, no limit", { outcome: "abandoned" }, "abandoned"],
  ["released", { outcome: "abandoned" }, "abandoned"],
  ["reopened", { outcome: "abandoned" }, "abandoned"],
  ["completed", { outcome: "ended", status: "completed" }, "unchanged"],
  ["failed", { outcome: "ended", status: "failed" }, "unchanged"],
  ["exhausted", { outcome: "ended", status: "failed" }, "unchanged"],
  ["abandoned", { outcome: "abandoned" }, "unchanged"],
];

describe("abandon", () => {
  test.each(TABLE)("%s: %o", (state, outcome, effect) => {
    const before = STATES[state];
    const decided = abandon(before, ann, 1_030_000);
    expect(decided.outcome).toEqual(outcome);
    expect(decided.record === before).toBe(effect === "unchanged");
    if (effect === "unchanged") return;
    expect(claimIn(decided.record)).toMatchObject({ status: "abandoned", by: "ann", abandonedAt: 1_030_000 });
    expect(claimIn(decided.record)?.history.at(-1)).toMatchObject({ at: 1_030_000, actor: "ann", verb: "abandon" });
    expect(unfinished(decided.record)).toEqual([]);
  });

  test("a claim that is held keeps all but its status", () => {
    expect(claimIn(abandon(STATES.claimed, ann, 1_030_000).record)).toEqual(ABANDONED);
  });

  test("a consumer that never claimed is on the record as one that made no attempt", () => {
    expect(claimIn(abandon(STATES["event only"], ann, 1_030_000).record)).toMatchObject({
      attempt: 0,
      fence: 0,
      round: 1,
      token: null,
    });
  });

  test("a claim that was to be retried keeps its error in the history", () => {
    const { record } = abandon(STATES.released, ann, 1_030_000);
    expect(claimIn(record)?.history.at(-1)).toEqual({
      at: 1_030_000,
      actor: "ann",
      verb: "abandon",
      status: "abandoned",
      attempt: 1,
      error: "disk full",
    });
  });

  test("one that nobody sent a message to is unknown", () => {
    const { record, outcome } = abandon(STATES.claimed, { actor: "ann", consumer: "nobody" }, 1_030_000);
    expect(outcome).toEqual({ outcome: "unknown" });
    expect(record).toBe(STATES.claimed);
  });

  test("what its open attempt finishes counts all the same", () => {
    const { record } = abandon(STATES.claimed, ann, 1_030_000);
    const late = complete(record, { consumer: "index", token: "held", result: null, dispatchedTo: null }, 1_040_000);
    expect(late.outcome).toEqual({ outcome: "ok", status: "completed" });
  });

  test.each(["released", "reopened"] as const)("of a claim that is %s leaves nobody who may settle it", (state) => {
    const { record } = abandon(STATES[state], ann, 1_030_000);
    const late = complete(record, { consumer: "index", token: "held", result: null, dispatchedTo: null }, 1_040_000);
    expect(late).toEqual({ record, outcome: { outcome: "stale", reason: "no_claim" } });
  });

  test("a holder that died on its last attempt has failed, and is told so", () => {
    const { record, outcome } = abandon(STATES["claimed, last attempt"], ann, 1_070_000);
    expect(outcome).toEqual({ outcome: "ended", status: "failed" });
    expect(claimIn(record)).toEqual(EXHAUSTED);
  });

  test("is undone by reopen, whose first attempt has the higher fence", () => {
    const { record } = abandon(STATES.claimed, ann, 1_030_000);
    const opened = reopen(record, { ...ann, eventType: null, refresh: false }, 1_040_000);
    expect(opened.outcome).toEqual({ outcome: "reopened" });
    expect(claim(opened.record, claimCommand("new"), 1_040_000).outcome).toMatchObject({
      attempt: 1,
      fence: 1_040_000,
    });
  });
});
