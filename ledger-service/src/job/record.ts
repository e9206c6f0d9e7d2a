// What one job's object keeps, as plain values: the state machine (transitions.ts) reads and makes them, the store writes
// them. The claim schema is also the reader of what older releases stored: a field that a release adds gets a default here.

import * as v from "valibot";
import { EventSource, type Json } from "../../contract/index.ts";

const Time = v.number();

/** An event as the record knows it; its body is stored beside it, and handed out with a claim. */
export const EventEntry = v.object({
  type: v.string(),
  /** Position by arrival, from 0. Times do not tell: a clock may step back, or stand still between two calls. */
  order: v.number(),
  source: EventSource,
  receivedAt: Time,
  bytes: v.number(),
  /** Only of an event that conflicts with the first: whether its alert is on the queue. */
  alerted: v.optional(v.boolean(), true),
});

/** What a job keeps beside its events and claims; most jobs never need it, and have no such row. */
export const JobEntry = v.object({
  expectation: v.nullable(v.object({ by: v.string(), setAt: Time, dueAt: Time, cancelledBy: v.nullable(v.string()) })),
  /** The alerts so far for this reason, and when the next is due. */
  watch: v.nullable(v.object({ reason: v.picklist(["not_arrived", "not_finished"]), rings: v.number(), nextAt: Time })),
  changedAt: Time,
});

const HistoryRecord = v.object({
  at: Time,
  actor: v.string(),
  verb: v.picklist(["claim", "complete", "release", "exhausted", "reopen"]),
  status: v.picklist(["claimed", "released", "reopened", "completed", "failed"]),
  attempt: v.number(),
  error: v.exactOptional(v.nullable(v.string())),
  /** JSON text. */
  result: v.exactOptional(v.string()),
});

const ClaimCommon = {
  consumer: v.string(),
  /** The event this consumer is given: the job's first, unless an operator reopened the claim with another. */
  eventType: v.string(),
  attempt: v.number(),
  fence: v.number(),
  /** `null`: no limit. */
  maxAttempts: v.nullable(v.number()),
  /** When the present attempt began. */
  claimedAt: Time,
  changedAt: Time,
  dispatchedTo: v.array(v.string()),
  history: v.array(HistoryRecord),
};

export const ClaimEntry = v.variant("status", [
  v.object({ ...ClaimCommon, status: v.literal("claimed"), token: v.string(), leaseExpiresAt: Time }),
  v.object({
    ...ClaimCommon,
    status: v.literal("released"),
    token: v.string(),
    retryAt: Time,
    error: v.nullable(v.string()),
  }),
  v.object({ ...ClaimCommon, status: v.literal("reopened") }),
  v.object({
    ...ClaimCommon,
    status: v.literal("completed"),
    token: v.string(),
    completedAt: Time,
    /** JSON text, `null` when the holder gave none. */
    result: v.nullable(v.string()),
  }),
  v.object({
    ...ClaimCommon,
    status: v.literal("failed"),
    token: v.string(),
    failedAt: Time,
    error: v.nullable(v.string()),
    /** `exhausted`: the lease of the last attempt ran out; its holder may still complete. */
    by: v.picklist(["release", "exhausted"]),
  }),
]);

export type EventEntry = v.InferOutput<typeof EventEntry>;
export type ClaimEntry = v.InferOutput<typeof ClaimEntry>;
export type HistoryRecord = v.InferOutput<typeof HistoryRecord>;
export type JobEntry = v.InferOutput<typeof JobEntry>;

/** Never changed in place: a transition returns a new record that shares every entry it left alone. */
export type JobRecord = {
  /** In order of arrival. */
  readonly events: readonly EventEntry[];
  /** By consumer. A map, for «constructor» is a consumer name like any other. */
  readonly claims: ReadonlyMap<string, ClaimEntry>;
  readonly job: JobEntry | null;
};

export const EMPTY_RECORD: JobRecord = { events: [], claims: new Map(), job: null };

/**
 * The consumers a job still waits for: whose claim is neither completed nor failed, and who were sent a message (stand in
 * someone's `dispatchedTo`) and have not claimed.
 */
export function unfinished(record: JobRecord): string[] {
  const waiting = new Set<string>();
  for (const claim of record.claims.values()) {
    if (claim.status !== "completed" && claim.status !== "failed") waiting.add(claim.consumer);
    for (const consumer of claim.dispatchedTo) {
      if (!record.claims.has(consumer)) waiting.add(consumer);
    }
  }
  return [...waiting];
}

/** An event was announced and has not come. */
export function isExpected({ events, job }: JobRecord): boolean {
  return events.length === 0 && job !== null && job.expectation !== null && job.expectation.cancelledBy === null;
}

/** The value behind stored JSON text; the text was made by `JSON.stringify`. */
export function parseResult(text: string | null): Json {
  return text === null ? null : JSON.parse(text);
}
