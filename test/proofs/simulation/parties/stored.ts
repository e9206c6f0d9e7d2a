// What a job's object has stored, read as it lies there and never by production code, and what follows from it. Asked by the
// observer and by the judge of a run.

import * as v from "valibot";
import type { JobObject } from "../platform/objects.ts";

const StoredClaim = v.object({
  status: v.string(),
  eventType: v.string(),
  attempt: v.number(),
  fence: v.number(),
  maxAttempts: v.nullable(v.number()),
  dispatchedTo: v.array(v.string()),
  error: v.optional(v.nullable(v.string())),
});
const StoredEvent = v.object({ source: v.string() });
const StoredWatch = v.object({
  expectations: v.array(v.object({ by: v.string(), round: v.number(), dueAt: v.number(), cancelledBy: v.unknown() })),
  calls: v.array(v.object({ reason: v.string(), consumer: v.string(), round: v.number() })),
  conflictsTold: v.number(),
});
const NO_WATCH: v.InferOutput<typeof StoredWatch> = { expectations: [], calls: [], conflictsTold: 0 };

export type StoredClaim = v.InferOutput<typeof StoredClaim>;
export type StoredJob = {
  /** Where the body came from that is kept, by event type. */
  events: Map<string, string>;
  claims: Map<string, StoredClaim>;
  /** Deadlines of an event that has not come; `isTold`: it was alerted for that one. */
  expected: { by: string; dueAt: number; isTold: boolean }[];
  /** Events that conflict with the first and were not alerted. */
  untold: number;
};

export function stored(object: JobObject): StoredJob {
  const events = new Map<string, string>();
  const claims = new Map<string, StoredClaim>();
  let watch = NO_WATCH;
  for (const [key, value] of object.storage.entries()) {
    const colon = key.indexOf(":");
    const [kind, name] = colon < 0 ? [key, ""] : [key.slice(0, colon), key.slice(colon + 1)];
    if (kind === "event") events.set(name, v.parse(StoredEvent, value).source);
    else if (kind === "claim") claims.set(name, v.parse(StoredClaim, value));
    else if (kind === "watch") watch = v.parse(StoredWatch, value);
    else throw new Error(`${object.name}: nobody knows what the row ${key} is`);
  }
  const open = events.size > 0 ? [] : watch.expectations.filter(({ cancelledBy }) => cancelledBy === null);
  return {
    events,
    claims,
    expected: open.map(({ by, round, dueAt }) => ({
      by,
      dueAt,
      isTold: watch.calls.some((call) => call.reason === "not_arrived" && call.consumer === by && call.round === round),
    })),
    untold: Math.max(0, events.size - 1) - watch.conflictsTold,
  };
}

/** The consumers that something is still to be done for. */
export function openConsumers({ claims }: StoredJob): string[] {
  const named = [...claims.values()].flatMap(({ dispatchedTo }) => dispatchedTo);
  return [...new Set([...claims.keys(), ...named])].filter((consumer) => {
    const status = claims.get(consumer)?.status;
    return status !== "completed" && status !== "failed" && status !== "abandoned";
  });
}

/** What is still to be done, for a person to read; empty when nothing is. */
export function openParts(job: StoredJob): string[] {
  return [
    ...openConsumers(job),
    ...job.expected.map(({ by }) => `the event expected by ${by}`),
    ...(job.untold > 0 ? ["the alert of a conflict"] : []),
  ];
}
