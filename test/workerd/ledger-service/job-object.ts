// What the tests of the object share: bindings with an identity, and a look behind the RPC at a job's rows, tables and alarm.
// All jobs are in the namespace «n»; storage is per test file, so each test has job ids of its own.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { vi } from "vitest";
import type { JobLedger } from "../../../ledger-service/src/job-ledger.ts";

export const EVENT = { type: "job.completed", body: '{"job_id":"job_a"}', source: "webhook" } as const;
export const OTHER_EVENT = { type: "job.failed", body: '{"failed":1}', source: "webhook" } as const;

export const ledger = (consumer: string, namespace = "n") => exports.Ledger({ props: { namespace, consumer } });
export const jobObject = (jobId: string, namespace = "n") => exports.JobLedger.getByName(`${namespace}:${jobId}`);

export type Row = { kind: string; name: string; state: string; body: string | null };

/** Every row of the job, byte for byte. */
export function rowsOf(jobId: string): Promise<Row[]> {
  return runInDurableObject(jobObject(jobId), (_, { storage }) => [
    ...storage.sql.exec<Row>("SELECT kind, name, state, body FROM entry ORDER BY kind, name"),
  ]);
}

/** The tables of the job's database, the runtime's own (for the alarm) included. */
export function tablesOf(jobId: string): Promise<string[]> {
  return runInDurableObject(jobObject(jobId), (_, { storage }) =>
    [...storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master")].map(({ name }) => name),
  );
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
  await runInDurableObject(jobObject(jobId), (_, { storage }) => {
    const update = "UPDATE entry SET state = json_set(state, ?, ?) WHERE kind = ? AND name = ?";
    storage.sql.exec(update, `$.${field}`, value, kind, name);
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

/** What one step costs: rows written, counted statement by statement, and moves of the alarm, a row each. */
export type Cost = { rows: number; alarms: number };

/** Runs `step` inside the object and counts what it writes. */
export function costOf(jobId: string, step: (job: JobLedger) => unknown): Promise<Cost> {
  return runInDurableObject(jobObject(jobId), async (job: JobLedger, { storage }) => {
    const exec = vi.spyOn(storage.sql, "exec");
    const set = vi.spyOn(storage, "setAlarm");
    const unset = vi.spyOn(storage, "deleteAlarm");
    try {
      await step(job);
      let rows = 0;
      for (const { type, value } of exec.mock.results) if (type === "return") rows += value.rowsWritten;
      return { rows, alarms: set.mock.calls.length + unset.mock.calls.length };
    } finally {
      for (const spy of [exec, set, unset]) spy.mockRestore();
    }
  });
}

export const claimOf = (token: string, consumer = "c") => ({
  consumer,
  token,
  leaseMs: 60_000,
  maxAttempts: null,
});
