// The stack of the bench: its Workers in one `wrangler dev`, and the driver through which they are asked. The ledger
// service and the receiver are the product's; their configs here only bind them otherwise. Called by bench.ts.

import { startDevServer } from "../../support/stack/dev-server.ts";
import type { WorkerConfig } from "../../support/stack/worker-config.ts";
import { ask, within } from "../../support/tools/ask.ts";
import { requireLinux } from "../../support/tools/processes.ts";
import { DEVELOPMENT_SECRET } from "../../local/sume/simulator.ts";
import type { Counts, Copies, Ran, Run, Store } from "./workers/driver/src/calls.ts";

const own = (name: string): WorkerConfig => ({ config: `test/proofs/bench/workers/${name}/wrangler.jsonc` });
const WORKERS: WorkerConfig[] = [
  own("driver"),
  { config: "ledger-service/wrangler.jsonc", main: "test/proofs/bench/workers/ledger/src/index.ts" },
  own("receiver"),
  own("consumer"),
  own("floor"),
  own("plain"),
  own("counted-ledger"),
  own("receiver-one"),
  own("receiver-two"),
  own("counted-consumer"),
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

export type BenchStack = { driver: Driver; lastLines(): string; close(): Promise<void> };

/** @throws on other systems than Linux, and when the Workers cannot be run. */
export async function startBenchStack(signal: AbortSignal): Promise<BenchStack> {
  requireLinux();
  const server = await startDevServer({
    workers: WORKERS,
    env: { SUME_WEBHOOK_SECRET: DEVELOPMENT_SECRET, ...NO_EXTRAS },
    onLog: () => undefined,
    signal,
  });
  try {
    await ask(`${server.url}/setup`, { signal, withinMs: ANSWER_WITHIN_MS });
    const driver = driverAt(server.url, signal);
    return { driver, lastLines: () => server.lastLines(), close: () => server.stop() };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function driverAt(url: string, signal: AbortSignal): Driver {
  const at = <T>(path: string, init: RequestInit = {}) =>
    ask<T>(`${url}${path}`, { signal, withinMs: ANSWER_WITHIN_MS, init });
  return {
    run: (run) => at("/run", { method: "POST", body: JSON.stringify(run) }),
    copies: (store, copies, jobId) => at(`/copies?${query({ store, copies: String(copies), jobId })}`),
    counts: (store, jobId) => at(`/counts?${query({ store, jobId })}`),
    live: (jobId, consumers) => at(`/live?${query({ jobId, consumers: String(consumers) })}`),
    consumed: () => at("/consumed"),
    databaseBytes: (jobs) => at(`/d1-bytes?jobs=${jobs}`),
    deliver: async (path, headers, body) => {
      const init = { method: "POST", headers, body, signal: within(signal, ANSWER_WITHIN_MS) };
      const response = await fetch(`${url}${path}`, init);
      return { status: response.status, text: await response.text() };
    },
  };
}

function query(parameters: Record<string, string>): string {
  return new URLSearchParams(parameters).toString();
}
