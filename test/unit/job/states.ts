// The states that a job can be in, as literal records at literal times: what the tables of the transition tests start from.
// Every record but the empty one holds the job's event and the receiver's finished claim; the states are those of the
// consumer «index».
//
//   1_000_000  the event came; «index» claimed, its lease ends at 1_060_000
//   1_010_000  released, to be taken again from 1_040_000
//   1_020_000  completed, or failed
//   1_030_000  reopened, or abandoned
//   1_070_000  found to be exhausted
//
// The token of the latest attempt is «held». «another» was never given out, «earlier» belongs to an attempt before.

import {
  type ClaimEntry,
  EMPTY_RECORD,
  type EventEntry,
  type JobRecord,
} from "../../../ledger-service/src/job/record.ts";
import type { ClaimCommand } from "../../../ledger-service/src/job/claims.ts";

export const EVENT: EventEntry = {
  type: "job.completed",
  order: 0,
  source: "webhook",
  receivedAt: 1_000_000,
  bytes: 18,
  replaced: [],
};
export const SECOND_EVENT: EventEntry = {
  type: "job.failed",
  order: 1,
  source: "webhook",
  receivedAt: 1_005_000,
  bytes: 15,
  replaced: [],
};

const RECEIVER: ClaimEntry = {
  consumer: "receiver",
  eventType: "job.completed",
  attempt: 1,
  fence: 1_000_000,
  maxAttempts: null,
  round: 1,
  claimedAt: 1_000_000,
  changedAt: 1_000_000,
  dispatchedTo: ["index"],
  history: [
    { at: 1_000_000, actor: "receiver", verb: "claim", status: "claimed", attempt: 1 },
    { at: 1_000_000, actor: "receiver", verb: "complete", status: "completed", attempt: 1 },
  ],
  status: "completed",
  token: "receivers",
  completedAt: 1_000_000,
  result: null,
};

const INDEX = {
  consumer: "index",
  eventType: "job.completed",
  attempt: 1,
  fence: 1_000_000,
  maxAttempts: 3,
  round: 1,
  claimedAt: 1_000_000,
  changedAt: 1_000_000,
  dispatchedTo: [],
  history: [{ at: 1_000_000, actor: "index", verb: "claim", status: "claimed", attempt: 1 }],
} satisfies Partial<ClaimEntry>;

const INDEX_LAST = {
  ...INDEX,
  attempt: 3,
  history: [{ at: 1_000_000, actor: "index", verb: "claim", status: "claimed", attempt: 3 }],
} satisfies Partial<ClaimEntry>;

export const CLAIMED = {
  ...INDEX,
  status: "claimed",
  token: "held",
  leaseExpiresAt: 1_060_000,
  vanished: 0,
} satisfies ClaimEntry;

/** The third attempt of three. */
export const CLAIMED_LAST = {
  ...INDEX_LAST,
  status: "claimed",
  token: "held",
  leaseExpiresAt: 1_060_000,
  vanished: 0,
} satisfies ClaimEntry;

/** The third attempt, and as many more as it takes. */
export const CLAIMED_UNLIMITED = { ...CLAIMED_LAST, maxAttempts: null } satisfies ClaimEntry;

export const RELEASED = {
  ...INDEX,
  changedAt: 1_010_000,
  history: [
    ...INDEX.history,
    { at: 1_010_000, actor: "index", verb: "release", status: "released", attempt: 1, error: "disk full" },
  ],
  status: "released",
  token: "held",
  retryAt: 1_040_000,
  error: "disk full",
} satisfies ClaimEntry;

export const REOPENED = {
  ...INDEX_LAST,
  round: 2,
  changedAt: 1_030_000,
  history: [
    ...INDEX_LAST.history,
    { at: 1_020_000, actor: "index", verb: "release", status: "failed", attempt: 3, error: "no such artifact" },
    { at: 1_030_000, actor: "ann", verb: "reopen", status: "reopened", attempt: 3, error: "no such artifact" },
  ],
  status: "reopened",
  refresh: false,
} satisfies ClaimEntry;

export const COMPLETED = {
  ...INDEX,
  changedAt: 1_020_000,
  dispatchedTo: ["archive"],
  history: [...INDEX.history, { at: 1_020_000, actor: "index", verb: "complete", status: "completed", attempt: 1 }],
  status: "completed",
  token: "held",
  completedAt: 1_020_000,
  result: '{"rows":3}',
} satisfies ClaimEntry;

export const FAILED = {
  ...INDEX,
  changedAt: 1_020_000,
  history: [
    ...INDEX.history,
    { at: 1_020_000, actor: "index", verb: "release", status: "failed", attempt: 1, error: "no such artifact" },
  ],
  status: "failed",
  token: "held",
  failedAt: 1_020_000,
  error: "no such artifact",
  by: "release",
} satisfies ClaimEntry;

export const EXHAUSTED_ERROR = "attempts used up: the lease of attempt 3 of 3 ran out";
export const EXHAUSTED = {
  ...INDEX_LAST,
  changedAt: 1_070_000,
  history: [
    ...INDEX_LAST.history,
    { at: 1_070_000, actor: "ledger", verb: "exhausted", status: "failed", attempt: 3, error: EXHAUSTED_ERROR },
  ],
  status: "failed",
  token: "held",
  failedAt: 1_070_000,
  error: EXHAUSTED_ERROR,
  by: "exhausted",
} satisfies ClaimEntry;

/** «ann» ended the wait for it while its first attempt was held. */
export const ABANDONED = {
  ...INDEX,
  changedAt: 1_030_000,
  history: [...INDEX.history, { at: 1_030_000, actor: "ann", verb: "abandon", status: "abandoned", attempt: 1 }],
  status: "abandoned",
  token: "held",
  abandonedAt: 1_030_000,
  by: "ann",
} satisfies ClaimEntry;

export function recordOf(claim: ClaimEntry | null, events: EventEntry[] = [EVENT]): JobRecord {
  const claims = claim === null ? [RECEIVER] : [RECEIVER, claim];
  return { events, claims: new Map(claims.map((entry) => [entry.consumer, entry])), watch: null };
}

/** Every state that a command can meet. */
export const STATES = {
  "no record": EMPTY_RECORD,
  "event only": recordOf(null),
  claimed: recordOf(CLAIMED),
  "claimed, last attempt": recordOf(CLAIMED_LAST),
  "claimed, no limit": recordOf(CLAIMED_UNLIMITED),
  released: recordOf(RELEASED),
  reopened: recordOf(REOPENED),
  completed: recordOf(COMPLETED),
  failed: recordOf(FAILED),
  exhausted: recordOf(EXHAUSTED),
  abandoned: recordOf(ABANDONED),
} satisfies Record<string, JobRecord>;

export type StateName = keyof typeof STATES;

export type Token = "held" | "another" | "earlier";
export const ANY: Token[] = ["held", "another", "earlier"];
export const HELD: Token[] = ["held"];
export const NOT_HELD: Token[] = ["another", "earlier"];

/** One case for every token at every time of every row. */
export function cases<Rest extends unknown[]>(
  rows: [state: StateName, tokens: Token[], times: number[], ...rest: Rest][],
): [state: StateName, token: Token, now: number, ...rest: Rest][] {
  return rows.flatMap(([state, tokens, times, ...rest]) =>
    tokens.flatMap((token) => times.map((now): [StateName, Token, number, ...Rest] => [state, token, now, ...rest])),
  );
}

/** The claim of «index» in a record. */
export const claimIn = (record: JobRecord): ClaimEntry | undefined => record.claims.get("index");

export const claimCommand = (token: string): ClaimCommand => ({
  consumer: "index",
  token,
  leaseMs: 30_000,
  maxAttempts: 3,
});
export const SAME_EVENT = { type: "job.completed", source: "webhook", bytes: 18, differs: false } as const;
export const OTHER_EVENT = { type: "job.failed", source: "poll", bytes: 15, differs: true } as const;
