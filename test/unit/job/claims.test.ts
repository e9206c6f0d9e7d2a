// What holds for every state and every command: no input is changed in place, a refusal returns the very record, the
// fence only grows, the history is short and holds no token.

import { describe, expect, test } from "vitest";
import { EMPTY_RECORD, type JobRecord } from "../../../ledger-service/src/job/record.ts";
import { abandon, claim, complete, expire, release, renew, reopen } from "../../../ledger-service/src/job/claims.ts";
import { ANY, claimCommand, claimIn, EXHAUSTED, OTHER_EVENT, SAME_EVENT, type StateName, STATES } from "./states.ts";

type Command = (record: JobRecord, token: string, now: number) => { record: JobRecord; outcome: { outcome: string } };

const reopening = { actor: "ann", consumer: "index", eventType: null, refresh: false };
const owner = (token: string) => ({ consumer: "index", token });
const COMMANDS: Record<string, Command> = {
  claim: (record, token, now) => claim(record, claimCommand(token), now),
  "claim with the event": (record, token, now) => claim(record, { ...claimCommand(token), event: SAME_EVENT }, now),
  "claim with another event": (record, token, now) =>
    claim(record, { ...claimCommand(token), event: { ...OTHER_EVENT, differs: !has(record, OTHER_EVENT.type) } }, now),
  complete: (record, token, now) => complete(record, { ...owner(token), result: "1", dispatchedTo: ["mail"] }, now),
  release: (record, token, now) =>
    release(record, { ...owner(token), error: "e", retryAfterMs: 1_000, permanent: false }, now),
  "release for good": (record, token, now) =>
    release(record, { ...owner(token), error: "e", retryAfterMs: 0, permanent: true }, now),
  renew: (record, token, now) => renew(record, { ...owner(token), leaseMs: 30_000 }, now),
  reopen: (record, _, now) => reopen(record, reopening, now),
  abandon: (record, _, now) => abandon(record, { actor: "ann", consumer: "index" }, now),
};
const has = (record: JobRecord, type: string) => record.events.some((event) => event.type === type);
/** Around every bound of states.ts, and a clock that has stepped back behind all of them. */
const TIMES = [1, 999_999, 1_000_000, 1_039_999, 1_040_000, 1_059_999, 1_060_000, 1_060_001, 1_070_000, 9_000_000];
const REFUSALS = ["stale", "in_progress", "deferred", "completed", "unknown", "open", "ended"];

const NAMES: StateName[] = [
  "no record",
  "event only",
  "claimed",
  "claimed, last attempt",
  "claimed, no limit",
  "released",
  "reopened",
  "completed",
  "failed",
  "exhausted",
  "abandoned",
];

describe.each(NAMES)("from %s", (name) => {
  test.each(Object.entries(COMMANDS))("%s, with every token, at every time", (verb, run) => {
    const before = STATES[name];
    const copy = structuredClone(before);
    const faults: string[] = [];
    for (const token of ANY) {
      for (const now of TIMES) {
        const { record, outcome } = run(before, token, now);
        // An event may be kept, and a holder that died on its last attempt be found out, though the call itself is refused.
        const isFoundOut = verb === "abandon" && name === "claimed, last attempt" && now >= 1_060_000;
        const refused = REFUSALS.includes(outcome.outcome) && verb !== "claim with another event" && !isFoundOut;
        if (refused && record !== before) faults.push(`a refusal changed the record: ${token}, ${now}`);
        faults.push(...faultsOf(before, record, now).map((fault) => `${fault}: ${token}, ${now}`));
        // The same command again is answered alike and changes nothing more, as long as the clock stands still.
        const again = run(record, token, now);
        expect(again.outcome).toEqual(outcome);
        expect(again.record).toBe(record);
      }
    }
    expect(faults).toEqual([]);
    expect(before).toEqual(copy);
  });
});

/** What must not be of a record that came from another. */
function faultsOf(before: JobRecord, after: JobRecord, now: number): string[] {
  const was = claimIn(before);
  const is = claimIn(after);
  const changed = is !== was;
  const granted = changed && is?.status === "claimed" && is.history.length !== was?.history.length;
  const faults = {
    "the claim has gone": is === undefined && was !== undefined,
    "another consumer's claim was changed": after.claims.get("receiver") !== before.claims.get("receiver"),
    "a recorded event was changed": before.events.some((event, n) => event !== after.events[n]),
    "the time of the change is not now": changed && is?.changedAt !== now,
    "a token is in the history": /held|another|earlier|token/.test(JSON.stringify(is?.history ?? [])),
    "a new attempt has no higher fence": granted && is.fence <= (was?.fence ?? 0),
    "the fence moved without a new attempt": changed && !granted && (is?.fence ?? 0) !== (was?.fence ?? 0),
  };
  return Object.entries(faults).flatMap(([fault, found]) => (found ? [fault] : []));
}

describe("the fence", () => {
  test.each([
    ["the time", 1_000_000, 2_000_000, 2_000_000],
    ["one more than the last, in the same millisecond", 1_000_000, 1_000_000, 1_000_001],
    ["one more than the last, by a clock that stepped back", 1_000_000, 900_000, 1_000_001],
    ["one more than the last, a millisecond on", 1_000_000, 1_000_001, 1_000_001],
    ["one more than the last, by a clock at its start", 1_000_000, 0, 1_000_001],
  ])("is %s", (_, first, second, fence) => {
    const earlier = claim(STATES["event only"], claimCommand("a"), first);
    expect(earlier.outcome).toMatchObject({ fence: first });
    const given = { ...owner("a"), error: null, retryAfterMs: 0, permanent: false };
    const released = release(earlier.record, given, second);
    const later = claim(released.record, claimCommand("b"), second);
    expect(later.outcome).toMatchObject({ outcome: "claimed", attempt: 2, fence });
  });

  test("grows over a reopening with a clock that stands still or steps back", () => {
    let record: JobRecord = STATES.completed;
    const fences: unknown[] = [];
    for (const now of [1_000_000, 1_000_000, 10]) {
      record = reopen(record, reopening, now).record;
      const claimed = claim(record, claimCommand("t"), now);
      fences.push(claimed.outcome);
      record = complete(claimed.record, { ...owner("t"), result: null, dispatchedTo: null }, now).record;
    }
    expect(fences).toMatchObject([
      { attempt: 1, fence: 1_000_001 },
      { attempt: 1, fence: 1_000_002 },
      { attempt: 1, fence: 1_000_003 },
    ]);
  });

  test("is each consumer's own", () => {
    const first = claim(STATES.claimed, { ...claimCommand("a"), consumer: "archive" }, 5);
    expect(first.outcome).toMatchObject({ outcome: "claimed", attempt: 1, fence: 5 });
  });
});

describe("the history", () => {
  test("keeps the last 20 transitions", () => {
    let { record } = claim(EMPTY_RECORD, { ...claimCommand("t0"), maxAttempts: null, event: SAME_EVENT }, 1_000_000);
    for (let n = 1; n <= 25; n++) {
      record = claim(record, { ...claimCommand(`t${n}`), maxAttempts: null }, 1_000_000 + n * 30_000).record;
    }
    const history = claimIn(record)?.history ?? [];
    expect(history.map(({ attempt }) => attempt)).toEqual([
      7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    ]);
    expect(history.at(-1)).toEqual({ at: 1_750_000, actor: "index", verb: "claim", status: "claimed", attempt: 26 });
  });

  test("tells a claim's whole life, by whom", () => {
    const steps: [Command, string, number][] = [
      [(record, token, now) => claim(record, claimCommand(token), now), "a", 1_000_500],
      [(record, token, now) => renew(record, { ...owner(token), leaseMs: 60_000 }, now), "a", 1_001_000],
      [
        (record, token, now) =>
          release(record, { ...owner(token), error: "e", retryAfterMs: 0, permanent: false }, now),
        "a",
        1_002_000,
      ],
      [(record, token, now) => claim(record, claimCommand(token), now), "b", 1_003_000],
      [(record, token, now) => claim(record, claimCommand(token), now), "c", 1_033_000],
      [(record, token, now) => claim(record, claimCommand(token), now), "d", 1_063_000],
      [(record, _, now) => reopen(record, reopening, now), "", 1_070_000],
      [(record, token, now) => claim(record, claimCommand(token), now), "e", 1_071_000],
      [
        (record, token, now) => complete(record, { ...owner(token), result: "1", dispatchedTo: null }, now),
        "e",
        1_072_000,
      ],
    ];
    let record: JobRecord = STATES["event only"];
    for (const [run, token, now] of steps) ({ record } = run(record, token, now));
    const error = "attempts used up: the lease of attempt 3 of 3 ran out";
    expect(claimIn(record)?.history).toEqual([
      { at: 1_000_500, actor: "index", verb: "claim", status: "claimed", attempt: 1 },
      { at: 1_002_000, actor: "index", verb: "release", status: "released", attempt: 1, error: "e" },
      { at: 1_003_000, actor: "index", verb: "claim", status: "claimed", attempt: 2 },
      { at: 1_033_000, actor: "index", verb: "claim", status: "claimed", attempt: 3 },
      { at: 1_063_000, actor: "ledger", verb: "exhausted", status: "failed", attempt: 3, error },
      { at: 1_070_000, actor: "ann", verb: "reopen", status: "reopened", attempt: 3, error },
      { at: 1_071_000, actor: "index", verb: "claim", status: "claimed", attempt: 1 },
      { at: 1_072_000, actor: "index", verb: "complete", status: "completed", attempt: 1 },
    ]);
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
