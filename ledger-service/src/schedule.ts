// When a job's one alarm must ring next, and what for: a pure function of the record. The object sets the alarm to it
// whenever a write has moved it, and at the alarm does what is due.

import { type JobRecord, unfinished } from "./record.ts";

export type Settings = {
  /** Milliseconds after the last change that a finished job is kept; `null`: for ever. */
  retentionMs: number | null;
};

export type Due = { at: number; action: "cleanup" };

/** The earliest thing the alarm is needed for, in epoch milliseconds, or `null` where there is none. */
export function nextDue(record: JobRecord, settings: Settings): Due | null {
  if (settings.retentionMs === null || record.events.length === 0 || unfinished(record).length > 0) return null;
  return { at: lastChange(record) + settings.retentionMs, action: "cleanup" };
}

function lastChange(record: JobRecord): number {
  const times = [
    ...record.events.map((event) => event.receivedAt),
    ...[...record.claims.values()].map((claim) => claim.changedAt),
  ];
  return Math.max(...times);
}
