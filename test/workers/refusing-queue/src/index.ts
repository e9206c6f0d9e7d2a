// A queue producer that can be told to refuse: bound to the receiver in place of the scripted consumer's queue. What it does
// not refuse it passes on to the real queue, and it keeps count of it.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { JobMessage } from "job-ledger/client";

type Env = { QUEUE: Queue<JobMessage> };

const refusals = new Map<string, number>();
const taken = new Map<string, number>();

export default class RefusingQueue extends WorkerEntrypoint<Env> {
  /** The next `times` messages for the job are refused. */
  refuse(jobId: string, times: number): void {
    refusals.set(jobId, times);
  }

  /** Messages for the job that were passed on. */
  taken(jobId: string): number {
    return taken.get(jobId) ?? 0;
  }

  async send(message: JobMessage): Promise<void> {
    const left = refusals.get(message.jobId) ?? 0;
    if (left > 0) {
      refusals.set(message.jobId, left - 1);
      throw new Error("refused as told");
    }
    taken.set(message.jobId, (taken.get(message.jobId) ?? 0) + 1);
    await this.env.QUEUE.send(message);
  }
}
