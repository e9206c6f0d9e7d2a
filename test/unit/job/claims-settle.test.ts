// Who may settle a claim, how often and how late: the tables of `complete` and `release`. A stale owner changes nothing.

import { describe, expect, test } from "vitest";
import type { CompleteOutcome, ReleaseOutcome, Stale } from "../../../ledger-service/contract/index.ts";
import type { ClaimEntry, HistoryRecord, JobRecord } from "../../../ledger-service/src/job/record.ts";
import { claim, complete, release, type ReleaseCommand } from "../../../ledger-service/src/job/claims.ts";
import {
  ANY,
  cases,
  CLAIMED,
  claimCommand,
  claimIn,
  HELD,
  NOT_HELD,
  recordOf,
  type StateName,
  STATES,
  type Token,
} from "./states.ts";

const completion = (token: string) => ({
  consumer: "index",
  token,
  result: '{"rows":7}',
  dispatchedTo: ["archive", "mail"],
});
const releasing = (token: string, more: Partial<ReleaseCommand> = {}): ReleaseCommand => ({
  consumer: "index",
  token,
  error: "timeout",
  retryAfterMs: 30_000,
  permanent: false,
  ...more,
});

const taken: Stale = { outcome: "stale", reason: "taken" };
const settled: Stale = { outcome: "stale", reason: "settled" };
const noClaim: Stale = { outcome: "stale", reason: "no_claim" };

/** What a settle turns the claim it found into. */
function settledAs(found: ClaimEntry, end: Omit<HistoryRecord, "attempt" | "actor">): Kept & { token: string } {
  const { consumer, eventType, attempt, fence, maxAttempts, round, claimedAt, dispatchedTo } = found;
  const history = [...found.history, { ...end, actor: "index", attempt }];
  const kept = { consumer, eventType, attempt, fence, maxAttempts, round, claimedAt, dispatchedTo };
  return { ...kept, changedAt: end.at, history, token: "held" };
}
type Kept = Omit<ClaimEntry & { status: "reopened" }, "status" | "refresh">;

const completed = (found: ClaimEntry, at: number): ClaimEntry => ({
  ...settledAs(found, { at, verb: "complete", status: "completed" }),
  dispatchedTo: ["archive", "mail"],
  status: "completed",
  completedAt: at,
  result: '{"rows":7}',
});
const released = (found: ClaimEntry, at: number): ClaimEntry => ({
  ...settledAs(found, { at, verb: "release", status: "released", error: "timeout" }),
  status: "released",
  retryAt: at + 30_000,
  error: "timeout",
});
const failed = (found: ClaimEntry, at: number): ClaimEntry => ({
  ...settledAs(found, { at, verb: "release", status: "failed", error: "timeout" }),
  status: "failed",
  failedAt: at,
  error: "timeout",
  by: "release",
});
const retry = (retryAt: number): ReleaseOutcome => ({ outcome: "ok", status: "released", retryAt });

/** The claim that a case expects: made from the one that was found. */
type Next = "unchanged" | ((found: ClaimEntry, now: number) => ClaimEntry);
type Row<Outcome> = [state: StateName, tokens: Token[], times: number[], outcome: Outcome, next: Next];

const NEVER_THE_OWNER: Row<Stale>[] = [
  ["no record", ANY, [1, 1_000_000], noClaim, "unchanged"],
  ["event only", ANY, [1_000_500], noClaim, "unchanged"],
  ["claimed", NOT_HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], taken, "unchanged"],
  ["claimed, last attempt", NOT_HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], taken, "unchanged"],
  ["claimed, no limit", NOT_HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], taken, "unchanged"],
  ["released", NOT_HELD, [1_010_000, 1_039_999, 1_040_000, 1_040_001], taken, "unchanged"],
  ["reopened", ANY, [1_030_000, 1_030_001], noClaim, "unchanged"],
  ["completed", NOT_HELD, [1_020_000, 1_059_999, 1_060_000], taken, "unchanged"],
  ["failed", NOT_HELD, [1_020_000, 1_059_999, 1_060_000], taken, "unchanged"],
  ["exhausted", NOT_HELD, [1_070_000, 1_070_001], taken, "unchanged"],
  ["abandoned", NOT_HELD, [1_030_000, 1_060_001], taken, "unchanged"],
];

function expectNext(before: JobRecord, after: JobRecord, next: Next, now: number): void {
  const found = claimIn(before);
  expect(after === before).toBe(next === "unchanged");
  expect(claimIn(after)).toEqual(next === "unchanged" || found === undefined ? found : next(found, now));
}

describe("complete", () => {
  const ok: CompleteOutcome = { outcome: "ok", status: "completed" };
  const table: Row<CompleteOutcome>[] = [
    ...NEVER_THE_OWNER,
    // From 1_060_000 on the lease has run out and nobody has taken the claim.
    ["claimed", HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], ok, completed],
    ["claimed, last attempt", HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], ok, completed],
    ["claimed, no limit", HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], ok, completed],
    ["released", HELD, [1_010_000, 1_039_999, 1_040_000, 1_040_001], settled, "unchanged"],
    ["completed", HELD, [1_020_000, 1_059_999, 1_060_000], ok, "unchanged"],
    ["failed", HELD, [1_020_000, 1_059_999, 1_060_000], settled, "unchanged"],
    // Given up, not superseded: what the last attempt finished counts.
    ["exhausted", HELD, [1_070_000, 9_000_000], ok, completed],
    ["abandoned", HELD, [1_030_000, 9_000_000], ok, completed],
  ];

  test.each(cases(table))("%s, token %s, at %i: %o", (state, token, now, outcome, next) => {
    const before = STATES[state];
    const decided = complete(before, completion(token), now);
    expect(decided.outcome).toEqual(outcome);
    expectNext(before, decided.record, next, now);
  });

  test("without a result or a list keeps the list that was there", () => {
    const before = recordOf({ ...CLAIMED, dispatchedTo: ["archive"] });
    const { record } = complete(before, { ...completion("held"), result: null, dispatchedTo: null }, 1_050_000);
    expect(claimIn(record)).toMatchObject({ status: "completed", result: null, dispatchedTo: ["archive"] });
  });

  test("repeated changes neither the result nor the time", () => {
    const first = complete(STATES.claimed, completion("held"), 1_050_000);
    const again = complete(first.record, { ...completion("held"), result: '"other"' }, 1_050_001);
    expect(again).toEqual({ record: first.record, outcome: ok });
    expect(again.record).toBe(first.record);
  });

  test("late, after the attempts were used up, is found by the next claim, and repeatable", () => {
    const late = complete(STATES.exhausted, completion("held"), 1_080_000);
    expect(complete(late.record, completion("held"), 1_080_001).record).toBe(late.record);
    expect(claim(late.record, claimCommand("another"), 1_090_000).outcome).toEqual({
      outcome: "completed",
      attempt: 3,
      fence: 1_000_000,
      completedAt: 1_080_000,
      result: { rows: 7 },
      dispatchedTo: ["archive", "mail"],
    });
  });

  test("after a takeover leaves the new owner's claim, and its result, alone", () => {
    const takeover = claim(STATES.claimed, claimCommand("another"), 1_060_000);
    expect(complete(takeover.record, completion("held"), 1_060_001)).toEqual({
      record: takeover.record,
      outcome: taken,
    });
    const done = complete(takeover.record, completion("another"), 1_060_002);
    const stale = complete(done.record, { ...completion("held"), result: '"stale"' }, 1_060_003);
    expect(stale.outcome).toEqual(taken);
    expect(stale.record).toBe(done.record);
  });
});

describe("release", () => {
  const over: ReleaseOutcome = { outcome: "ok", status: "failed" };
  const onlyTheFirstCounts: Row<ReleaseOutcome>[] = [
    ...NEVER_THE_OWNER,
    ["released", HELD, [1_010_000, 1_039_999, 1_040_000, 1_040_001], retry(1_040_000), "unchanged"],
    ["completed", HELD, [1_020_000, 1_059_999, 1_060_000], settled, "unchanged"],
    ["failed", HELD, [1_020_000, 1_059_999, 1_060_000], over, "unchanged"],
    // A release after the attempts were used up: the ledger settled it, by another verb.
    ["exhausted", HELD, [1_070_000, 9_000_000], settled, "unchanged"],
    ["abandoned", HELD, [1_030_000, 9_000_000], settled, "unchanged"],
  ];
  const forLater: Row<ReleaseOutcome>[] = [
    ...onlyTheFirstCounts,
    ["claimed", HELD, [1_000_000], retry(1_030_000), released],
    ["claimed", HELD, [1_059_999], retry(1_089_999), released],
    ["claimed", HELD, [1_060_000], retry(1_090_000), released],
    ["claimed", HELD, [1_060_001], retry(1_090_001), released],
    ["claimed, no limit", HELD, [1_059_999], retry(1_089_999), released],
    ["claimed, no limit", HELD, [1_060_000], retry(1_090_000), released],
    // Attempts used up.
    ["claimed, last attempt", HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], over, failed],
  ];
  const forGood: Row<ReleaseOutcome>[] = [
    ...onlyTheFirstCounts,
    ["claimed", HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], over, failed],
    ["claimed, no limit", HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], over, failed],
    ["claimed, last attempt", HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], over, failed],
  ];

  describe.each([
    ["for later", false, forLater],
    ["for good", true, forGood],
  ])("%s", (_, permanent, table) => {
    test.each(cases(table))("%s, token %s, at %i: %o", (state, token, now, outcome, next) => {
      const before = STATES[state];
      const decided = release(before, releasing(token, { permanent }), now);
      expect(decided.outcome).toEqual(outcome);
      expectNext(before, decided.record, next, now);
    });
  });

  test("without a delay may be taken again at once", () => {
    const { record, outcome } = release(STATES.claimed, releasing("held", { retryAfterMs: 0 }), 1_050_000);
    expect(outcome).toEqual(retry(1_050_000));
    expect(claim(record, claimCommand("b"), 1_050_000).outcome).toMatchObject({ outcome: "claimed", attempt: 2 });
  });

  test("without an error text keeps none", () => {
    const { record } = release(STATES.claimed, releasing("held", { error: null, permanent: true }), 1_050_000);
    expect(claimIn(record)).toMatchObject({ status: "failed", error: null });
  });

  test("by the owner before a takeover leaves the new owner's claim alone", () => {
    const takeover = claim(STATES.claimed, claimCommand("another"), 1_060_000);
    for (const permanent of [false, true]) {
      const stale = release(takeover.record, releasing("held", { permanent }), 1_060_001);
      expect(stale.outcome).toEqual(taken);
      expect(stale.record).toBe(takeover.record);
    }
  });
});
