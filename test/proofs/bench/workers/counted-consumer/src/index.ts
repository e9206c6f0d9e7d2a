// The consumers of the bench's bill. What comes over a `counted-` queue goes through the ledger. What comes over a
// `plain-` queue has no ledger to ask and is done at once. Invocations and messages are counted in the units of the
// bill.

import { WorkerEntrypoint } from "cloudflare:workers";
import { consume, type JobMessage, type LedgerBinding } from "job-ledger/client";
import type { QueueCounts } from "../../driver/src/calls.ts";

type Env = { LEDGER_FIRST: LedgerBinding; LEDGER_SECOND: LedgerBinding };

const invocations = new Map<string, number>();
const reads = new Map<string, number>();
const messages = new Map<string, Set<string>>();

export default class CountedConsumer extends WorkerEntrypoint<Env> {
  counts(jobId: string): QueueCounts {
    return {
      invocations: invocations.get(jobId) ?? 0,
      messages: messages.get(jobId)?.size ?? 0,
      reads: reads.get(jobId) ?? 0,
    };
  }

  override async queue(batch: MessageBatch<JobMessage>): Promise<void> {
    for (const { id, body } of batch.messages) {
      // The queues deliver one message at a time (wrangler.jsonc), so this is also the count of invocations.
      invocations.set(body.jobId, (invocations.get(body.jobId) ?? 0) + 1);
      reads.set(body.jobId, (reads.get(body.jobId) ?? 0) + 1);
      messages.set(body.jobId, (messages.get(body.jobId) ?? new Set()).add(`${batch.queue} ${id}`));
    }
    switch (batch.queue) {
      case "counted-first":
        return await consume(batch, this.env.LEDGER_FIRST, async () => undefined);
      case "counted-second":
        return await consume(batch, this.env.LEDGER_SECOND, async () => undefined);
      default:
        return batch.ackAll();
    }
  }
}
