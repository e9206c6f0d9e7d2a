// What callers may send, as valibot schemas; the entrypoints apply them before any object is touched. No behaviour
// beyond checking and cutting to size. Durations are milliseconds.

import * as v from "valibot";
import { LedgerError } from "./errors.ts";
import { jsonTextOf } from "./json.ts";
import {
  MAX_ATTEMPTS_LIMIT,
  MAX_DISPATCHED_TO,
  MAX_ERROR_BYTES,
  MAX_EXPECT_WITHIN_MS,
  MAX_LEASE_MS,
  MAX_RENEWALS,
  MAX_RETRY_AFTER_MS,
  MAX_TOKEN_LENGTH,
  MAX_WAIT_MS,
  MIN_LEASE_MS,
} from "./limits.ts";
import { EventType, JobId, type Json, LedgerEvent, Name, Text } from "./values.ts";

const milliseconds = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
const Token = v.pipe(Text, v.maxLength(MAX_TOKEN_LENGTH));
const LeaseMs = milliseconds(MIN_LEASE_MS, MAX_LEASE_MS);

export const ClaimArgs = v.strictObject({
  jobId: JobId,
  event: v.optional(LedgerEvent),
  leaseMs: v.optional(LeaseMs),
  waitMs: v.optional(milliseconds(0, MAX_WAIT_MS), 0),
  maxAttempts: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_ATTEMPTS_LIMIT)))),
  token: v.optional(Token),
});

export const CompleteArgs = v.strictObject({
  jobId: JobId,
  token: Token,
  result: v.optional(v.pipe(v.unknown(), v.transform(keptAsText))),
  dispatchedTo: v.optional(
    v.pipe(
      v.array(Name),
      v.maxLength(MAX_DISPATCHED_TO),
      v.transform((names) => [...new Set(names)]),
    ),
  ),
});

export const ReleaseArgs = v.strictObject({
  jobId: JobId,
  token: Token,
  error: v.optional(
    v.pipe(
      v.string(),
      v.transform((error) => cutToBytes(error.toWellFormed(), MAX_ERROR_BYTES)),
    ),
  ),
  retryAfterMs: v.optional(milliseconds(0, MAX_RETRY_AFTER_MS), 0),
  permanent: v.optional(v.boolean(), false),
});

export const RenewArgs = v.strictObject({
  claims: v.pipe(v.array(v.strictObject({ jobId: JobId, token: Token })), v.minLength(1), v.maxLength(MAX_RENEWALS)),
  leaseMs: v.optional(LeaseMs),
});

export const InspectArgs = v.strictObject({
  jobId: JobId,
  /** With `true` the record's events carry their bodies. */
  body: v.optional(v.boolean(), false),
});

export const ExpectEventArgs = v.strictObject({ jobId: JobId, withinMs: milliseconds(1, MAX_EXPECT_WITHIN_MS) });
export const CancelExpectationArgs = v.strictObject({ jobId: JobId });

/** Who an operator's Worker acts for, and on which job; `actor` is kept in the job's history. */
const Operation = {
  namespace: Name,
  jobId: JobId,
  actor: v.pipe(Text, v.maxLength(MAX_TOKEN_LENGTH)),
};
export const AdminInspectArgs = v.strictObject({ ...InspectArgs.entries, ...Operation });
export const AdminCancelExpectationArgs = v.strictObject(Operation);
export const ReopenArgs = v.strictObject({
  ...Operation,
  consumer: Name,
  eventType: v.optional(EventType),
  /** Ask Sume to redeliver first, so that the next claim gets a fresh body: media URLs expire. */
  refresh: v.optional(v.boolean(), false),
});
export const AbandonArgs = v.strictObject({ ...Operation, consumer: Name });

export type ClaimArgs = v.InferInput<typeof ClaimArgs>;
export type CompleteArgs = Omit<v.InferInput<typeof CompleteArgs>, "result"> & { result?: Json };
export type ReleaseArgs = v.InferInput<typeof ReleaseArgs>;
export type RenewArgs = v.InferInput<typeof RenewArgs>;
export type InspectArgs = v.InferInput<typeof InspectArgs>;
export type ExpectEventArgs = v.InferInput<typeof ExpectEventArgs>;
export type CancelExpectationArgs = v.InferInput<typeof CancelExpectationArgs>;
export type AdminCancelExpectationArgs = v.InferInput<typeof AdminCancelExpectationArgs>;
export type AdminInspectArgs = v.InferInput<typeof AdminInspectArgs>;
export type ReopenArgs = v.InferInput<typeof ReopenArgs>;
export type AbandonArgs = v.InferInput<typeof AbandonArgs>;

/**
 * @throws {LedgerError} when the result cannot come back as it went in, or is too large; with the path to what is at
 * fault.
 */
function keptAsText(result: unknown): string {
  const json = jsonTextOf(result);
  if ("problem" in json) throw new LedgerError(json.code, `complete: ${json.path} ${json.problem}`);
  return json.text;
}

/** Cuts at a character boundary: a multi-byte character that would straddle the end is left out whole. */
function cutToBytes(value: string, most: number): string {
  const { read } = new TextEncoder().encodeInto(value, new Uint8Array(most));
  return value.slice(0, read);
}
