// The stack in this process: all Workers in one real workerd, with real queues, R2, D1 and SQLite. A Node program
// drives it from outside. Called by the system tests and the demo.
// Leaves out a runtime that can be killed, and its own network (here `fetch` goes through Node): dev-stack.ts.

import { setTimeout as pause } from "node:timers/promises";
import { createTestHarness } from "wrangler";
import type { ClaimView, JobView, LedgerAdminService, LedgerService } from "../../../ledger-service/contract/index.ts";
import { startSume, type Sume, type SumeOptions } from "../../local/sume/simulator.ts";
import { ROOT, quietWrangler } from "../tools/wrangler-env.ts";
import { type ReceiverSecrets, stackWorkers, type WorkerOptions } from "./stack-workers.ts";
import { migratedDatabases } from "./worker-config.ts";
import { productWorkers } from "./workers.ts";

export const SECRET = "secret-that-must-not-be-logged";

type IntakeBinding = {
  ingest(args: { namespace: string; jobId: string; event: { type: string; body: string; source: string } }): Promise<{
    outcome: string;
  }>;
  redispatch(args: { namespace: string; jobId: string; pending: string[] }): Promise<{
    outcome: string;
    dispatchedTo?: string[];
  }>;
};
type RefusingQueue = {
  refuse(jobId: string, times: number): Promise<void>;
  lose(jobId: string, times: number): Promise<void>;
  taken(jobId: string): Promise<number>;
};
type OperatorEnv = { ADMIN: LedgerAdminService; INTAKE: IntakeBinding; REFUSING_QUEUE: RefusingQueue };
type StoredObject = { key: string; size: number };
type Bucket = {
  list(options: { prefix: string }): Promise<{ objects: StoredObject[] }>;
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>;
};
type Database = {
  prepare(sql: string): { bind(...values: unknown[]): { all(): Promise<{ results: Record<string, unknown>[] }> } };
};

export type LogLine = { level: string; worker: string; event: string; outcome: string; jobId?: string } & Record<
  string,
  unknown
>;

export type StackOptions = WorkerOptions & { secrets?: ReceiverSecrets; sume?: SumeOptions };
export type Stack = Awaited<ReturnType<typeof startStack>>;

const NAMESPACE = "default";

/** Starts everything; `close` ends it and removes its storage. */
export async function startStack({ secrets, sume: sumeOptions, ...options }: StackOptions = {}) {
  quietWrangler();
  const sume: Sume = await startSume({ secrets: [SECRET], ...sumeOptions });
  const product = productWorkers(sume.origin);
  const workers = (receiverSecrets: ReceiverSecrets) => stackWorkers(product, options, receiverSecrets);
  const harness = createTestHarness({ root: ROOT, workers: workers(secrets ?? { SUME_WEBHOOK_SECRET: SECRET }) });
  const { url } = await harness.listen();
  for (const { name, config } of product) {
    for (const binding of migratedDatabases(config)) await harness.getWorker(name).applyD1Migrations(binding);
  }
  const webhookUrl = new URL("/webhooks/sume", url).href;
  sume.setReceiver(webhookUrl);

  // Asked for afresh each time: a reconfigured harness makes what it handed out before unusable.
  const operator = () => harness.getWorker<OperatorEnv>("operator").getEnv();
  /**
   * Calls a method of a test Worker that answers calls over HTTP (test/support/workers/remote says which, and why so).
   */
  const call = async <T>(name: string, method: string, ...args: unknown[]): Promise<T> => {
    const request = { method: "POST", body: JSON.stringify({ method, args }) };
    const response = await harness.getWorker(name).fetch("/", request);
    if (!response.ok) throw new Error(`${name}: ${method}: ${await response.text()}`);
    const { value }: { value: T } = JSON.parse(await response.text());
    return value;
  };
  const inspect = async (jobId: string, namespace: string, body: boolean): Promise<JobView | null> => {
    const args = { namespace, jobId, actor: "tests", body };
    const { value } = await call<{ value: JobView | null }>("caller", "call", "ADMIN", "inspect", args);
    return value;
  };
  const record = (jobId: string, namespace = NAMESPACE): Promise<JobView | null> => inspect(jobId, namespace, false);
  const claimOf = async (jobId: string, consumer: string): Promise<ClaimView | undefined> =>
    (await record(jobId))?.claims.find((claim) => claim.consumer === consumer);

  return {
    harness,
    sume,
    webhookUrl,
    operator,
    call,
    record,
    /** The record with the events' bodies. */
    recordWithBodies: (jobId: string): Promise<JobView | null> => inspect(jobId, NAMESPACE, true),
    claimOf,
    /** The `Ledger` binding of that Worker, with its identity. */
    ledgerOf: async (name: string): Promise<LedgerService> =>
      (await harness.getWorker<{ LEDGER: LedgerService }>(name).getEnv()).LEDGER,
    refusingQueue: async (): Promise<RefusingQueue> => (await operator()).REFUSING_QUEUE,
    /** Waits until the job is finished: the event is there, and every claim has ended. */
    untilFinished: (jobId: string, namespace = NAMESPACE): Promise<JobView> =>
      until(`job ${jobId} to be finished`, async () => {
        const job = await record(jobId, namespace);
        const finished = job !== null && job.events.length > 0 && job.unfinished.length === 0;
        return finished ? job : undefined;
      }),
    archived: async (prefix: string): Promise<StoredObject[]> => {
      const { ARTIFACTS } = await harness.getWorker<{ ARTIFACTS: Bucket }>("artifact-archive").getEnv();
      const { objects } = await ARTIFACTS.list({ prefix });
      return objects.map(({ key, size }) => ({ key, size }));
    },
    indexed: async (jobId: string): Promise<Record<string, unknown>[]> => {
      const { DB } = await harness.getWorker<{ DB: Database }>("job-index").getEnv();
      return (await DB.prepare("SELECT * FROM jobs WHERE job_id = ?").bind(jobId).all()).results;
    },
    /** The Workers' log lines so far. */
    logs: (): LogLine[] =>
      harness.getLogs().flatMap(({ message }) => (message.startsWith("{") ? [JSON.parse(message)] : [])),
    /** Deploys the receiver anew with other secrets; storage stays. */
    setReceiverSecrets: (receiverSecrets: ReceiverSecrets): Promise<void> =>
      harness.update((current) => ({ ...current, workers: workers(receiverSecrets) })),
    close: async (): Promise<void> => {
      await sume.close();
      await harness.close();
    },
  };
}

/**
 * Polls until `condition` answers something other than `undefined`.
 * @throws after `withinMs` milliseconds (a minute by default: the machine may be busy), naming what was waited for.
 */
export async function until<T>(
  what: string,
  condition: () => Promise<T | undefined> | T | undefined,
  withinMs = 60_000,
): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined) return value;
    if (Date.now() > end) throw new Error(`waited ${withinMs / 1_000} s in vain for ${what}`);
    await pause(20);
  }
}
