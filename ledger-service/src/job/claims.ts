// How claims change state: pure functions of (record, command, now). No storage, clock or environment; the object supplies
// them. This is the one place that knows which command changes which claim, and into what. A function that changes nothing
// returns the very record it was given, which is how the store knows to write nothing.

import {
  type AbandonOutcome,
  type Attempt,
  type ClaimOutcome,
  type CompleteOutcome,
  type LedgerEvent,
  MAX_HISTORY,
  type ReleaseOutcome,
  type RenewOutcome,
  type ReopenOutcome,
  type Stale,
} from "../../contract/index.ts";
import { type BroughtEvent, receive } from "./events.ts";
import {
  blankClaim,
  type ClaimBase,
  type ClaimEntry,
  type Decision,
  hasEnded,
  type HistoryRecord,
  type JobRecord,
  roundOf,
  unfinished,
} from "./record.ts";
import { parseResult } from "./result.ts";

export type ClaimCommand = {
  consumer: string;
  token: string;
  leaseMs: number;
  /** `null`: no limit. */
  maxAttempts: number | null;
  event?: BroughtEvent;
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
export type ReopenCommand = { actor: string; consumer: string; eventType: string | null; refresh: boolean };
export type AbandonCommand = { actor: string; consumer: string };

/** A claim's outcome before the object has added the event's body. */
export type ClaimDecision = WithoutBody<ClaimOutcome>;
type WithoutBody<O> = O extends { event: LedgerEvent } ? Omit<O, "event"> & { eventType: string } : O;

/** Records the event the claim brings, if any, and gives the caller the claim or says why not. */
export function claim(record: JobRecord, command: ClaimCommand, now: number): Decision<ClaimDecision> {
  const { received, conflict } = receive(record, command.event, now);
  const [first] = received.events;
  if (first === undefined) return { record, outcome: { outcome: "unknown" } };

  const held = received.claims.get(command.consumer);
  const { claim: next, outcome } =
    held === undefined
      ? grant(firstClaim(received, command.consumer, first.type, now), command, { now, vanished: 0 })
      : take(held, command, now);
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
  // A holder that was given up on, or abandoned, was not superseded: what it finished counts.
  const isGivenUp = found.status === "abandoned" || (found.status === "failed" && found.by === "exhausted");
  if (found.status !== "claimed" && !isGivenUp) return { record, outcome: SETTLED };
  const { result } = command;
  const completed: ClaimEntry = {
    ...common(found),
    dispatchedTo: [...(command.dispatchedTo ?? found.dispatchedTo)],
    changedAt: now,
    history: withStep(found, { at: now, actor: found.consumer, verb: "complete", status: "completed" }),
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
    case "abandoned":
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
    history: withStep(found, { at: now, actor: found.consumer, verb: "release", status: "released", error }),
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

/**
 * Makes a claim that has ended claimable again, with a fresh count of attempts and, if given, another recorded event type. Its
 * token is forgotten, so every earlier holder is stale; its outcome stays in the history.
 */
export function reopen(record: JobRecord, command: ReopenCommand, now: number): Decision<ReopenOutcome> {
  const held = record.claims.get(command.consumer);
  if (held === undefined) return { record, outcome: { outcome: "unknown", missing: "claim" } };
  // A holder that died on its last attempt has failed, though nobody has come by to find out.
  const found = exhaust(held, now);
  const { refresh } = command;
  // A claim that could not be read does not know its event.
  const eventType = command.eventType ?? (found.eventType || (record.events[0]?.type ?? ""));
  if (!record.events.some((event) => event.type === eventType)) {
    return { record, outcome: { outcome: "unknown", missing: "event" } };
  }
  if (found.status === "claimed" || found.status === "released") {
    return { record, outcome: { outcome: "open", status: found.status } };
  }
  if (found.status === "reopened" && found.eventType === eventType && (found.refresh || !refresh)) {
    return { record, outcome: { outcome: "reopened" } };
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
    round: found.round + 1,
    changedAt: now,
    history: withStep(found, { at: now, actor: command.actor, verb: "reopen", status: "reopened", ...outcome }),
    status: "reopened",
    refresh: refresh || (found.status === "reopened" && found.refresh),
  };
  return { record: withClaim(record, reopened), outcome: { outcome: "reopened" } };
}

/** Ends the wait for a consumer that will never finish, or never come. Its attempt, if one is open, may still complete. */
export function abandon(record: JobRecord, command: AbandonCommand, now: number): Decision<AbandonOutcome> {
  const { consumer, actor } = command;
  const claimed = record.claims.get(consumer);
  const held = claimed && exhaust(claimed, now);
  const [first] = record.events;
  if (first === undefined || (held === undefined && !unfinished(record).includes(consumer))) {
    return { record, outcome: { outcome: "unknown" } };
  }
  if (held !== undefined && hasEnded(held)) {
    const { status } = held;
    return {
      record: held === claimed ? record : withClaim(record, held),
      outcome: status === "abandoned" ? { outcome: "abandoned" } : { outcome: "ended", status },
    };
  }
  const from = held ?? firstClaim(record, consumer, first.type, now);
  const error = held?.status === "released" ? { error: held.error } : {};
  const abandoned: ClaimEntry = {
    ...common(from),
    changedAt: now,
    history: withStep(from, { at: now, actor, verb: "abandon", status: "abandoned", ...error }),
    status: "abandoned",
    token: held?.status === "claimed" ? held.token : null,
    abandonedAt: now,
    by: actor,
  };
  return { record: withClaim(record, abandoned), outcome: { outcome: "abandoned" } };
}

/** Claims whose last attempt's lease ran out become `failed`, so that nobody is called to them. */
export function expire(record: JobRecord, now: number): JobRecord {
  let expired = record;
  for (const held of record.claims.values()) {
    const after = exhaust(held, now);
    if (after !== held) expired = withClaim(expired, after);
  }
  return expired;
}

type Taken = { claim: ClaimEntry; outcome: ClaimDecision };

function take(held: ClaimEntry, command: ClaimCommand, now: number): Taken {
  const { attempt, fence } = held;
  const attempted: Attempt = { attempt, fence };
  switch (held.status) {
    case "claimed": {
      if (now < held.leaseExpiresAt) {
        // The same call again is the same attempt: its first answer was lost.
        return held.token === command.token
          ? { claim: held, outcome: claimedOutcome(held) }
          : { claim: held, outcome: { outcome: "in_progress", ...attempted, retryAt: held.leaseExpiresAt } };
      }
      // Also with the same token: a caller that crashes and comes again must use up its attempts.
      const exhausted = exhaust(held, now);
      if (exhausted !== held) return take(exhausted, command, now);
      return grant(held, command, { now, vanished: held.vanished + 1 });
    }
    case "released":
      return now < held.retryAt
        ? { claim: held, outcome: { outcome: "deferred", ...attempted, retryAt: held.retryAt } }
        : grant(held, command, { now, vanished: 0 });
    case "reopened":
      return grant({ ...held, attempt: 0 }, command, { now, vanished: 0 });
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
    case "abandoned": {
      const error = `abandoned by ${held.by}`;
      return { claim: held, outcome: { outcome: "failed", ...attempted, failedAt: held.abandonedAt, error } };
    }
    default:
      return held satisfies never;
  }
}

/** A held claim whose last attempt's lease has run out becomes `failed`; any other claim is returned as it is. */
function exhaust(held: ClaimEntry, now: number): ClaimEntry {
  if (held.status !== "claimed" || now < held.leaseExpiresAt) return held;
  const { attempt, maxAttempts } = held;
  if (maxAttempts === null || attempt < maxAttempts) return held;
  const error = `attempts used up: the lease of attempt ${attempt} of ${maxAttempts} ran out`;
  return fail(held, { at: now, actor: "ledger", verb: "exhausted", error, by: "exhausted" });
}

function grant(from: ClaimBase, command: ClaimCommand, { now, vanished }: { now: number; vanished: number }): Taken {
  const { consumer, eventType, round, dispatchedTo } = from;
  const attempt = from.attempt + 1;
  const held: Held = {
    consumer,
    eventType,
    attempt,
    // Above the clock as well as above the last one: a job that was cleaned up and comes again starts higher than it ended.
    fence: Math.max(now, from.fence + 1),
    maxAttempts: command.maxAttempts,
    round,
    claimedAt: now,
    changedAt: now,
    dispatchedTo,
    history: withStep({ ...from, attempt }, { at: now, actor: consumer, verb: "claim", status: "claimed" }),
    status: "claimed",
    token: command.token,
    leaseExpiresAt: now + command.leaseMs,
    vanished,
  };
  return { claim: held, outcome: claimedOutcome(held) };
}

/** What a consumer has before its first attempt: in the round of whoever had a message sent to it. */
function firstClaim(record: JobRecord, consumer: string, eventType: string, now: number): ClaimBase {
  return blankClaim(consumer, eventType, { round: roundOf(record, consumer), at: now });
}

type Held = ClaimEntry & { status: "claimed" };

function claimedOutcome({ attempt, fence, token, leaseExpiresAt, eventType, vanished }: Held): ClaimDecision {
  const claimed = { outcome: "claimed", attempt, fence, token, leaseExpiresAt, eventType } as const;
  return vanished === 0 ? claimed : { ...claimed, vanished };
}

function fail(
  held: Held,
  end: { at: number; actor: string; verb: "release" | "exhausted"; error: string | null; by: "release" | "exhausted" },
): ClaimEntry {
  const { by, ...entry } = end;
  return {
    ...common(held),
    changedAt: end.at,
    history: withStep(held, { ...entry, status: "failed" }),
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
  if (found.token === null) return { outcome: "stale", reason: "no_claim" };
  return found.token === command.token ? found : { outcome: "stale", reason: "taken" };
}

/** What a claim keeps through every change of status. */
function common(held: ClaimBase): ClaimBase {
  const { consumer, eventType, attempt, fence, maxAttempts, round, claimedAt, changedAt, dispatchedTo, history } = held;
  return { consumer, eventType, attempt, fence, maxAttempts, round, claimedAt, changedAt, dispatchedTo, history };
}

function withStep(
  held: Pick<ClaimEntry, "attempt" | "history">,
  entry: Omit<HistoryRecord, "attempt">,
): HistoryRecord[] {
  return [...held.history, { ...entry, attempt: held.attempt }].slice(-MAX_HISTORY);
}

function withClaim(record: JobRecord, changed: ClaimEntry): JobRecord {
  return { ...record, claims: new Map(record.claims).set(changed.consumer, changed) };
}
