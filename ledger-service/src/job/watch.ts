// The part of the state machine that concerns an event which has not come yet: pure functions of (record, command, now).

import type { CancelExpectationOutcome, ExpectEventOutcome } from "../../contract/index.ts";
import { isExpected, type JobRecord } from "./record.ts";
import type { Decision } from "./claims.ts";

export type ExpectCommand = { consumer: string; withinMs: number };
/** `consumer: null`: an operator, who may cancel anybody's. */
export type CancelCommand = { consumer: string | null; actor: string };

/** Announces an event. Of several deadlines the earliest stays, and belongs to who set it. */
export function expectEvent(record: JobRecord, command: ExpectCommand, now: number): Decision<ExpectEventOutcome> {
  if (record.events.length > 0) return { record, outcome: { outcome: "arrived" } };
  const dueAt = now + command.withinMs;
  const open = isExpected(record) ? (record.job?.expectation ?? null) : null;
  if (open !== null && open.dueAt <= dueAt) return { record, outcome: { outcome: "expected", dueAt: open.dueAt } };
  const expectation = { by: command.consumer, setAt: now, dueAt, cancelledBy: null };
  return {
    record: { ...record, job: { expectation, watch: null, changedAt: now } },
    outcome: { outcome: "expected", dueAt },
  };
}

/** Calls off an expectation, by whoever set it or by an operator. What was called off stays on the record. */
export function cancelExpectation(
  record: JobRecord,
  command: CancelCommand,
  now: number,
): Decision<CancelExpectationOutcome> {
  const expectation = record.job?.expectation ?? null;
  if (expectation === null) return { record, outcome: { outcome: "none" } };
  if (record.events.length > 0) return { record, outcome: { outcome: "arrived" } };
  if (expectation.cancelledBy !== null) return { record, outcome: { outcome: "cancelled" } };
  if (command.consumer !== null && command.consumer !== expectation.by) {
    return { record, outcome: { outcome: "not_yours", by: expectation.by } };
  }
  const cancelled = { ...expectation, cancelledBy: command.actor };
  return {
    record: { ...record, job: { expectation: cancelled, watch: null, changedAt: now } },
    outcome: { outcome: "cancelled" },
  };
}
