// Which claim is granted, and what every other one is told: the outcome table of `claim`, state by state, token by token,
// just before, at and after each bound.

import { describe, expect, test } from "vitest";
import type { ClaimEntry } from "../../../ledger-service/src/job/record.ts";
import { claim, type ClaimDecision, release } from "../../../ledger-service/src/job/claims.ts";
import {
  ANY,
  cases,
  CLAIMED_LAST,
  claimCommand,
  claimIn,
  EVENT,
  EXHAUSTED_ERROR,
  HELD,
  NOT_HELD,
  recordOf,
  RELEASED,
  SAME_EVENT,
  STATES,
} from "./states.ts";

/** A lock that nobody gave back for a year. */
const YEAR_LATER = 1_000_000 + 31_536_000_000;

/** What a claim is told, but for the caller's token, which `claimed` gives back. */
type Told = Exclude<ClaimDecision, { outcome: "claimed" }> | Omit<ClaimDecision & { outcome: "claimed" }, "token">;
/** `granted`: the caller has a new attempt. `exhausted`: the claim was found to have used up its attempts. */
type Effect = "unchanged" | "granted" | "exhausted";

const unknown: Told = { outcome: "unknown" };
const claimed = (attempt: number, fence: number, leaseExpiresAt: number, vanished = 0): Told => ({
  outcome: "claimed",
  attempt,
  fence,
  leaseExpiresAt,
  eventType: "job.completed",
  ...(vanished > 0 && { vanished }),
});
const inProgress = (attempt: number): Told => ({
  outcome: "in_progress",
  attempt,
  fence: 1_000_000,
  retryAt: 1_060_000,
});
const deferred: Told = { outcome: "deferred", attempt: 1, fence: 1_000_000, retryAt: 1_040_000 };
const completed: Told = {
  outcome: "completed",
  attempt: 1,
  fence: 1_000_000,
  completedAt: 1_020_000,
  result: { rows: 3 },
  dispatchedTo: ["archive"],
};
const failed: Told = {
  outcome: "failed",
  attempt: 1,
  fence: 1_000_000,
  failedAt: 1_020_000,
  error: "no such artifact",
};
const abandoned: Told = {
  outcome: "failed",
  attempt: 1,
  fence: 1_000_000,
  failedAt: 1_030_000,
  error: "abandoned by ann",
};
const exhausted = (failedAt: number): Told => ({
  outcome: "failed",
  attempt: 3,
  fence: 1_000_000,
  failedAt,
  error: EXHAUSTED_ERROR,
});

const TABLE = cases<[told: Told, effect: Effect]>([
  // A job that the ledger does not know; a claim that brings the event is below.
  ["no record", ANY, [1, 1_000_000], unknown, "unchanged"],
  // The event is there, and this consumer has not claimed.
  ["event only", ANY, [1_000_500], claimed(1, 1_000_500, 1_030_500), "granted"],
  // While the lease lives its holder gets the same answer again, anyone else is told when it ends.
  ["claimed", HELD, [1_000_000, 1_059_999], claimed(1, 1_000_000, 1_060_000), "unchanged"],
  ["claimed", NOT_HELD, [1_000_000, 1_059_999], inProgress(1), "unchanged"],
  // From the end of the lease on whoever comes first has it, were it a year later: also its holder, with another attempt.
  ["claimed", ANY, [1_060_000], claimed(2, 1_060_000, 1_090_000, 1), "granted"],
  ["claimed", ANY, [1_060_001], claimed(2, 1_060_001, 1_090_001, 1), "granted"],
  ["claimed", ANY, [YEAR_LATER], claimed(2, 31_537_000_000, 31_537_030_000, 1), "granted"],
  // The last attempt is an attempt like any other until its lease ends.
  ["claimed, last attempt", HELD, [1_000_000, 1_059_999], claimed(3, 1_000_000, 1_060_000), "unchanged"],
  ["claimed, last attempt", NOT_HELD, [1_000_000, 1_059_999], inProgress(3), "unchanged"],
  ["claimed, last attempt", ANY, [1_060_000], exhausted(1_060_000), "exhausted"],
  ["claimed, last attempt", ANY, [1_060_001], exhausted(1_060_001), "exhausted"],
  ["claimed, no limit", HELD, [1_000_000, 1_059_999], claimed(3, 1_000_000, 1_060_000), "unchanged"],
  ["claimed, no limit", NOT_HELD, [1_000_000, 1_059_999], inProgress(3), "unchanged"],
  ["claimed, no limit", ANY, [1_060_000], claimed(4, 1_060_000, 1_090_000, 1), "granted"],
  ["claimed, no limit", ANY, [1_060_001], claimed(4, 1_060_001, 1_090_001, 1), "granted"],
  // Released: nobody before its time, whoever comes first afterwards.
  ["released", ANY, [1_010_000, 1_039_999], deferred, "unchanged"],
  ["released", ANY, [1_040_000], claimed(2, 1_040_000, 1_070_000), "granted"],
  ["released", ANY, [1_040_001], claimed(2, 1_040_001, 1_070_001), "granted"],
  // Reopened: at once, and the count of attempts begins anew.
  ["reopened", ANY, [1_030_000], claimed(1, 1_030_000, 1_060_000), "granted"],
  ["reopened", ANY, [1_030_001], claimed(1, 1_030_001, 1_060_001), "granted"],
  // What is over stays over, whoever asks and whenever.
  ["completed", ANY, [1_020_000, 1_059_999, 1_060_000, YEAR_LATER], completed, "unchanged"],
  ["failed", ANY, [1_020_000, 1_059_999, 1_060_000, YEAR_LATER], failed, "unchanged"],
  ["exhausted", ANY, [1_070_000, YEAR_LATER], exhausted(1_070_000), "unchanged"],
  ["abandoned", ANY, [1_030_000, YEAR_LATER], abandoned, "unchanged"],
]);

describe.each([
  ["without an event", undefined],
  ["with the job's event again", SAME_EVENT],
])("claim %s", (_, event) => {
  test.each(TABLE.filter(([state]) => event === undefined || state !== "no record"))(
    "%s, token %s, at %i: %o",
    (state, token, now, told, effect) => {
      const before = STATES[state];
      const command = event === undefined ? claimCommand(token) : { ...claimCommand(token), event };
      const decided = claim(before, command, now);
      expect(decided.outcome).toEqual(told.outcome === "claimed" ? { ...told, token } : told);
      expect(decided.record.events).toBe(before.events);
      expect(decided.record === before).toBe(effect === "unchanged");
      expect(claimIn(decided.record)).toEqual(after(effect, claimIn(before), told, token, now));
    },
  );
});

function after(
  effect: Effect,
  held: ClaimEntry | undefined,
  told: Told,
  token: string,
  now: number,
): ClaimEntry | undefined {
  if (effect === "unchanged") return held;
  if (told.outcome === "unknown") throw new Error("an unknown job has no claim");
  const { attempt, fence } = told;
  const history = held?.history ?? [];
  const round = held?.round ?? 1;
  const common = {
    consumer: "index",
    eventType: "job.completed",
    attempt,
    fence,
    maxAttempts: 3,
    round,
    dispatchedTo: [],
  };
  if (effect === "granted") {
    return {
      ...common,
      claimedAt: now,
      changedAt: now,
      history: [...history, { at: now, actor: "index", verb: "claim", status: "claimed", attempt }],
      status: "claimed",
      token,
      leaseExpiresAt: now + 30_000,
      vanished: held?.status === "claimed" ? 1 : 0,
    };
  }
  const error = EXHAUSTED_ERROR;
  return {
    ...common,
    claimedAt: 1_000_000,
    changedAt: now,
    history: [...history, { at: now, actor: "ledger", verb: "exhausted", status: "failed", attempt, error }],
    status: "failed",
    token: "held",
    failedAt: now,
    error,
    by: "exhausted",
  };
}

describe("claim", () => {
  test("that brings the first event records it and is granted", () => {
    const command = { ...claimCommand("a"), event: SAME_EVENT };
    const { record, outcome } = claim(STATES["no record"], command, 1_000_000);
    expect(outcome).toEqual({ ...claimed(1, 1_000_000, 1_030_000), token: "a" });
    expect(record.events).toEqual([EVENT]);
    expect([...record.claims.keys()]).toEqual(["index"]);
  });

  test("a crash loop with one token uses up its attempts; a reply that was lost within the lease changes nothing", () => {
    let record = STATES["event only"];
    const told: string[] = [];
    for (let count = 0; count < 12; count++) {
      for (const now of [2_000_000 + count * 30_000, 2_000_001 + count * 30_000]) {
        const decided = claim(record, claimCommand("same"), now);
        const { outcome } = decided;
        ({ record } = decided);
        told.push("attempt" in outcome ? `${outcome.outcome} ${outcome.attempt}` : outcome.outcome);
      }
    }
    const attempts = [1, 2, 3].flatMap((attempt) => [`claimed ${attempt}`, `claimed ${attempt}`]);
    expect(told).toEqual([...attempts, ...Array.from({ length: 18 }, () => "failed 3")]);
    expect(claimIn(record)?.history).toHaveLength(4);
  });

  test("counts the attempts in a row that vanished without a word, until one of them settles", () => {
    let record = STATES["event only"];
    const told: unknown[] = [];
    for (const now of [2_000_000, 2_030_000, 2_060_000]) {
      const decided = claim(record, { ...claimCommand(`t${now}`), maxAttempts: null }, now);
      record = decided.record;
      told.push("vanished" in decided.outcome ? decided.outcome.vanished : 0);
    }
    const back = { consumer: "index", token: "t2060000", error: null, retryAfterMs: 0, permanent: false };
    record = release(record, back, 2_060_001).record;
    const { outcome } = claim(record, claimCommand("t"), 2_060_001);
    expect(told).toEqual([0, 1, 2]);
    expect(outcome).toMatchObject({ outcome: "claimed", attempt: 4 });
    expect(outcome).not.toHaveProperty("vanished");
  });

  test("with the token of the holder but of another consumer is another claim", () => {
    const { outcome } = claim(STATES.claimed, { ...claimCommand("held"), consumer: "archive" }, 1_010_000);
    expect(outcome).toEqual({ ...claimed(1, 1_010_000, 1_040_000), token: "held" });
  });

  test("released without delay is claimable in the same millisecond", () => {
    const { outcome } = claim(recordOf({ ...RELEASED, retryAt: 1_010_000 }), claimCommand("a"), 1_010_000);
    expect(outcome).toMatchObject({ outcome: "claimed", attempt: 2 });
  });

  test("keeps what the consumer dispatched earlier", () => {
    const { record } = claim(recordOf({ ...RELEASED, dispatchedTo: ["archive"] }), claimCommand("a"), 1_040_000);
    expect(claimIn(record)).toMatchObject({ status: "claimed", dispatchedTo: ["archive"] });
  });

  test.each([
    [1, null],
    [2, 5],
    [3, 1],
  ])("keeps its limit of attempts with the claim (%#)", (_, maxAttempts) => {
    const { record } = claim(STATES["event only"], { ...claimCommand("a"), maxAttempts }, 1_000_500);
    expect(claimIn(record)).toMatchObject({ status: "claimed", attempt: 1, maxAttempts });
  });

  test("cannot lengthen a claim that has used up its attempts by naming a higher limit", () => {
    const command = { ...claimCommand("a"), maxAttempts: 9 };
    expect(claim(recordOf(CLAIMED_LAST), command, 1_060_000).outcome).toEqual(exhausted(1_060_000));
  });

  test.each(["constructor", "proto", "to-string", "has-own-property", "valueof", "-", "0"])(
    "by a consumer named %s is one like any other",
    (consumer) => {
      const before = STATES["event only"];
      const { record, outcome } = claim(before, { ...claimCommand("a"), consumer }, 1_000_500);
      expect(outcome).toEqual({ ...claimed(1, 1_000_500, 1_030_500), token: "a" });
      expect([...record.claims.keys()]).toEqual(["receiver", consumer]);
      expect(record.claims.get("receiver")).toBe(before.claims.get("receiver"));
    },
  );
});
