// A consumer whose first invocation for a message dies after the work, before it can settle its claim. From the second
// on it consumes like any other. Its work puts a value under the job's key, so that a repeat overwrites itself, and is
// counted.

import { WorkerEntrypoint } from "cloudflare:workers";
import { consume, type Job, type JobMessage, type LedgerBinding } from "job-ledger/client";
import { answerCall } from "../../../../support/workers/remote/answer-calls.ts";

type Env = { LEDGER: LedgerBinding; QUEUE: Queue<JobMessage> };

/** Milliseconds; the dead one's lease, and so the time until another may take over. */
const LEASE_MS = 1_000;

const effects = new Map<string, string>();
const runs = new Map<string, number>();

async function work({ jobId, event }: Pick<Job, "jobId" | "event">): Promise<void> {
  runs.set(jobId, (runs.get(jobId) ?? 0) + 1);
  effects.set(jobId, event.type);
}

export default class Crashing extends WorkerEntrypoint<Env> {
  override fetch(request: Request): Promise<Response> {
    return answerCall(request, this);
  }

  async enqueue(jobId: string): Promise<void> {
    await this.env.QUEUE.send({ jobId });
  }

  effect(jobId: string): { runs: number; value: string | null } {
    return { runs: runs.get(jobId) ?? 0, value: effects.get(jobId) ?? null };
  }

  override async queue(batch: MessageBatch<JobMessage>): Promise<void> {
    for (const { attempts, body } of batch.messages) {
      if (attempts > 1) continue;
      const claimed = await this.env.LEDGER.claim({ jobId: body.jobId, leaseMs: LEASE_MS });
      if (claimed.outcome === "claimed") await work({ jobId: body.jobId, event: claimed.event });
      throw new Error("crashed as told");
    }
    await consume(batch, this.env.LEDGER, work, { leaseMs: LEASE_MS });
  }
}
