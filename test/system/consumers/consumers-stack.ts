// The receiver, the ledger and both consumers in one real workerd, with real queues, R2 and D1, for the consumers' tests to
// drive from outside: events come in as signed deliveries, effects are read from the stores and from the ledger's record.

import { createTestHarness } from "wrangler";
import type { ClaimView, JobView } from "../../../ledger-service/contract/index.ts";
import { signedHeaders } from "../../local/sume/webhooks/sign.ts";
import { until } from "../../support/stack/stack.ts";
import { quietWrangler, ROOT } from "../../support/tools/wrangler-env.ts";

export { until };

type Consumer = "artifact-archive" | "job-index";

const SECRET = "consumers-test-secret";
const NAMESPACE = "default";

export type Bucket = {
  get(key: string): Promise<{
    httpMetadata?: { contentType?: string };
    arrayBuffer(): Promise<ArrayBuffer>;
  } | null>;
  list(options: { prefix: string }): Promise<{ objects: { key: string }[] }>;
};
type Database = {
  prepare(sql: string): { bind(...values: unknown[]): { run(): Promise<{ results: Record<string, unknown>[] }> } };
};

/**
 * `hasty`: the archive's released claims may be taken again at once. `archive`: the folder of its config, the product's when
 * left out.
 */
type Options = { origins: string; maxBytes?: number; hasty?: boolean; archive?: string };

export type ConsumersStack = Awaited<ReturnType<typeof startConsumers>>;

/** Starts everything, with storage of its own; `close` ends it. `origins` is the archive's `ARTIFACT_ORIGINS`. */
export async function startConsumers({
  origins,
  maxBytes,
  hasty = false,
  archive = "consumers/artifact-archive",
}: Options) {
  quietWrangler();
  const limit = maxBytes === undefined ? {} : { MAX_ARTIFACT_BYTES: String(maxBytes) };
  const harness = createTestHarness({
    root: ROOT,
    workers: [
      { configPath: "receiver/wrangler.jsonc", secrets: { SUME_WEBHOOK_SECRET: SECRET } },
      { configPath: "ledger-service/wrangler.jsonc" },
      {
        configPath: `${archive}/wrangler.jsonc`,
        vars: { ARTIFACT_ORIGINS: origins, ...limit },
        bindingOverrides: hasty ? { LEDGER: "hasty-ledger" } : {},
      },
      { configPath: "consumers/job-index/wrangler.jsonc" },
      { configPath: "test/support/workers/caller/wrangler.jsonc" },
      { configPath: "test/support/workers/hasty-ledger/wrangler.jsonc" },
    ],
  });
  const { url } = await harness.listen();
  await harness.getWorker("job-index").applyD1Migrations("DB");
  const { ARTIFACTS } = await harness.getWorker<{ ARTIFACTS: Bucket }>("artifact-archive").getEnv();
  const { DB } = await harness.getWorker<{ DB: Database }>("job-index").getEnv();

  /** Over HTTP: calls through the harness's own proxies block this process, and with it the artifacts' server. */
  const call = async <T>(...args: [binding: string, method: string, args: unknown]): Promise<T> => {
    const body = JSON.stringify({ method: "call", args });
    const answered = await harness.getWorker("caller").fetch("/", { method: "POST", body });
    const { value }: { value: { value: T; error?: { message: string } } } = JSON.parse(await answered.text());
    if (value.error !== undefined) throw new Error(value.error.message);
    return value.value;
  };
  const claimOf = async (consumer: Consumer, jobId: string): Promise<ClaimView | undefined> => {
    const record = await call<JobView | null>("ADMIN", "inspect", { namespace: NAMESPACE, jobId, actor: "tests" });
    return record?.claims.find((claim) => claim.consumer === consumer);
  };
  const untilStatus = (consumer: Consumer, jobId: string, ...statuses: ClaimView["status"][]): Promise<ClaimView> =>
    until(`${consumer} to be ${statuses.join(" or ")} for ${jobId}`, async () => {
      const claim = await claimOf(consumer, jobId);
      return claim !== undefined && statuses.includes(claim.status) ? claim : undefined;
    });

  return {
    /** Delivers a body as Sume does; answers the receiver's status. */
    async deliver(body: Uint8Array | string): Promise<number> {
      const headers = signedHeaders([SECRET], Math.floor(Date.now() / 1_000), body);
      const bytes = typeof body === "string" ? body : Uint8Array.from(body);
      const response = await fetch(new URL("/webhooks/sume", url), { method: "POST", headers, body: bytes });
      await response.body?.cancel();
      return response.status;
    },
    /** Waits until the consumer's claim has one of the statuses. */
    untilStatus,
    untilSettled: (consumer: Consumer, jobId: string) => untilStatus(consumer, jobId, "completed", "failed"),
    /** Has a settled job done again: reopened for the consumer, with that event of it, and its message sent. */
    async again(consumer: Consumer, jobId: string, eventType?: string): Promise<void> {
      const type = eventType === undefined ? {} : { eventType };
      await call("ADMIN", "reopen", { namespace: NAMESPACE, jobId, consumer, actor: "tests", ...type });
      await call("INTAKE", "redispatch", { namespace: NAMESPACE, jobId, pending: [consumer] });
    },
    /** The keys below a prefix. */
    async keys(prefix: string): Promise<string[]> {
      return (await ARTIFACTS.list({ prefix })).objects.map(({ key }) => key);
    },
    async stored(key: string): Promise<{ bytes: Buffer; type: string | undefined } | null> {
      const object = await ARTIFACTS.get(key);
      if (object === null) return null;
      return { bytes: Buffer.from(await object.arrayBuffer()), type: object.httpMetadata?.contentType };
    },
    async sql(statement: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
      return (
        await DB.prepare(statement)
          .bind(...values)
          .run()
      ).results;
    },
    close: () => harness.close(),
  };
}
