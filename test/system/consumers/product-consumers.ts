// The product's consumers on a stack, as their tests see them: claims, the bucket, the database, a job done again.

import type { ClaimView } from "../../../ledger-service/contract/index.ts";
import { type Stack, until } from "../../support/stack/stack.ts";
import { callThrough } from "../controls.ts";
import { sendSigned } from "../receiver/requests.ts";

type Consumer = "artifact-archive" | "job-index";
type Bucket = {
  get(key: string): Promise<{
    httpMetadata?: { contentType?: string };
    arrayBuffer(): Promise<ArrayBuffer>;
  } | null>;
};
type Database = {
  prepare(sql: string): { bind(...values: unknown[]): { run(): Promise<{ results: Record<string, unknown>[] }> } };
};

export type ProductConsumers = ReturnType<typeof productConsumers>;

export function productConsumers(stack: Stack) {
  const untilStatus = (consumer: Consumer, jobId: string, ...statuses: ClaimView["status"][]): Promise<ClaimView> =>
    until(`${consumer} to be ${statuses.join(" or ")} for ${jobId}`, async () => {
      const claim = await stack.claimOf(jobId, consumer);
      return claim !== undefined && statuses.includes(claim.status) ? claim : undefined;
    });
  const administer = async (binding: "ADMIN" | "INTAKE", method: string, args: object): Promise<void> => {
    const { error } = await callThrough(stack, binding, method, { namespace: "default", ...args });
    if (error !== undefined) throw new Error(error.message);
  };
  return {
    /** Delivers a body as Sume does; answers the receiver's status. */
    deliver: async (body: string | Uint8Array): Promise<number | undefined> => (await sendSigned(stack, body)).status,
    /** Waits until the consumer's claim has one of the statuses. */
    untilStatus,
    untilEnded: (consumer: Consumer, jobId: string) => untilStatus(consumer, jobId, "completed", "failed"),
    /** Has an ended claim done again: reopened for the consumer, with that event of the job, and its message sent. */
    async again(consumer: Consumer, jobId: string, eventType?: string): Promise<void> {
      const type = eventType === undefined ? {} : { eventType };
      await administer("ADMIN", "reopen", { jobId, consumer, actor: "tests", ...type });
      await administer("INTAKE", "redispatch", { jobId, pending: [consumer] });
    },
    /** The keys below a prefix. */
    keys: async (prefix: string): Promise<string[]> => (await stack.archived(prefix)).map(({ key }) => key),
    async stored(key: string): Promise<{ bytes: Buffer; type: string | undefined } | null> {
      const { ARTIFACTS } = await stack.harness.getWorker<{ ARTIFACTS: Bucket }>("artifact-archive").getEnv();
      const object = await ARTIFACTS.get(key);
      if (object === null) return null;
      return { bytes: Buffer.from(await object.arrayBuffer()), type: object.httpMetadata?.contentType };
    },
    async sql(statement: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
      const { DB } = await stack.harness.getWorker<{ DB: Database }>("job-index").getEnv();
      const bound = DB.prepare(statement).bind(...values);
      return (await bound.run()).results;
    },
  };
}
