// Who may renew a lease, and how far: the table of `renew`.

import { describe, expect, test } from "vitest";
import type { RenewOutcome, Stale } from "../../../ledger-service/contract/index.ts";
import { claim, complete, renew } from "../../../ledger-service/src/job/claims.ts";
import { ANY, cases, claimCommand, claimIn, HELD, NOT_HELD, STATES } from "./states.ts";

const renewal = (token: string, leaseMs = 30_000) => ({ consumer: "index", token, leaseMs });

const taken: Stale = { outcome: "stale", reason: "taken" };
const settled: Stale = { outcome: "stale", reason: "settled" };
const noClaim: Stale = { outcome: "stale", reason: "no_claim" };
const until = (leaseExpiresAt: number): RenewOutcome => ({ outcome: "ok", leaseExpiresAt });

const TABLE = cases<[outcome: RenewOutcome, effect: "unchanged" | "renewed"]>([
  ["no record", ANY, [1, 1_000_000], noClaim, "unchanged"],
  ["event only", ANY, [1_000_500], noClaim, "unchanged"],
  // Never nearer than it is: up to 1_030_000, 30 s from now end before what was granted.
  ["claimed", HELD, [1_000_000, 1_029_999, 1_030_000], until(1_060_000), "unchanged"],
  ["claimed", HELD, [1_030_001], until(1_060_001), "renewed"],
  ["claimed", HELD, [1_059_999], until(1_089_999), "renewed"],
  // The lease ran out and nobody took the claim: its holder lives.
  ["claimed", HELD, [1_060_000], until(1_090_000), "renewed"],
  ["claimed", HELD, [1_060_001], until(1_090_001), "renewed"],
  ["claimed", NOT_HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], taken, "unchanged"],
  ["claimed, last attempt", HELD, [1_059_999], until(1_089_999), "renewed"],
  ["claimed, last attempt", HELD, [1_060_000], until(1_090_000), "renewed"],
  ["claimed, last attempt", NOT_HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], taken, "unchanged"],
  ["claimed, no limit", HELD, [1_059_999], until(1_089_999), "renewed"],
  ["claimed, no limit", HELD, [1_060_000], until(1_090_000), "renewed"],
  ["claimed, no limit", NOT_HELD, [1_000_000, 1_059_999, 1_060_000, 1_060_001], taken, "unchanged"],
  ["released", HELD, [1_010_000, 1_039_999, 1_040_000, 1_040_001], settled, "unchanged"],
  ["released", NOT_HELD, [1_010_000, 1_039_999, 1_040_000, 1_040_001], taken, "unchanged"],
  ["reopened", ANY, [1_030_000, 1_030_001], noClaim, "unchanged"],
  ["completed", HELD, [1_020_000, 1_060_000], settled, "unchanged"],
  ["completed", NOT_HELD, [1_020_000, 1_060_000], taken, "unchanged"],
  ["failed", HELD, [1_020_000, 1_060_000], settled, "unchanged"],
  ["failed", NOT_HELD, [1_020_000, 1_060_000], taken, "unchanged"],
  ["exhausted", HELD, [1_070_000, 9_000_000], settled, "unchanged"],
  ["exhausted", NOT_HELD, [1_070_000, 9_000_000], taken, "unchanged"],
  ["abandoned", HELD, [1_030_000, 9_000_000], settled, "unchanged"],
  ["abandoned", NOT_HELD, [1_030_000, 9_000_000], taken, "unchanged"],
]);

describe("renew", () => {
  test.each(TABLE)("%s, token %s, at %i: %o", (state, token, now, outcome, effect) => {
    const before = STATES[state];
    const decided = renew(before, renewal(token), now);
    expect(decided.outcome).toEqual(outcome);
    expect(decided.record === before).toBe(effect === "unchanged");
    const moved = effect === "renewed" ? { changedAt: now, leaseExpiresAt: now + 30_000 } : {};
    expect(claimIn(decided.record)).toEqual(claimIn(before) && { ...claimIn(before), ...moved });
  });

  test("keeps the attempt, the fence and the history as they are", () => {
    const { record } = renew(STATES.claimed, renewal("held"), 1_059_999);
    expect(claimIn(record)).toMatchObject({
      attempt: 1,
      fence: 1_000_000,
      claimedAt: 1_000_000,
      history: [{ at: 1_000_000, actor: "index", verb: "claim", status: "claimed", attempt: 1 }],
    });
  });

  test("puts off a takeover until the new end", () => {
    const { record } = renew(STATES.claimed, renewal("held"), 1_059_999);
    expect(claim(record, claimCommand("another"), 1_060_000).outcome).toMatchObject({
      outcome: "in_progress",
      retryAt: 1_089_999,
    });
    expect(claim(record, claimCommand("another"), 1_089_999).outcome).toMatchObject({ outcome: "claimed", attempt: 2 });
  });

  test("by the owner before a takeover changes nothing, during and after the new owner's work", () => {
    const takeover = claim(STATES.claimed, claimCommand("another"), 1_060_000);
    const done = complete(
      takeover.record,
      { consumer: "index", token: "another", result: null, dispatchedTo: null },
      1_060_001,
    );
    for (const { record } of [takeover, done]) {
      const stale = renew(record, renewal("held"), 1_060_002);
      expect(stale.outcome).toEqual(taken);
      expect(stale.record).toBe(record);
    }
  });
});
