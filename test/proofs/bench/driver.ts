// The Workers of the bench in one `wrangler dev`, their storage on disk in a temporary folder, and the driver through which
// they are asked. The ledger service and the receiver are the product's; their configs here only bind them otherwise.
// Called by bench.ts.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDevServer } from "../../support/stack/dev-server.ts";
import { writeConfig } from "../../support/stack/worker-config.ts";
import { DEVELOPMENT_SECRET } from "../../local/sume/simulator.ts";
import type { Counts, Copies, Ran, Run, Store } from "./workers/driver/src/calls.ts";

const WORKERS: { folder: string; main?: string }[] = [
  { folder: "test/proofs/bench/workers/driver" },
  { folder: "ledger-service", main: "test/proofs/bench/workers/ledger/src/index.ts" },
  { folder: "test/proofs/bench/workers/receiver" },
  { folder: "test/proofs/bench/workers/consumer" },
  { folder: "test/proofs/bench/workers/floor" },
  { folder: "test/proofs/bench/workers/plain" },
  { folder: "test/proofs/bench/workers/counted-ledger" },
  { folder: "test/proofs/bench/workers/receiver-one" },
  { folder: "test/proofs/bench/workers/receiver-two" },
  { folder: "test/proofs/bench/workers/counted-consumer" },
];
/** Wrangler's own traces of every call, kept in a database of its own, and its explorer. */
const NO_EXTRAS = { X_LOCAL_OBSERVABILITY: "false", X_LOCAL_EXPLORER: "false" };
/** Milliseconds; the longest run takes a hundredth of it. */
const ANSWER_WITHIN_MS = 60_000;

/** What the driver Worker does when asked. Each throws when it does not answer, or with other than 200. */
export type Driver = {
  run(run: Run): Promise<Ran>;
  copies(store: Store, copies: number, jobId: string): Promise<Copies>;
  counts(store: string, jobId: string): Promise<Counts>;
  /** Plays a job's whole life with that many consumers on the counted ledger. */
  live(jobId: string, consumers: number): Promise<void>;
  /** Jobs that the consumer behind the receiver has finished since the start. */
  consumed(): Promise<number>;
  /** Bytes that D1 needs for each of so many jobs. */
  databaseBytes(jobs: number): Promise<number>;
  /** Posts a delivery to one of the receivers, by its path. */
  deliver(path: string, headers: Record<string, string>, body: string): Promise<{ status: number; text: string }>;
};

export type Workers = { driver: Driver; lastLines(): string; close(): Promise<void> };

/** @throws on other systems than Linux, and when the Workers cannot be run. */
export async function startWorkers(signal: AbortSignal): Promise<Workers> {
  if (process.platform !== "linux") throw new Error("this needs Linux: it looks for the runtime in /proc");
  const folder = await mkdtemp(join(tmpdir(), "job-ledger-"));
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const configs: string[] = [];
    for (const { folder: own, ...main } of WORKERS) {
      configs.push(await writeConfig(folder, { config: `${own}/wrangler.jsonc`, ...main }));
    }
    const server = await startDevServer({
      folder,
      configs,
      env: { SUME_WEBHOOK_SECRET: DEVELOPMENT_SECRET, ...NO_EXTRAS },
      onLog: () => undefined,
      signal,
    });
    const close = async () => {
      await server.stop();
      await remove();
    };
    const driver = driverAt(server.url, signal);
    try {
      await ask(server.url, "/setup", signal);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return { driver, lastLines: () => server.lastLines(), close };
  } catch (error) {
    await remove();
    throw error;
  }
}

function driverAt(url: string, signal: AbortSignal): Driver {
  return {
    run: (run) => ask(url, "/run", signal, { method: "POST", body: JSON.stringify(run) }),
    copies: (store, copies, jobId) => ask(url, `/copies?${query({ store, copies: String(copies), jobId })}`, signal),
    counts: (store, jobId) => ask(url, `/counts?${query({ store, jobId })}`, signal),
    live: (jobId, consumers) => ask(url, `/live?${query({ jobId, consumers: String(consumers) })}`, signal),
    consumed: () => ask(url, "/consumed", signal),
    databaseBytes: (jobs) => ask(url, `/d1-bytes?jobs=${jobs}`, signal),
    deliver: async (path, headers, body) => {
      const response = await fetch(`${url}${path}`, { method: "POST", headers, body, signal: within(signal) });
      return { status: response.status, text: await response.text() };
    },
  };
}

function query(parameters: Record<string, string>): string {
  return new URLSearchParams(parameters).toString();
}

async function ask<T>(url: string, path: string, signal: AbortSignal, init: RequestInit = {}): Promise<T> {
  const response = await fetch(`${url}${path}`, { ...init, signal: within(signal) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

function within(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
}
