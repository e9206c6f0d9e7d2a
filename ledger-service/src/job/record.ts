// What one job's object keeps, as plain values: claims.ts, events.ts and watch.ts make new ones, the store writes them. The
// schemas are also the readers of what is stored. Nothing here decides; the questions at the end are asked in several places.

import * as v from "valibot";
import { CLAIM_STATUSES, EventSource, HISTORY_VERBS } from "../../contract/index.ts";

const Time = v.number();

/** An event as the record knows it; its body is stored beside it, and handed out with a claim. */
export const EventEntry = v.object({
  type: v.string(),
  /** Position by arrival, from 0. Times do not tell: a clock may step back, or stand still between two calls. */
  order: v.number(),
  /** Of the body that is kept. */
  source: EventSource,
  /** When the type first came. */
  receivedAt: Time,
  bytes: v.number(),
  /** Earlier bodies of this type, oldest first: when each gave way to a newer one, and its size. */
  replaced: v.array(v.object({ at: Time, bytes: v.number() })),
});

const HistoryRecord = v.object({
  at: Time,
  actor: v.string(),
  verb: v.picklist(HISTORY_VERBS),
  status: v.picklist(CLAIM_STATUSES),
  attempt: v.number(),
  error: v.exactOptional(v.nullable(v.string())),
  /** JSON text. */
  result: v.exactOptional(v.string()),
});

const ClaimBase = v.object({
  consumer: v.string(),
  /** The event this consumer is given: the job's first, unless an operator reopened the claim with another. */
  eventType: v.string(),
  /** Counts from 1; 0 of a claim that was abandoned before anybody made it. */
  attempt: v.number(),
  fence: v.number(),
  /** `null`: no limit. */
  maxAttempts: v.nullable(v.number()),
  /** Rounds of attempts, from 1: one more with each `reopen`. Alerts of an earlier round count no more. */
  round: v.number(),
  /** When the present attempt began. */
  claimedAt: Time,
  changedAt: Time,
  dispatchedTo: v.array(v.string()),
  history: v.array(HistoryRecord),
});

export const ClaimEntry = v.variant("status", [
  v.object({
    ...ClaimBase.entries,
    status: v.literal("claimed"),
    token: v.string(),
    leaseExpiresAt: Time,
    /** Attempts in a row, up to the one before this, whose lease ran out without a settle. */
    vanished: v.number(),
  }),
  v.object({
    ...ClaimBase.entries,
    status: v.literal("released"),
    token: v.string(),
    retryAt: Time,
    error: v.nullable(v.string()),
  }),
  /** `refresh`: Sume is to be asked for the event anew before the job is dispatched. */
  v.object({ ...ClaimBase.entries, status: v.literal("reopened"), refresh: v.boolean() }),
  v.object({
    ...ClaimBase.entries,
    status: v.literal("completed"),
    token: v.string(),
    completedAt: Time,
    /** JSON text, `null` when the holder gave none. */
    result: v.nullable(v.string()),
  }),
  v.object({
    ...ClaimBase.entries,
    status: v.literal("failed"),
    /** `null`: what was stored could not be read, so nobody holds it. */
    token: v.nullable(v.string()),
    failedAt: Time,
    error: v.nullable(v.string()),
    /** `exhausted`: the lease of the last attempt ran out; its holder may still complete. */
    by: v.picklist(["release", "exhausted", "unreadable"]),
  }),
  v.object({
    ...ClaimBase.entries,
    status: v.literal("abandoned"),
    /** Of the attempt that was held, which may still complete; `null` where nobody held it. */
    token: v.nullable(v.string()),
    abandonedAt: Time,
    by: v.string(),
  }),
]);

/** What a job keeps for its watch; a job that was neither expected nor alerted has no such row. */
export const WatchEntry = v.object({
  /** One for each consumer that announced the event. */
  expectations: v.array(
    v.object({
      by: v.string(),
      setAt: Time,
      dueAt: Time,
      cancelledBy: v.nullable(v.string()),
      /** From 1: one more each time that the consumer sets its deadline anew. */
      round: v.number(),
    }),
  ),
  /** The alerts that were sent, by reason and by the consumer they were for; `round`: of its claim, or its expectation. */
  calls: v.array(
    v.object({
      reason: v.picklist(["not_arrived", "not_finished"]),
      consumer: v.string(),
      round: v.number(),
      rings: v.number(),
      nextAt: Time,
    }),
  ),
  /** Conflicting events whose alert was sent, the first of them first. */
  conflictsTold: v.number(),
  changedAt: Time,
});

export type EventEntry = v.InferOutput<typeof EventEntry>;
/** What a claim has in every status. */
export type ClaimBase = v.InferOutput<typeof ClaimBase>;
export type ClaimEntry = v.InferOutput<typeof ClaimEntry>;
export type HistoryRecord = v.InferOutput<typeof HistoryRecord>;
export type WatchEntry = v.InferOutput<typeof WatchEntry>;

/** Never changed in place: a transition returns a new record that shares every entry it left alone. */
export type JobRecord = {
  /** In order of arrival. */
  readonly events: readonly EventEntry[];
  /** By consumer. A map, for «constructor» is a consumer name like any other. */
  readonly claims: ReadonlyMap<string, ClaimEntry>;
  readonly watch: WatchEntry | null;
};

export const EMPTY_RECORD: JobRecord = { events: [], claims: new Map(), watch: null };
export const EMPTY_WATCH: WatchEntry = { expectations: [], calls: [], conflictsTold: 0, changedAt: 0 };

/** What a transition came to: the record after it, the very same one where nothing changed, and the caller's answer. */
export type Decision<Outcome> = { record: JobRecord; outcome: Outcome };

/** What a claim is before its first attempt. */
export function blankClaim(
  consumer: string,
  eventType: string,
  { round, at }: { round: number; at: number },
): ClaimBase {
  return {
    consumer,
    eventType,
    attempt: 0,
    fence: 0,
    maxAttempts: null,
    round,
    claimedAt: at,
    changedAt: at,
    dispatchedTo: [],
    history: [],
  };
}

/** Nobody waits for such a claim; only an operator opens it again. */
export function hasEnded(claim: ClaimEntry): claim is ClaimEntry & { status: "completed" | "failed" | "abandoned" } {
  return claim.status === "completed" || claim.status === "failed" || claim.status === "abandoned";
}

/**
 * The consumers a job still waits for: whose claim has not ended, and who were sent a message (stand in someone's
 * `dispatchedTo`) and have not claimed.
 */
export function unfinished(record: JobRecord): string[] {
  const waiting = new Set<string>();
  for (const claim of record.claims.values()) {
    if (!hasEnded(claim)) waiting.add(claim.consumer);
    for (const consumer of claim.dispatchedTo) {
      if (!record.claims.has(consumer)) waiting.add(consumer);
    }
  }
  return [...waiting];
}

/** When a message was last sent to that consumer, as far as completed claims tell; in the infinite past if none does. */
export function dispatchedAt({ claims }: JobRecord, consumer: string): number {
  const dispatchers = [...claims.values()].filter(
    (claim) => claim.status === "completed" && claim.dispatchedTo.includes(consumer),
  );
  return Math.max(...dispatchers.map(({ changedAt }) => changedAt));
}

/** The consumer's round of attempts; before its first claim that of whoever had a message sent to it. */
export function roundOf({ claims }: JobRecord, consumer: string): number {
  const own = claims.get(consumer);
  if (own !== undefined) return own.round;
  const dispatchers = [...claims.values()].filter(({ dispatchedTo }) => dispatchedTo.includes(consumer));
  return Math.max(1, ...dispatchers.map(({ round }) => round));
}

/** Expectations of an event that has not come, and that were not called off. */
export function openExpectations({ events, watch }: JobRecord): WatchEntry["expectations"] {
  if (events.length > 0 || watch === null) return [];
  return watch.expectations.filter(({ cancelledBy }) => cancelledBy === null);
}
