// What becomes of an event that a claim brings: kept as a new one, kept in place of an older body, or known already. Pure.

import { type Conflict, type EventSource, MAX_EVENT_TYPES, MAX_HISTORY } from "../../contract/index.ts";
import { type EventEntry, type JobRecord, unfinished } from "./record.ts";

export type BroughtEvent = {
  type: string;
  source: EventSource;
  bytes: number;
  /** Whether its body is other than the one that is kept under its type; of a type that is not kept, `true`. */
  differs: boolean;
};

/**
 * The record once the event has come, and the conflict it makes. A new type is kept beside the others, up to
 * `MAX_EVENT_TYPES`. Another body of a known type takes the older one's place while somebody still has to work with it,
 * unless it was only polled.
 */
export function receive(
  record: JobRecord,
  event: BroughtEvent | undefined,
  now: number,
): { received: JobRecord; conflict?: Conflict } {
  if (event === undefined) return { received: record };
  const [first] = record.events;
  const conflict =
    first === undefined || first.type === event.type
      ? {}
      : { conflict: { recorded: first.type, received: event.type } };
  const { type, source, bytes } = event;
  const known = record.events.find((entry) => entry.type === type);
  if (known !== undefined) {
    // What Sume signed is not given up for the answer to a question, which may come while a redelivery is on its way.
    const isLesser = source === "poll" && known.source === "webhook";
    if (!event.differs || isLesser || unfinished(record).length === 0) return { received: record, ...conflict };
    const replaced = [...known.replaced, { at: now, bytes: known.bytes }].slice(-MAX_HISTORY);
    const newest: EventEntry = { ...known, source, bytes, replaced };
    return {
      received: { ...record, events: record.events.map((entry) => (entry === known ? newest : entry)) },
      ...conflict,
    };
  }
  if (record.events.length >= MAX_EVENT_TYPES) return { received: record, ...conflict };
  const entry: EventEntry = { type, order: record.events.length, source, receivedAt: now, bytes, replaced: [] };
  return { received: { ...record, events: [...record.events, entry] }, ...conflict };
}

/** The event of that type, if its body or the whole of it came with the change from `before` to `after`. */
export function changedEvent(before: JobRecord, after: JobRecord): EventEntry | undefined {
  return after.events === before.events ? undefined : after.events.find((entry) => !before.events.includes(entry));
}
