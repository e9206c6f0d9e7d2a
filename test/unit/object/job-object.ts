// What the tests of the object share: bindings with an identity, and a look behind the RPC at a job's rows, tables and alarm.
// All jobs are in the namespace «n»; files share storage, so each test has job ids of its own (own-jobs.ts).

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { vi } from "vitest";
import type { JobView } from "../../../ledger-service/contract/index.ts";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";

export const EVENT = { type: "job.completed", body: '{"job_id":"job_a"}', source: "webhook" } as const;
export const OTHER_EVENT = { type: "job.failed", body: '{"failed":1}', source: "webhook" } as const;

export const ledger = (consumer: string, namespace = "n") => exports.Ledger({ props: { namespace, consumer } });
export const jobObject = (jobId: string, namespace = "n") => exports.JobLedger.getByName(`${namespace}:${jobId}`);

export type Row = { kind: string; name: string; state: string; body: string | null };

/** Every row of the job, byte for byte. */
export function rowsOf(jobId: string): Promise<Row[]> {
  return runInDurableObject(jobObject(jobId), (_, { storage }) =>
    [...storage.kv.list<object>()].map(([key, stored]) => {
      const [kind = "", ...name] = key.split(":");
      const { body, ...state }: { body?: Uint8Array } = stored;
      const text = body === undefined ? null : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
      return { kind, name: name.join(":"), state: JSON.stringify(state), body: text };
    }),
  );
}

/** The tables of the job's database, the runtime's own (for the alarm) included. */
export function tablesOf(jobId: string): Promise<string[]> {
  return runInDurableObject(jobObject(jobId), (_, { storage }) =>
    [...storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master")].map(({ name }) => name),
  );
}

/** The whole record; in which order it lists consumers is no promise. */
export async function inspected(jobId: string): Promise<JobView | null> {
  const view = await ledger("index").inspect({ jobId, body: true });
  view?.claims.sort((a, b) => (a.consumer < b.consumer ? -1 : 1));
  view?.unfinished.sort();
  return view;
}

export function alarmOf(jobId: string): Promise<number | null> {
  return runInDurableObject(jobObject(jobId), (_, { storage }) => storage.getAlarm());
}

export function setAlarm(jobId: string, at: number): Promise<void> {
  return runInDurableObject(jobObject(jobId), (_, { storage }) => storage.setAlarm(at));
}

/** Ends the object's instance: what it knew in memory is gone, what it stored is read afresh. */
export function evict(jobId: string): Promise<void> {
  return evictDurableObject(jobObject(jobId));
}

/** Writes one field of a stored row's state, behind the back of the instance, which then is evicted. */
export async function rewrite(
  jobId: string,
  { kind, name, field, value }: { kind: "claim" | "event"; name: string; field: string; value: number },
): Promise<void> {
  await runInDurableObject(jobObject(jobId), (_, { storage: { kv } }) => {
    kv.put(`${kind}:${name}`, { ...kv.get<object>(`${kind}:${name}`), [field]: value });
  });
  await evict(jobId);
}

/** Spoils every row of the job; the instance is evicted, so that it meets them. */
export async function spoil(jobId: string): Promise<void> {
  await runInDurableObject(jobObject(jobId), (_, { storage: { kv } }) => {
    for (const [key] of kv.list()) kv.put(key, "canary-7f3a");
  });
  await evict(jobId);
}

/** Lets the lease of a claim that is held end at that time: the way to its end without waiting for it. */
export function endLease(jobId: string, consumer: string, at: number): Promise<void> {
  return rewrite(jobId, { kind: "claim", name: consumer, field: "leaseExpiresAt", value: at });
}

/** Lets the job's event and the consumer's last change lie at the beginning of time, so that its retention is over. */
export async function age(jobId: string, consumer: string): Promise<void> {
  await rewrite(jobId, { kind: "event", name: EVENT.type, field: "receivedAt", value: 1_000 });
  await rewrite(jobId, { kind: "claim", name: consumer, field: "changedAt", value: 1_000 });
}

/** Claims the job with its event and completes it, as one consumer. */
export async function finish(jobId: string, consumer: string): Promise<void> {
  await ledger(consumer).claim({ jobId, event: EVENT, token: "t" });
  await ledger(consumer).complete({ jobId, token: "t" });
}

export type Step = (job: JobLedger) => unknown;

/** The message of what `step` throws. */
export async function messageOf(step: () => unknown): Promise<string> {
  try {
    await step();
  } catch (error) {
    return error instanceof Error ? error.message : "not an error";
  }
  return "nothing was thrown";
}

/** Runs `step` in the object, lets its nth write do its work and then fail; the message of what was thrown. */
export function failing(jobId: string, nth: number, step: Step): Promise<string> {
  return runInDurableObject(jobObject(jobId), async (job: JobLedger, { storage }) => {
    const put = storage.kv.put.bind(storage.kv);
    let writes = 0;
    const spy = vi.spyOn(storage.kv, "put").mockImplementation((key, value) => {
      put(key, value);
      if (++writes === nth) throw new Error("after writing");
    });
    try {
      return await messageOf(() => step(job));
    } finally {
      spy.mockRestore();
    }
  });
}

/** What one step costs: rows written, of ours and by statements of SQL, and moves of the alarm, a row each. */
export type Cost = { rows: number; alarms: number };

/** Runs `step` inside the object and counts what it writes. */
export function costOf(jobId: string, step: Step): Promise<Cost> {
  return runInDurableObject(jobObject(jobId), async (job: JobLedger, { storage }) => {
    const written = rowsWritten(storage);
    const set = vi.spyOn(storage, "setAlarm");
    const unset = vi.spyOn(storage, "deleteAlarm");
    try {
      await step(job);
      return { rows: written(), alarms: set.mock.calls.length + unset.mock.calls.length };
    } finally {
      for (const spy of [set, unset]) spy.mockRestore();
    }
  });
}

/** Counts from now on, until it is asked. A value put is a row; the table that holds them is the platform's own. */
export function rowsWritten({ sql, kv }: DurableObjectStorage): () => number {
  const exec = vi.spyOn(sql, "exec");
  const [put, remove] = [vi.spyOn(kv, "put"), vi.spyOn(kv, "delete")];
  return () => {
    let rows = put.mock.calls.length + remove.mock.calls.length;
    for (const { type, value } of exec.mock.results) if (type === "return") rows += value.rowsWritten;
    for (const spy of [exec, put, remove]) spy.mockRestore();
    return rows;
  };
}

export const claimOf = (token: string, consumer = "c") => ({
  consumer,
  token,
  leaseMs: 60_000,
  maxAttempts: null,
});
