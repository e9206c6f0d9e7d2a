// All Workers in one real workerd, with real queues, R2, D1 and SQLite in a temporary folder, for a Node program to drive:
// the system tests and the demo. Beside the product run the small Workers of test/support/workers.

import { setTimeout as pause } from "node:timers/promises";
import { createTestHarness } from "wrangler";
import type { ClaimView, JobView, LedgerAdminService, LedgerService } from "../../../ledger-service/contract/index.ts";
import { DEVELOPMENT_API_KEY, startSume, type Sume, type SumeOptions } from "../../local/sume/simulator.ts";
import { ROOT, quietWrangler } from "../tools/wrangler-env.ts";

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

export type ReceiverSecrets = { SUME_WEBHOOK_SECRET?: string; SUME_WEBHOOK_SECRET_PREVIOUS?: string };
export type StackOptions = {
  secrets?: ReceiverSecrets;
  sume?: SumeOptions;
  /** Variables by Worker name, over those of its config. */
  vars?: Record<string, Record<string, string>>;
  /** Bindings of the receiver replaced by Workers of this stack. */
  receiverBindings?: Record<string, string>;
  /** The folder in test/support/workers with the receiver's config; `receiver` when left out. */
  receiver?: string;
  /** Folders in test/support/workers of further Workers. */
  workers?: readonly string[];
};
export type Stack = Awaited<ReturnType<typeof startStack>>;

const NAMESPACE = "default";

/** Starts everything; `close` ends it and removes its storage. */
export async function startStack(options: StackOptions = {}) {
  quietWrangler();
  const secrets = options.secrets ?? { SUME_WEBHOOK_SECRET: SECRET };
  const sume: Sume = await startSume({ secrets: [SECRET], ...options.sume });
  const worker = (configPath: string, name: string) => ({ configPath, vars: options.vars?.[name] ?? {} });
  const workers = (receiverSecrets: ReceiverSecrets) => [
    {
      ...worker(`test/support/workers/${options.receiver ?? "receiver"}/wrangler.jsonc`, "receiver"),
      secrets: { ...receiverSecrets },
      bindingOverrides: options.receiverBindings ?? {},
    },
    worker("ledger-service/wrangler.jsonc", "ledger-service"),
    {
      configPath: "consumers/artifact-archive/wrangler.jsonc",
      vars: { ARTIFACT_ORIGINS: sume.origin, ...options.vars?.["artifact-archive"] },
    },
    worker("consumers/job-index/wrangler.jsonc", "job-index"),
    worker("test/support/workers/scripted/wrangler.jsonc", "scripted"),
    worker("test/support/workers/refusing-queue/wrangler.jsonc", "refusing-queue"),
    worker("test/support/workers/operator/wrangler.jsonc", "operator"),
    worker("test/support/workers/caller/wrangler.jsonc", "caller"),
    {
      configPath: "test/support/workers/reconciler/wrangler.jsonc",
      vars: { SUME_API_URL: sume.origin, ...options.vars?.["reconciler"] },
      secrets: { SUME_API_KEY: DEVELOPMENT_API_KEY },
    },
    {
      ...worker("test/support/workers/receiver-other/wrangler.jsonc", "receiver-other"),
      secrets: { ...receiverSecrets },
    },
    worker("test/support/workers/scripted-other/wrangler.jsonc", "scripted-other"),
    ...(options.workers ?? []).map((name) => worker(`test/support/workers/${name}/wrangler.jsonc`, name)),
  ];
  const harness = createTestHarness({ root: ROOT, workers: workers(secrets) });
  const { url } = await harness.listen();
  await harness.getWorker("job-index").applyD1Migrations("DB");
  const webhookUrl = new URL("/webhooks/sume", url).href;
  sume.setReceiver(webhookUrl);

  // Asked for afresh each time: a reconfigured harness makes what it handed out before unusable.
  const operator = () => harness.getWorker<OperatorEnv>("operator").getEnv();
  /** Calls a method of a test Worker that answers calls over HTTP (test/support/workers/remote says which, and why so). */
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
    /** Waits until every consumer that was sent a message has settled its claim. */
    untilSettled: (jobId: string, namespace = NAMESPACE): Promise<JobView> =>
      until(`job ${jobId} to be settled`, async () => {
        const job = await record(jobId, namespace);
        const settled = job !== null && job.events.length > 0 && job.unfinished.length === 0;
        return settled ? job : undefined;
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
