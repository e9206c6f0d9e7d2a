// How the watch changes state: an event announced and called off, an alert that was sent. Pure functions of (record, command,
// now). When an alert is due stands in schedule.ts, which reads what is kept here and changes nothing.

import { type CancelExpectationOutcome, DAY_MS, type ExpectEventOutcome } from "../../contract/index.ts";
import { type Decision, EMPTY_WATCH, type JobRecord, openExpectations, type WatchEntry } from "./record.ts";
import { type Alert, callOf, isAwaited, type Settings } from "./schedule.ts";

export type ExpectCommand = { consumer: string; withinMs: number };
/** `consumer: null`: an operator, who calls off everybody's. */
export type CancelCommand = { consumer: string | null; actor: string };

/** Milliseconds; the longest pause between two alerts for one consumer. */
const LONGEST_PAUSE_MS = DAY_MS;

/** Announces an event for this consumer. Of its own deadlines the earlier stays; others' are not touched. */
export function expectEvent(record: JobRecord, command: ExpectCommand, now: number): Decision<ExpectEventOutcome> {
  if (record.events.length > 0) return { record, outcome: { outcome: "arrived" } };
  const { consumer: by, withinMs } = command;
  const dueAt = now + withinMs;
  const open = openExpectations(record).find((expectation) => expectation.by === by);
  if (open !== undefined && open.dueAt <= dueAt) return { record, outcome: { outcome: "expected", dueAt: open.dueAt } };
  const watch = record.watch ?? EMPTY_WATCH;
  const earlier = watch.expectations.find((expectation) => expectation.by === by);
  const expectations = [
    ...watch.expectations.filter((expectation) => expectation.by !== by),
    // A new deadline counts its own alerts.
    { by, setAt: now, dueAt, cancelledBy: null, round: (earlier?.round ?? 0) + 1 },
  ];
  return {
    record: { ...record, watch: { ...watch, expectations, changedAt: now } },
    outcome: { outcome: "expected", dueAt },
  };
}

/** Calls off a consumer's own expectation, or for an operator all of them. What was called off stays on the record. */
export function cancelExpectation(
  record: JobRecord,
  command: CancelCommand,
  now: number,
): Decision<CancelExpectationOutcome> {
  const { watch } = record;
  const own = (watch?.expectations ?? []).filter(({ by }) => command.consumer === null || command.consumer === by);
  if (watch === null || own.length === 0) return { record, outcome: { outcome: "none" } };
  if (record.events.length > 0) return { record, outcome: { outcome: "arrived" } };
  const outcome = { outcome: "cancelled" } as const;
  if (own.every(({ cancelledBy }) => cancelledBy !== null)) return { record, outcome };
  const expectations = watch.expectations.map((expectation) =>
    own.includes(expectation) && expectation.cancelledBy === null
      ? { ...expectation, cancelledBy: command.actor }
      : expectation,
  );
  return { record: { ...record, watch: { ...watch, expectations, changedAt: now } }, outcome };
}

/**
 * The record once `alerts` are on the queue. Only those whom an alert was for have their next one put off. Who became due
 * meanwhile, or was opened anew, is due by himself.
 */
export function alerted(
  record: JobRecord,
  { alerts, settings, now }: { alerts: readonly Alert[]; settings: Settings; now: number },
): JobRecord {
  const watch = record.watch ?? EMPTY_WATCH;
  let { calls, conflictsTold } = watch;
  for (const alert of alerts) {
    if (alert.reason === "conflict") {
      conflictsTold += 1;
      continue;
    }
    const { reason } = alert;
    const awaited = alert.awaited.filter((call) => isAwaited(record, reason, call));
    if (awaited.length === 0) continue;
    const called = awaited.map(({ consumer, round }): WatchEntry["calls"][number] => {
      const rings = (callOf(record, reason, { consumer, round })?.rings ?? 0) + 1;
      return { reason, consumer, round, rings, nextAt: now + pauseAfter(rings, settings) };
    });
    const others = calls.filter(
      (call) => call.reason === reason && !awaited.some(({ consumer }) => consumer === call.consumer),
    );
    calls = [...others, ...called];
  }
  if (calls === watch.calls && conflictsTold === watch.conflictsTold) return record;
  return { ...record, watch: { ...watch, calls, conflictsTold, changedAt: now } };
}

function pauseAfter(rings: number, { watchAfterMs }: Settings): number {
  return Math.min(watchAfterMs * 2 ** (rings - 1), LONGEST_PAUSE_MS);
}
