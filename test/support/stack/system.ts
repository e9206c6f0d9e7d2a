// Every product Worker in one `wrangler dev` with its storage in a temporary folder, Sume's simulator beside it, and the
// front Worker that shows what came of each job. Called by the programs that kill the runtime (test/proofs/crash) or load it
// (test/proofs/load).
// Leaves out test doubles: only the consumers' leases can be shortened. For tests of single cases there is stack.ts.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RetryPolicy } from "../../local/sume/webhooks/deliver.ts";
import { DEVELOPMENT_API_KEY, DEVELOPMENT_SECRET, startSume, type Sume } from "../../local/sume/simulator.ts";
import { type DevServer, migrate, startDevServer } from "./dev-server.ts";
import { type WorkerConfig, writeConfig } from "./worker-config.ts";

export type SystemOptions = {
  /** Sume's departures from its documented policy. */
  policy: Partial<RetryPolicy>;
  /** Minutes until an unfinished job is first alerted, in place of the ledger service's own. */
  watchAfterMinutes?: number;
  /** Leases of seconds for the consumers; see test/support/workers/short-leases. */
  shortLeases?: boolean;
  signal: AbortSignal;
};

export type System = {
  sume: Sume;
  server: DevServer;
  /** Jobs that the reconciler sent again. */
  redispatched: ReadonlySet<string>;
  /** Ends everything and removes the folder. */
  close(): Promise<void>;
};

/** @throws on other systems than Linux, and when the Workers cannot be run. */
export async function startSystem(options: SystemOptions): Promise<System> {
  if (process.platform !== "linux") throw new Error("this needs Linux: it looks for the runtime in /proc");
  const folder = await mkdtemp(join(tmpdir(), "job-ledger-"));
  let sume: Sume | undefined;
  try {
    sume = await startSume({ policy: options.policy });
    const redispatched = new Set<string>();
    const server = await startWorkers(folder, sume.origin, options, redispatched);
    sume.setReceiver(`${server.url}/webhooks/sume`);
    return { sume, server, redispatched, close: () => close(folder, sume, server) };
  } catch (error) {
    await close(folder, sume, undefined);
    throw error;
  }
}

async function close(folder: string, sume: Sume | undefined, server: DevServer | undefined): Promise<void> {
  await Promise.all([sume?.close(), server?.stop()]);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function startWorkers(
  folder: string,
  sumeOrigin: string,
  { watchAfterMinutes, shortLeases = false, signal }: SystemOptions,
  redispatched: Set<string>,
): Promise<DevServer> {
  const consumers = shortLeases ? { main: "test/support/workers/short-leases/src/index.ts" } : {};
  const index = { config: "consumers/job-index/wrangler.jsonc", ...consumers };
  const workers: WorkerConfig[] = [
    { config: "test/support/workers/front/wrangler.jsonc" },
    { config: "receiver/wrangler.jsonc" },
    {
      config: "ledger-service/wrangler.jsonc",
      vars: watchAfterMinutes === undefined ? {} : { WATCH_AFTER_MINUTES: String(watchAfterMinutes) },
    },
    {
      config: "consumers/artifact-archive/wrangler.jsonc",
      vars: { ARTIFACT_ORIGINS: sumeOrigin },
      ...consumers,
    },
    { config: "consumers/reconciler/wrangler.jsonc", vars: { SUME_API_URL: sumeOrigin } },
  ];
  const database = await writeConfig(folder, index);
  migrate(folder, "DB", database);
  signal.throwIfAborted();
  const configs: string[] = [];
  for (const worker of workers) configs.push(await writeConfig(folder, worker));
  return await startDevServer({
    folder,
    configs: [...configs, database],
    env: { SUME_WEBHOOK_SECRET: DEVELOPMENT_SECRET, SUME_API_KEY: DEVELOPMENT_API_KEY },
    onLog: ({ worker, outcome, jobId }) => {
      if (worker === "reconciler" && outcome === "redispatched") redispatched.add(String(jobId));
    },
    signal,
  });
}
