// When a job's one alarm must ring next, and what is due when it does: pure functions of (record, settings, now), and the
// record after a ring. The object (job-ledger.ts) sets the alarm and sends what is due.
//
// Leases are renewed too often to move the alarm each time: it may ring early, finds that nothing is due yet, and sets itself
// on. So a job costs one alarm setting while it is worked on, and one more, for its cleanup, when it is finished.

import { DAY_MS } from "../../contract/index.ts";
import { exhaust } from "./claims.ts";
import { isExpected, type JobEntry, type JobRecord, unfinished } from "./record.ts";

export type Settings = {
  /** Milliseconds after the last change that a finished job is kept; `null`: for ever. */
  retentionMs: number | null;
  /** Milliseconds after the event came that an unfinished job is first alerted. */
  watchAfterMs: number;
};

export type AlertReason = "not_arrived" | "not_finished" | "conflict";
export type Alert = {
  reason: AlertReason;
  /** Counts from 1 for each reason; of `not_finished`, anew after a `reopen`. */
  ring: number;
  /** The consumers to send a message to. */
  pending: string[];
};

/** By then the steps that the backup takes ring by ring (redeliver, ingest, give up) have all been tried: look at the job. */
export const OVERDUE_AFTER_RINGS = 3;
/** Milliseconds; the longest pause between two alerts of one job. */
const LONGEST_PAUSE_MS = DAY_MS;

/** Whether a change needs the alarm to be set anew: each setting is a row on the bill, and an early alarm sets itself on. */
export function alarmMoves(before: JobRecord, after: JobRecord, settings: Settings): boolean {
  if (plannedAt(before, settings) !== plannedAt(after, settings)) return true;
  const [was, is] = [dueAt(before, settings), dueAt(after, settings)];
  return was !== null && is !== null && is < was;
}

/** When something is due, in epoch milliseconds; `null` where nothing will ever be. The alarm is never later than this. */
export function dueAt(record: JobRecord, settings: Settings): number | null {
  return earliest([conflictAt(record), nextRing(record, settings)?.at ?? null, cleanupAt(record, settings)]);
}

/** `dueAt` without regard to leases, nor to a second event, which come and go without moving the alarm. */
function plannedAt(record: JobRecord, settings: Settings): number | null {
  const [event] = record.events;
  const known = event === undefined ? record : { ...record, events: [event] };
  return earliest([conflictAt(record), scheduledRing(record, settings)?.at ?? null, cleanupAt(known, settings)]);
}

/** The alerts to be sent now. */
export function dueAlerts(record: JobRecord, settings: Settings, now: number): Alert[] {
  const alerts: Alert[] = record.events
    .filter((event) => !event.alerted)
    .map(() => ({ reason: "conflict", ring: 1, pending: [] }));
  const ring = nextRing(record, settings);
  if (ring !== null && ring.at <= now) {
    const pending = unfinished(record).filter((consumer) => readyAt(record, consumer) <= now);
    alerts.push({ reason: ring.reason, ring: ring.ring, pending });
  }
  return alerts;
}

/** Whether the whole job is due to be forgotten. */
export function isCleanupDue(record: JobRecord, settings: Settings, now: number): boolean {
  const at = cleanupAt(record, settings);
  return at !== null && at <= now;
}

/** The record once `alerts` were sent. `seen` is the record for which they were decided: what changed since stays as it is. */
export function rung(
  record: JobRecord,
  { seen, alerts, settings, now }: { seen: JobRecord; alerts: readonly Alert[]; settings: Settings; now: number },
): JobRecord {
  const told = new Set(alerts.some(({ reason }) => reason === "conflict") ? seen.events.map(({ type }) => type) : []);
  const events = record.events.some((event) => !event.alerted && told.has(event.type))
    ? record.events.map((event) => (event.alerted || !told.has(event.type) ? event : { ...event, alerted: true }))
    : record.events;
  const ring = alerts.find(({ reason }) => reason !== "conflict");
  const stillDue = ring !== undefined && scheduledRing(record, settings)?.reason === ring.reason;
  // A reopening, or a nearer deadline, that came while the alert was being sent is due by itself.
  if (!stillDue || ring.reason === "conflict" || record.job !== seen.job) {
    return events === record.events ? record : { ...record, events };
  }
  // Who could not be called this time is not made to wait for the pause that the others have earned.
  const later = unfinished(record).map((consumer) => readyAt(record, consumer));
  const nextAt = Math.min(now + pauseAfter(ring.ring, settings), ...later.filter((at) => at > now));
  const job: JobEntry = {
    expectation: record.job?.expectation ?? null,
    watch: { reason: ring.reason, rings: ring.ring, nextAt },
    changedAt: now,
  };
  return { ...record, events, job };
}

/** Claims whose last attempt's lease ran out become `failed`, so that nobody is called to them. */
export function expire(record: JobRecord, now: number): JobRecord {
  let claims = record.claims;
  for (const [consumer, claim] of record.claims) {
    const expired = exhaust(claim, now);
    if (expired !== claim) claims = new Map(claims).set(consumer, expired);
  }
  return claims === record.claims ? record : { ...record, claims };
}

type Ring = { at: number; reason: "not_arrived" | "not_finished"; ring: number };

/** The next alert, not before one of the consumers it would call can be called. */
export function nextRing(record: JobRecord, settings: Settings): Ring | null {
  const ring = scheduledRing(record, settings);
  if (ring === null || ring.reason === "not_arrived") return ring;
  const ready = Math.min(...unfinished(record).map((consumer) => readyAt(record, consumer)));
  return { ...ring, at: Math.max(ring.at, ready) };
}

function scheduledRing(record: JobRecord, settings: Settings): Ring | null {
  const { job } = record;
  const again = (reason: Ring["reason"]): Ring | null =>
    job !== null && job.watch !== null && job.watch.reason === reason
      ? { at: job.watch.nextAt, reason, ring: job.watch.rings + 1 }
      : null;
  if (isExpected(record)) {
    const dueFirst = job?.expectation?.dueAt ?? 0;
    return again("not_arrived") ?? { at: dueFirst, reason: "not_arrived", ring: 1 };
  }
  const [event] = record.events;
  if (event === undefined || unfinished(record).length === 0) return null;
  return again("not_finished") ?? { at: event.receivedAt + settings.watchAfterMs, reason: "not_finished", ring: 1 };
}

/** From when on a message to the consumer could do something: not while its lease lives or its retry is ahead. */
function readyAt(record: JobRecord, consumer: string): number {
  const claim = record.claims.get(consumer);
  if (claim?.status === "claimed") return claim.leaseExpiresAt;
  if (claim?.status === "released") return claim.retryAt;
  return Number.NEGATIVE_INFINITY;
}

function pauseAfter(ring: number, { watchAfterMs }: Settings): number {
  return Math.min(watchAfterMs * 2 ** (ring - 1), LONGEST_PAUSE_MS);
}

/** At once, where a conflict's alert could not be sent when the event came. */
function conflictAt(record: JobRecord): number | null {
  return record.events.find((event) => !event.alerted)?.receivedAt ?? null;
}

function cleanupAt(record: JobRecord, { retentionMs }: Settings): number | null {
  if (retentionMs === null || isExpected(record) || unfinished(record).length > 0) return null;
  const changes = [
    ...record.events.map(({ receivedAt }) => receivedAt),
    ...[...record.claims.values()].map(({ changedAt }) => changedAt),
    ...(record.job === null ? [] : [record.job.changedAt]),
  ];
  return changes.length === 0 ? null : Math.max(...changes) + retentionMs;
}

function earliest(times: (number | null)[]): number | null {
  const set = times.filter((at) => at !== null);
  return set.length === 0 ? null : Math.min(...set);
}
