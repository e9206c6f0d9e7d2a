// What an operator's `reopen` does: only to a settled claim, with its old outcome in the history and every earlier token
// stale.

import { describe, expect, test } from "vitest";
import type { ReopenOutcome } from "../../../ledger-service/contract/index.ts";
import type { ClaimEntry } from "../../../ledger-service/src/job/record.ts";
import { claim, complete, release, renew, reopen } from "../../../ledger-service/src/job/claims.ts";
import {
  ABANDONED,
  CLAIMED,
  claimCommand,
  claimIn,
  COMPLETED,
  EVENT,
  EXHAUSTED,
  EXHAUSTED_ERROR,
  FAILED,
  recordOf,
  RELEASED,
  REOPENED,
  SECOND_EVENT,
  type StateName,
  STATES,
} from "./states.ts";

const reopening = (eventType: string | null = null, refresh = false) => ({
  actor: "ann",
  consumer: "index",
  eventType,
  refresh,
});

const reopened: ReopenOutcome = { outcome: "reopened" };
const openClaimed: ReopenOutcome = { outcome: "open", status: "claimed" };
const openReleased: ReopenOutcome = { outcome: "open", status: "released" };
const noClaim: ReopenOutcome = { outcome: "unknown", missing: "claim" };
const noEvent: ReopenOutcome = { outcome: "unknown", missing: "event" };

/** The claim that was found, reopened: without token, lease, result or error, but with the outcome in its history. */
function open(found: ClaimEntry, at: number, ended: { error?: string; result?: string }): ClaimEntry {
  const { consumer, eventType, attempt, fence, maxAttempts, claimedAt, dispatchedTo, history } = found;
  const kept = { consumer, eventType, attempt, fence, maxAttempts, claimedAt, dispatchedTo };
  return {
    ...kept,
    round: found.round + 1,
    changedAt: at,
    history: [...history, { at, actor: "ann", verb: "reopen", status: "reopened", attempt, ...ended }],
    status: "reopened",
    refresh: false,
  };
}

type Row = [state: StateName, now: number, outcome: ReopenOutcome, next: ClaimEntry | "unchanged"];

const TABLE: Row[] = [
  ["no record", 1_000_000, noClaim, "unchanged"],
  ["event only", 1_000_500, noClaim, "unchanged"],
  ["claimed", 1_059_999, openClaimed, "unchanged"],
  ["claimed", 1_060_000, openClaimed, "unchanged"],
  ["claimed", 1_060_001, openClaimed, "unchanged"],
  ["claimed, last attempt", 1_059_999, openClaimed, "unchanged"],
  ["claimed, no limit", 1_060_000, openClaimed, "unchanged"],
  ["released", 1_039_999, openReleased, "unchanged"],
  ["released", 1_040_000, openReleased, "unchanged"],
  ["reopened", 1_030_000, reopened, "unchanged"],
  ["reopened", 1_030_001, reopened, "unchanged"],
  ["completed", 1_030_000, reopened, open(COMPLETED, 1_030_000, { result: '{"rows":3}' })],
  ["failed", 1_030_000, reopened, open(FAILED, 1_030_000, { error: "no such artifact" })],
  ["exhausted", 1_080_000, reopened, open(EXHAUSTED, 1_080_000, { error: EXHAUSTED_ERROR })],
  ["abandoned", 1_080_000, reopened, open(ABANDONED, 1_080_000, {})],
];

describe("reopen", () => {
  test.each(TABLE)("%s, at %i: %o", (state, now, outcome, next) => {
    const before = STATES[state];
    const decided = reopen(before, reopening(), now);
    expect(decided.outcome).toEqual(outcome);
    expect(decided.record === before).toBe(next === "unchanged");
    expect(claimIn(decided.record)).toEqual(next === "unchanged" ? claimIn(before) : next);
  });

  test.each([
    ["completed", COMPLETED],
    ["failed", FAILED],
    ["exhausted", EXHAUSTED],
  ])("makes every earlier token stale (%s)", (_, settled) => {
    const { record } = reopen(recordOf(settled), reopening(), 1_080_000);
    const stale = { outcome: "stale", reason: "no_claim" };
    const owner = { consumer: "index", token: "held" };
    for (const decided of [
      complete(record, { ...owner, result: null, dispatchedTo: null }, 1_080_001),
      release(record, { ...owner, error: null, retryAfterMs: 0, permanent: false }, 1_080_001),
      release(record, { ...owner, error: null, retryAfterMs: 0, permanent: true }, 1_080_001),
      renew(record, { ...owner, leaseMs: 30_000 }, 1_080_001),
    ]) {
      expect(decided.outcome).toEqual(stale);
      expect(decided.record).toBe(record);
    }
    const { record: next } = claim(record, claimCommand("new"), 1_080_002);
    expect(complete(next, { ...owner, result: null, dispatchedTo: null }, 1_080_003).outcome).toEqual({
      outcome: "stale",
      reason: "taken",
    });
  });

  test("starts the count of attempts anew: three more before the claim has used them up", () => {
    let { record } = reopen(STATES.exhausted, reopening(), 1_080_000);
    const attempts: unknown[] = [];
    for (const now of [1_100_000, 1_200_000, 1_300_000, 1_400_000]) {
      const decided = claim(record, claimCommand(`t${now}`), now);
      record = decided.record;
      attempts.push([decided.outcome.outcome, "attempt" in decided.outcome && decided.outcome.attempt]);
    }
    expect(attempts).toEqual([
      ["claimed", 1],
      ["claimed", 2],
      ["claimed", 3],
      ["failed", 3],
    ]);
  });

  test("asked to refresh once more, of a claim that is reopened, remembers it; not asked, forgets nothing", () => {
    const { record: plain } = reopen(STATES.failed, reopening(), 1_030_000);
    const { record: asked, outcome } = reopen(plain, reopening(null, true), 1_030_001);
    expect(outcome).toEqual(reopened);
    expect(claimIn(asked)).toMatchObject({ status: "reopened", refresh: true, round: 3 });
    expect(reopen(asked, reopening(), 1_030_002).record).toBe(asked);
    const both = { ...asked, events: [EVENT, SECOND_EVENT] };
    expect(claimIn(reopen(both, reopening("job.failed"), 1_030_002).record)).toMatchObject({ refresh: true });
    expect(reopen(asked, reopening(null, true), 1_030_002).record).toBe(asked);
  });

  test("keeps a result of none out of the history", () => {
    const { record } = reopen(recordOf({ ...COMPLETED, result: null }), reopening(), 1_030_000);
    expect(claimIn(record)?.history.at(-1)).toEqual({
      at: 1_030_000,
      actor: "ann",
      verb: "reopen",
      status: "reopened",
      attempt: 1,
    });
  });

  test("leaves the other consumers' claims alone", () => {
    const { record } = reopen(STATES.completed, reopening(), 1_030_000);
    expect(record.claims.get("receiver")).toBe(STATES.completed.claims.get("receiver"));
    expect(record.events).toBe(STATES.completed.events);
  });
});

describe("reopen with an event type", () => {
  const both = [EVENT, SECOND_EVENT];

  test.each([
    ["the same type of a settled claim", recordOf(COMPLETED, both), "job.completed", reopened],
    ["the other type of a settled claim", recordOf(COMPLETED, both), "job.failed", reopened],
    ["the other type of a reopened claim", recordOf(REOPENED, both), "job.failed", reopened],
    ["a type that never came", recordOf(COMPLETED, both), "job.expired", noEvent],
    ["a type that came for a claim still held", recordOf(CLAIMED, both), "job.failed", openClaimed],
    ["a type that came for a claim to be retried", recordOf(RELEASED, both), "job.failed", openReleased],
  ])("%s", (_, record, eventType, outcome) => {
    expect(reopen(record, reopening(eventType), 1_080_000).outcome).toEqual(outcome);
  });

  test("gives the next claim that event", () => {
    const { record } = reopen(recordOf(COMPLETED, both), reopening("job.failed"), 1_030_000);
    const next = claim(record, claimCommand("a"), 1_030_001);
    expect(next.outcome).toMatchObject({ outcome: "claimed", attempt: 1, eventType: "job.failed" });
    expect(claimIn(next.record)).toMatchObject({ eventType: "job.failed" });
  });

  test("keeps that event for the attempts that follow, and for a later reopen that names none", () => {
    let { record } = reopen(recordOf(COMPLETED, both), reopening("job.failed"), 1_030_000);
    expect(reopen(record, reopening(), 1_030_001).record).toBe(record);
    ({ record } = claim(record, claimCommand("a"), 1_030_002));
    expect(claim(record, claimCommand("b"), 1_060_002).outcome).toMatchObject({ attempt: 2, eventType: "job.failed" });
  });

  test("refused changes nothing", () => {
    const before = recordOf(COMPLETED, both);
    expect(reopen(before, reopening("job.expired"), 1_030_000).record).toBe(before);
  });
});
