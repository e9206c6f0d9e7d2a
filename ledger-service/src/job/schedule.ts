// When a job's one alarm must run next, and what is due when it does: pure functions of (record, settings, now) that change
// nothing. The object sets the alarm and sends what is due; watch.ts keeps what was sent.
//
// Everybody whom the job waits for is due at his own time, so that nobody's lease or pause delays another's alert. Leases are
// renewed too often to move the alarm each time: it may run early, finds that nothing is due yet, and sets itself on.

import type { AlertMessage } from "../../contract/index.ts";
import {
  type ClaimEntry,
  dispatchedAt,
  type JobRecord,
  openExpectations,
  roundOf,
  unfinished,
  type WatchEntry,
} from "./record.ts";

export type Settings = {
  /** Milliseconds after the last change that a finished job is kept; `null`: for ever. */
  retentionMs: number | null;
  /** Milliseconds after the event came that an unfinished job is first alerted. */
  watchAfterMs: number;
  /** Milliseconds after a lease's end, a retry's time or a dispatch before the consumer's message is taken for lost. */
  graceMs: number;
};

/** An alert to be sent. `awaited`: whom it is for (the pending consumers, or those who expected the event), and their round. */
export type Alert = Pick<AlertMessage, "reason" | "ring" | "pending" | "refresh"> & { awaited: Awaited[] };
export type Awaited = { consumer: string; round: number };

/** By then the steps that the backup takes ring by ring (redeliver, ingest, give up) have all been tried: look at the job. */
export const OVERDUE_AFTER_RINGS = 3;

/** Whether a change needs the alarm to be set anew: each setting is a row on the bill, and an early alarm sets itself on. */
export function alarmMoves(before: JobRecord, after: JobRecord, settings: Settings): boolean {
  const [was, is] = [dueAt(before, settings), dueAt(after, settings)];
  if (was === null || is === null) return was !== is;
  return is < was || isOpen(before) !== isOpen(after);
}

/** When something is due, in epoch milliseconds; `null` where nothing will ever be. The alarm is never later than this. */
export function dueAt(record: JobRecord, settings: Settings): number | null {
  return earliest([conflictAt(record), nextRing(record, settings)?.at ?? null, cleanupAt(record, settings)]);
}

/** The alerts to be sent now. */
export function dueAlerts(record: JobRecord, settings: Settings, now: number): Alert[] {
  const alerts: Alert[] = untoldConflicts(record).map(() => ({
    reason: "conflict",
    ring: 1,
    pending: [],
    awaited: [],
  }));
  const due = awaits(record, settings).filter(({ at }) => at <= now);
  const [first] = due;
  if (first === undefined) return alerts;
  const { reason } = first;
  const awaited = due.map(({ consumer, round }) => ({ consumer, round }));
  const ring = Math.max(...due.map(({ rings }) => rings)) + 1;
  const pending = reason === "not_finished" ? due.map(({ consumer }) => consumer) : [];
  alerts.push({
    reason,
    ring,
    pending,
    awaited,
    ...(due.some(({ refresh }) => refresh) && { refresh: true as const }),
  });
  return alerts;
}

/** Whether the whole job is due to be forgotten. */
export function isCleanupDue(record: JobRecord, settings: Settings, now: number): boolean {
  const at = cleanupAt(record, settings);
  return at !== null && at <= now;
}

/** The next alert, and how many have been sent at the most for one of those who are waited for. */
export function nextRing(
  record: JobRecord,
  settings: Settings,
): { at: number; reason: WatchReason; rings: number } | null {
  const waiting = awaits(record, settings);
  const [first] = waiting;
  if (first === undefined) return null;
  return {
    at: Math.min(...waiting.map(({ at }) => at)),
    reason: first.reason,
    rings: Math.max(...waiting.map(({ rings }) => rings)),
  };
}

/** The last alert for that consumer in that round. */
export function callOf(
  { watch }: JobRecord,
  reason: WatchReason,
  { consumer, round }: Awaited,
): WatchEntry["calls"][number] | undefined {
  return watch?.calls.find((call) => call.reason === reason && call.consumer === consumer && call.round === round);
}

/** Whether the job waits for that consumer, for that reason, and in that round. */
export function isAwaited(record: JobRecord, reason: WatchReason, { consumer, round }: Awaited): boolean {
  return reason === "not_finished"
    ? roundOf(record, consumer) === round && unfinished(record).includes(consumer)
    : openExpectations(record).some((expectation) => expectation.by === consumer && expectation.round === round);
}

export type WatchReason = Exclude<AlertMessage["reason"], "conflict">;
type Due = Awaited & { reason: WatchReason; at: number; rings: number; refresh: boolean };

/** Everybody who is waited for, and when he is due. */
function awaits(record: JobRecord, settings: Settings): Due[] {
  const [event] = record.events;
  if (event === undefined) {
    return openExpectations(record).map(({ by: consumer, round, dueAt: deadline }) => {
      const call = callOf(record, "not_arrived", { consumer, round });
      const at = call?.nextAt ?? deadline;
      return { consumer, round, reason: "not_arrived", at, rings: call?.rings ?? 0, refresh: false };
    });
  }
  const firstAt = event.receivedAt + settings.watchAfterMs;
  return unfinished(record).map((consumer) => {
    const round = roundOf(record, consumer);
    const call = callOf(record, "not_finished", { consumer, round });
    const claim = record.claims.get(consumer);
    // Who was sent his first message late, as after an outage, is given time for it as well.
    const messageLateAt =
      claim === undefined
        ? dispatchedAt(record, consumer) + Math.min(settings.graceMs, settings.watchAfterMs)
        : progressAt(claim) + settings.graceMs;
    // A reopened claim is due at once, so that the job is dispatched again without a second step.
    const lateAt = claim?.status === "reopened" ? claim.changedAt : Math.max(firstAt, messageLateAt);
    const at = Math.max(lateAt, call?.nextAt ?? Number.NEGATIVE_INFINITY);
    const refresh = call === undefined && claim?.status === "reopened" && claim.refresh;
    return { consumer, round, reason: "not_finished", at, rings: call?.rings ?? 0, refresh };
  });
}

/** When a consumer that has claimed is to make progress, by its holder or by the queue's message for the next attempt. */
function progressAt(claim: ClaimEntry): number {
  if (claim.status === "claimed") return claim.leaseExpiresAt;
  return claim.status === "released" ? claim.retryAt : Number.NEGATIVE_INFINITY;
}

function isOpen(record: JobRecord): boolean {
  return openExpectations(record).length > 0 || unfinished(record).length > 0;
}

/** Events that conflict with the first and have not been alerted. */
function untoldConflicts({ events, watch }: JobRecord): JobRecord["events"] {
  return events.slice(1 + (watch?.conflictsTold ?? 0));
}

function conflictAt(record: JobRecord): number | null {
  return untoldConflicts(record)[0]?.receivedAt ?? null;
}

function cleanupAt(record: JobRecord, { retentionMs }: Settings): number | null {
  if (retentionMs === null || isOpen(record)) return null;
  const changes = [
    ...record.events.flatMap(({ receivedAt, replaced }) => [receivedAt, ...replaced.map(({ at }) => at)]),
    ...[...record.claims.values()].map(({ changedAt }) => changedAt),
    ...(record.watch === null ? [] : [record.watch.changedAt]),
  ];
  return changes.length === 0 ? null : Math.max(...changes) + retentionMs;
}

function earliest(times: (number | null)[]): number | null {
  const set = times.filter((at) => at !== null);
  return set.length === 0 ? null : Math.min(...set);
}
