// The state machine of one job: pure functions of (record, command, now). No storage, clock or environment; the object
// (job-ledger.ts) supplies them. This is the one place that knows which command changes which state, and into what.
// A function that changes nothing returns the very record it was given, which is how the store knows to write nothing.

import {
  type Attempt,
  type ClaimOutcome,
  type CompleteOutcome,
  type Conflict,
  type EventSource,
  type LedgerEvent,
  MAX_EVENT_TYPES,
  MAX_HISTORY,
  type ReleaseOutcome,
  type RenewOutcome,
  type ReopenOutcome,
  type Stale,
} from "../../contract/index.ts";
import {
  type ClaimEntry,
  type EventEntry,
  type HistoryRecord,
  type JobEntry,
  type JobRecord,
  parseResult,
} from "./record.ts";

export type ClaimCommand = {
  consumer: string;
  token: string;
  leaseMs: number;
  /** `null`: no limit. */
  maxAttempts: number | null;
  /** `alerted`: of an event that conflicts with the job's first, whether its alert is on the queue. */
  event?: { type: string; source: EventSource; bytes: number; alerted: boolean };
};
export type CompleteCommand = {
  consumer: string;
  token: string;
  /** JSON text. */
  result: string | null;
  dispatchedTo: readonly string[] | null;
};
export type ReleaseCommand = {
  consumer: string;
  token: string;
  error: string | null;
  retryAfterMs: number;
  permanent: boolean;
};
export type RenewCommand = { consumer: string; token: string; leaseMs: number };
export type ReopenCommand = { actor: string; consumer: string; eventType: string | null };

export type Decision<Outcome> = { record: JobRecord; outcome: Outcome };

/** A claim's outcome before the object has added the event's body. */
export type ClaimDecision = WithoutBody<ClaimOutcome>;
type WithoutBody<O> = O extends { event: LedgerEvent } ? Omit<O, "event"> & { eventType: string } : O;

/** Records the event the claim brings, if any, and gives the caller the claim or says why not. */
export function claim(record: JobRecord, command: ClaimCommand, now: number): Decision<ClaimDecision> {
  const { received, conflict } = receive(record, command.event, now);
  const [first] = received.events;
  if (first === undefined) return { record, outcome: { outcome: "unknown" } };

  const held = received.claims.get(command.consumer);
  const { claim: next, outcome } = held === undefined ? begin(command, first.type, now) : take(held, command, now);
  return {
    record: next === held ? received : withClaim(received, next),
    outcome: conflict === undefined ? outcome : { ...outcome, conflict },
  };
}

/** Marks the caller's work as done. A holder whose lease ran out may still complete while nobody took its claim. */
export function complete(record: JobRecord, command: CompleteCommand, now: number): Decision<CompleteOutcome> {
  const found = owned(record, command);
  if ("outcome" in found) return { record, outcome: found };
  const outcome = { outcome: "ok", status: "completed" } as const;
  if (found.status === "completed") return { record, outcome };
  // The last attempt's holder was given up, not superseded: what it finished counts.
  if (found.status !== "claimed" && !(found.status === "failed" && found.by === "exhausted")) {
    return { record, outcome: SETTLED };
  }
  const { result } = command;
  const completed: ClaimEntry = {
    ...common(found),
    dispatchedTo: [...(command.dispatchedTo ?? found.dispatchedTo)],
    changedAt: now,
    history: logged(found, { at: now, actor: found.consumer, verb: "complete", status: "completed" }),
    status: "completed",
    token: command.token,
    completedAt: now,
    result,
  };
  return { record: withClaim(record, completed), outcome };
}

/** Gives the claim back, to be taken again after `retryAfterMs`, or for good: `permanent`, or attempts used up. */
export function release(record: JobRecord, command: ReleaseCommand, now: number): Decision<ReleaseOutcome> {
  const found = owned(record, command);
  if ("outcome" in found) return { record, outcome: found };
  const { error } = command;
  switch (found.status) {
    case "released":
      return { record, outcome: { outcome: "ok", status: "released", retryAt: found.retryAt } };
    case "failed":
      return { record, outcome: found.by === "release" ? { outcome: "ok", status: "failed" } : SETTLED };
    case "completed":
      return { record, outcome: SETTLED };
    case "claimed":
      break;
    default:
      return found satisfies never;
  }
  const last = found.maxAttempts !== null && found.attempt >= found.maxAttempts;
  if (command.permanent || last) {
    const failed = fail(found, { at: now, actor: found.consumer, verb: "release", error, by: "release" });
    return { record: withClaim(record, failed), outcome: { outcome: "ok", status: "failed" } };
  }
  const retryAt = now + command.retryAfterMs;
  const released: ClaimEntry = {
    ...common(found),
    changedAt: now,
    history: logged(found, { at: now, actor: found.consumer, verb: "release", status: "released", error }),
    status: "released",
    token: command.token,
    retryAt,
    error,
  };
  return { record: withClaim(record, released), outcome: { outcome: "ok", status: "released", retryAt } };
}

/** Moves the end of the lease to `now + leaseMs`, never nearer than it is. */
export function renew(record: JobRecord, command: RenewCommand, now: number): Decision<RenewOutcome> {
  const found = owned(record, command);
  if ("outcome" in found) return { record, outcome: found };
  if (found.status !== "claimed") return { record, outcome: SETTLED };
  const leaseExpiresAt = Math.max(found.leaseExpiresAt, now + command.leaseMs);
  const outcome = { outcome: "ok", leaseExpiresAt } as const;
  if (leaseExpiresAt === found.leaseExpiresAt) return { record, outcome };
  return { record: withClaim(record, { ...found, leaseExpiresAt, changedAt: now }), outcome };
}

/** Whether an event of that type would be the first of its kind to conflict with the job's. */
export function isNewConflict(record: JobRecord, eventType: string): boolean {
  const { events } = record;
  return events.length > 0 && events.length < MAX_EVENT_TYPES && !events.some(({ type }) => type === eventType);
}

/**
 * Makes a settled claim claimable again, with a fresh count of attempts and, if given, another recorded event type. Its
 * token is forgotten, so every earlier holder is stale; its outcome stays in the history.
 */
export function reopen(record: JobRecord, command: ReopenCommand, now: number): Decision<ReopenOutcome> {
  const held = record.claims.get(command.consumer);
  if (held === undefined) return { record, outcome: { outcome: "unknown", missing: "claim" } };
  // A holder that died on its last attempt has failed, though nobody has come by to find out.
  const found = exhaust(held, now);
  const eventType = command.eventType ?? found.eventType;
  if (!record.events.some((event) => event.type === eventType)) {
    return { record, outcome: { outcome: "unknown", missing: "event" } };
  }
  switch (found.status) {
    case "claimed":
    case "released":
      return { record, outcome: { outcome: "open", status: found.status } };
    case "reopened":
      if (found.eventType === eventType) return { record, outcome: { outcome: "reopened" } };
      break;
    case "completed":
    case "failed":
      break;
    default:
      return found satisfies never;
  }
  const outcome =
    found.status === "failed"
      ? { error: found.error }
      : found.status === "completed" && found.result !== null
        ? { result: found.result }
        : {};
  const reopened: ClaimEntry = {
    ...common(found),
    eventType,
    changedAt: now,
    history: logged(found, { at: now, actor: command.actor, verb: "reopen", status: "reopened", ...outcome }),
    status: "reopened",
  };
  // Due at once, so that the job is dispatched again without a second step.
  const job: JobEntry = {
    expectation: record.job?.expectation ?? null,
    watch: { reason: "not_finished", rings: 0, nextAt: now },
    changedAt: now,
  };
  return { record: { ...withClaim(record, reopened), job }, outcome: { outcome: "reopened" } };
}

/** Keeps an event of a new type, at most `MAX_EVENT_TYPES`; one of a known type adds nothing. */
function receive(
  record: JobRecord,
  event: ClaimCommand["event"],
  now: number,
): { received: JobRecord; conflict?: Conflict } {
  if (event === undefined) return { received: record };
  const [first] = record.events;
  const entry: EventEntry = {
    ...event,
    order: record.events.length,
    receivedAt: now,
    alerted: first === undefined || event.alerted,
  };
  const isNew = first === undefined || isNewConflict(record, event.type);
  const received = isNew ? { ...record, events: [...record.events, entry] } : record;
  return first === undefined || first.type === event.type
    ? { received }
    : { received, conflict: { recorded: first.type, received: event.type } };
}

type Taken = { claim: ClaimEntry; outcome: ClaimDecision };

function begin(command: ClaimCommand, eventType: string, now: number): Taken {
  const blank = {
    consumer: command.consumer,
    eventType,
    attempt: 0,
    fence: 0,
    dispatchedTo: [],
    history: [],
  };
  return grant(blank, command, now);
}

function take(held: ClaimEntry, command: ClaimCommand, now: number): Taken {
  const { attempt, fence } = held;
  const attempted: Attempt = { attempt, fence };
  switch (held.status) {
    case "claimed": {
      const { token, leaseExpiresAt, eventType } = held;
      const live = now < leaseExpiresAt;
      if (token === command.token) {
        // The same call again. Where its lease ran out and nobody took it, it is still the holder, and needs a live one.
        const kept = live ? held : { ...held, leaseExpiresAt: now + command.leaseMs, changedAt: now };
        const { leaseExpiresAt: until } = kept;
        return { claim: kept, outcome: { outcome: "claimed", ...attempted, token, leaseExpiresAt: until, eventType } };
      }
      if (live) return { claim: held, outcome: { outcome: "in_progress", ...attempted, retryAt: leaseExpiresAt } };
      const exhausted = exhaust(held, now);
      return exhausted === held ? grant(held, command, now) : take(exhausted, command, now);
    }
    case "released":
      return now < held.retryAt
        ? { claim: held, outcome: { outcome: "deferred", ...attempted, retryAt: held.retryAt } }
        : grant(held, command, now);
    case "reopened":
      return grant({ ...held, attempt: 0 }, command, now);
    case "completed": {
      const { completedAt, dispatchedTo } = held;
      const result = parseResult(held.result);
      return {
        claim: held,
        outcome: { outcome: "completed", ...attempted, completedAt, result, dispatchedTo: [...dispatchedTo] },
      };
    }
    case "failed":
      return {
        claim: held,
        outcome: { outcome: "failed", ...attempted, failedAt: held.failedAt, error: held.error },
      };
    default:
      return held satisfies never;
  }
}

/** A held claim whose last attempt's lease has run out becomes `failed`; any other claim is returned as it is. */
export function exhaust(held: ClaimEntry, now: number): ClaimEntry {
  if (held.status !== "claimed" || now < held.leaseExpiresAt) return held;
  const { attempt, maxAttempts } = held;
  if (maxAttempts === null || attempt < maxAttempts) return held;
  const error = `attempts used up: the lease of attempt ${attempt} of ${maxAttempts} ran out`;
  return fail(held, { at: now, actor: "ledger", verb: "exhausted", error, by: "exhausted" });
}

function grant(
  from: Pick<ClaimEntry, "consumer" | "eventType" | "attempt" | "fence" | "dispatchedTo" | "history">,
  command: ClaimCommand,
  now: number,
): Taken {
  const { token } = command;
  const { consumer, eventType, dispatchedTo } = from;
  const attempt = from.attempt + 1;
  // Above the clock as well as above the last one: a job that was cleaned up and comes again starts higher than it ended.
  const fence = Math.max(now, from.fence + 1);
  const leaseExpiresAt = now + command.leaseMs;
  const history = logged({ ...from, attempt }, { at: now, actor: consumer, verb: "claim", status: "claimed" });
  return {
    claim: {
      consumer,
      eventType,
      attempt,
      fence,
      maxAttempts: command.maxAttempts,
      claimedAt: now,
      changedAt: now,
      dispatchedTo,
      history,
      status: "claimed",
      token,
      leaseExpiresAt,
    },
    outcome: { outcome: "claimed", attempt, fence, token, leaseExpiresAt, eventType },
  };
}

function fail(
  held: ClaimEntry & { status: "claimed" },
  end: { at: number; actor: string; verb: "release" | "exhausted"; error: string | null; by: "release" | "exhausted" },
): ClaimEntry {
  const { by, ...entry } = end;
  return {
    ...common(held),
    changedAt: end.at,
    history: logged(held, { ...entry, status: "failed" }),
    status: "failed",
    token: held.token,
    failedAt: end.at,
    error: end.error,
    by,
  };
}

type Settleable = Exclude<ClaimEntry, { status: "reopened" }>;
const SETTLED: Stale = { outcome: "stale", reason: "settled" };

/** The claim that the command's token is the latest of, or why it is stale. */
function owned(record: JobRecord, command: { consumer: string; token: string }): Settleable | Stale {
  const found = record.claims.get(command.consumer);
  if (found === undefined || found.status === "reopened") return { outcome: "stale", reason: "no_claim" };
  return found.token === command.token ? found : { outcome: "stale", reason: "taken" };
}

/** What a claim keeps through every change of status. */
function common(held: ClaimEntry) {
  const { consumer, eventType, attempt, fence, maxAttempts, claimedAt, changedAt, dispatchedTo, history } = held;
  return { consumer, eventType, attempt, fence, maxAttempts, claimedAt, changedAt, dispatchedTo, history };
}

function logged(held: Pick<ClaimEntry, "attempt" | "history">, entry: Omit<HistoryRecord, "attempt">): HistoryRecord[] {
  return [...held.history, { ...entry, attempt: held.attempt }].slice(-MAX_HISTORY);
}

function withClaim(record: JobRecord, changed: ClaimEntry): JobRecord {
  return { ...record, claims: new Map(record.claims).set(changed.consumer, changed) };
}
