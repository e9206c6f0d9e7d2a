// The RPC contract: what callers may send (valibot schemas, applied at the entrypoints before any object is touched) and
// what they get back (discriminated unions on `outcome`). No behaviour lives here beyond checking and cutting to size.
// Times are epoch milliseconds, durations milliseconds.

import * as v from "valibot";
import { LedgerError } from "./errors.ts";
import {
  MAX_ATTEMPTS_LIMIT,
  MAX_DISPATCHED_TO,
  MAX_ERROR_BYTES,
  MAX_EVENT_BODY_BYTES,
  MAX_EVENT_TYPE_LENGTH,
  MAX_EXPECT_WITHIN_MS,
  MAX_JOB_ID_BYTES,
  MAX_LEASE_MS,
  MAX_RENEWALS,
  MAX_RESULT_BYTES,
  MAX_RETRY_AFTER_MS,
  MAX_TOKEN_LENGTH,
  MAX_WAIT_MS,
  MIN_LEASE_MS,
} from "./limits.ts";

/** A JSON value; results are kept as JSON text. Not spelled out recursively: the RPC types unroll every type they carry. */
export type Json = string | number | boolean | null | object;

// A lone surrogate has no UTF-8 form: two different strings would be stored as one.
const Text = v.pipe(
  v.string(),
  v.minLength(1),
  v.check((value) => value.isWellFormed(), "must be well-formed Unicode"),
);
const milliseconds = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));

/** Sume's idempotency key: 1 to 512 bytes of well-formed UTF-8. */
export const JobId = v.pipe(Text, v.maxBytes(MAX_JOB_ID_BYTES));
/** An event type such as `job.completed`: 1 to 128 characters. */
export const EventType = v.pipe(Text, v.maxLength(MAX_EVENT_TYPE_LENGTH));
/** A namespace or consumer name. It holds no colon, so the first colon of an object's name ends the namespace. */
export const Name = v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,64}$/, "must match [a-z0-9-]{1,64}"));
const Token = v.pipe(Text, v.maxLength(MAX_TOKEN_LENGTH));
const LeaseMs = milliseconds(MIN_LEASE_MS, MAX_LEASE_MS);

export const EventSource = v.picklist(["webhook", "poll"]);
export const LedgerEvent = v.strictObject({
  type: EventType,
  body: v.pipe(Text, v.maxBytes(MAX_EVENT_BODY_BYTES)),
  source: EventSource,
});

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
  result: v.optional(v.pipe(v.unknown(), v.rawTransform(toJsonText))),
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
});

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
export type EventSource = v.InferOutput<typeof EventSource>;
export type LedgerEvent = v.InferOutput<typeof LedgerEvent>;

/** Who a binding is, from the `props` in its Worker's wrangler config. */
export type Identity = { namespace: string; consumer: string };

/** `attempt` counts from 1; `fence` only ever grows, per consumer and job: use it for conditional writes downstream. */
export type Attempt = { attempt: number; fence: number };

/** Set when the claim brought another event type than the job's first. */
export type Conflict = { recorded: string; received: string };

export type ClaimOutcome = { conflict?: Conflict } & (
  | { outcome: "unknown" }
  | (Attempt &
      (
        | { outcome: "claimed"; token: string; leaseExpiresAt: number; event: LedgerEvent }
        | { outcome: "in_progress"; retryAt: number }
        | { outcome: "deferred"; retryAt: number }
        | { outcome: "completed"; completedAt: number; result: Json; dispatchedTo: string[] }
        | { outcome: "failed"; failedAt: number; error: string | null }
      ))
);

/**
 * The caller's token does not hold the claim, nothing was changed. `taken`: another attempt has it; `settled`: it was
 * settled by another verb; `no_claim`: the caller has none, or it was reopened.
 */
export type Stale = { outcome: "stale"; reason: "taken" | "settled" | "no_claim" };
export type CompleteOutcome = { outcome: "ok"; status: "completed" } | Stale;
export type ReleaseOutcome =
  | { outcome: "ok"; status: "released"; retryAt: number }
  | { outcome: "ok"; status: "failed" }
  | Stale;
/** `unavailable`: that job's object could not be reached; the others were still renewed. */
export type RenewOutcome = { outcome: "ok"; leaseExpiresAt: number } | Stale | { outcome: "unavailable" };
export type RenewAnswer = { jobId: string } & RenewOutcome;
export type ReopenOutcome =
  | { outcome: "reopened" }
  /** The claim is not settled: it is held, or released and waiting for its retry. */
  | { outcome: "open"; status: "claimed" | "released" }
  | { outcome: "unknown"; missing: "claim" | "event" };

export type ExpectEventOutcome =
  /** The alert comes at `dueAt`, unless the event does. */
  | { outcome: "expected"; dueAt: number }
  /** The event is there already. */
  | { outcome: "arrived" };
export type CancelExpectationOutcome =
  | { outcome: "cancelled" }
  | { outcome: "arrived" }
  /** Nothing was expected. */
  | { outcome: "none" }
  /** Another consumer, `by`, set the deadline that holds. */
  | { outcome: "not_yours"; by: string };

export type ClaimStatus = "claimed" | "released" | "reopened" | "completed" | "failed";

/** One step in a claim's life; `error`, `result` and `retryAt` as they were set by it, or ended by a `reopen`. */
export type HistoryEntry = {
  at: number;
  actor: string;
  verb: "claim" | "complete" | "release" | "exhausted" | "reopen";
  status: ClaimStatus;
  attempt: number;
  error?: string | null;
  result?: Json;
};

export type ClaimView = Attempt & {
  consumer: string;
  status: ClaimStatus;
  eventType: string;
  maxAttempts: number | null;
  claimedAt: number;
  changedAt: number;
  leaseExpiresAt: number | null;
  retryAt: number | null;
  settledAt: number | null;
  error: string | null;
  result: Json;
  dispatchedTo: string[];
  history: HistoryEntry[];
};

export type EventView = {
  type: string;
  source: EventSource;
  receivedAt: number;
  bytes: number;
  body?: string;
};

/** What `inspect` shows. It holds no token: whoever may look may not therefore settle. */
export type JobView = {
  namespace: string;
  jobId: string;
  events: EventView[];
  /** More than one event type came for this job. */
  conflict: boolean;
  claims: ClaimView[];
  /** Consumers whose work is not settled, or who were sent a message and have not claimed. */
  unfinished: string[];
  /** What `expectEvent` announced, until it came or was called off. */
  expectation: {
    by: string;
    setAt: number;
    dueAt: number;
    cancelledBy: string | null;
    arrived: boolean;
  } | null;
  /**
   * `null` when nothing is unfinished or expected. `rings`: alerts so far; `nextAt`: when the next is due; `overdue`: more
   * rings than it takes the backup to try everything, so a person should look.
   */
  watch: { reason: "not_arrived" | "not_finished"; rings: number; nextAt: number; overdue: boolean } | null;
};

/** What the ledger puts on the alerts queue. */
export type AlertMessage = {
  namespace: string;
  jobId: string;
  /** Expected and not come; come and not finished; come with two event types. */
  reason: "not_arrived" | "not_finished" | "conflict";
  /** Counts from 1 for each reason; of `not_finished`, anew after a `reopen`. */
  ring: number;
  /** Of `not_finished`: the consumers to send a message to, the receiver's own name among them where its part is not done. */
  pending: string[];
};

/**
 * Checks arguments that crossed the RPC boundary.
 * @throws {LedgerError} `too_large` over a size limit, else `invalid_argument`; the message names the argument and what it
 *   must be, and never repeats what it was: arguments may be secret.
 */
export function checked<S extends v.GenericSchema>(verb: string, schema: S, input: unknown): v.InferOutput<S> {
  const parsed = v.safeParse(schema, input, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const code = issue.type === "max_bytes" || issue.type === "max_length" ? "too_large" : "invalid_argument";
  throw new LedgerError(code, `${verb}: ${v.getDotPath(issue) ?? "arguments"} ${describeIssue(issue)}`);
}

/** What the value at fault must be, to follow its name; never what it was. */
export function describeIssue(issue: v.BaseIssue<unknown>): string {
  if (issue.received === "undefined") return "is missing";
  switch (issue.type) {
    case "max_bytes":
      return `must have at most ${String(issue.requirement)} bytes of UTF-8`;
    case "max_length":
      return `must have a length of at most ${String(issue.requirement)}`;
    case "min_length":
      return "must not be empty";
    case "integer":
      return "must be a whole number";
    case "check":
    case "regex":
    case "raw_transform":
      return issue.message;
    case "strict_object":
      return issue.expected === "never" ? "is not an argument of this call" : "must be an object";
    default:
      return `must be ${issue.expected ?? "valid"}`;
  }
}

function toJsonText({ dataset, addIssue, NEVER }: v.RawTransformContext<unknown>): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(dataset.value);
  } catch {
    json = undefined; // a cycle or a BigInt
  }
  if (json === undefined) {
    addIssue({ message: "must be a JSON value" });
    return NEVER;
  }
  if (new TextEncoder().encode(json).length > MAX_RESULT_BYTES) {
    throw new LedgerError("too_large", `complete: result must have at most ${MAX_RESULT_BYTES} bytes of JSON`);
  }
  return json;
}

/** Cuts at a character boundary: a multi-byte character that would straddle the end is left out whole. */
function cutToBytes(value: string, most: number): string {
  const { read } = new TextEncoder().encodeInto(value, new Uint8Array(most));
  return value.slice(0, read);
}
