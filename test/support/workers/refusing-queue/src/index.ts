// A queue producer that can be told to refuse messages, or to lose them. It is bound to the receiver in place of the
// scripted consumer's queue. Every other message it passes on to the real queue, and it keeps count of those.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { JobMessage } from "job-ledger/client";

type Env = { QUEUE: Queue<JobMessage> };

const refusals = new Map<string, number>();
const losses = new Map<string, number>();
const taken = new Map<string, number>();

export default class RefusingQueue extends WorkerEntrypoint<Env> {
  /** The next `times` messages for the job are refused. */
  refuse(jobId: string, times: number): void {
    refusals.set(jobId, times);
  }

  /** The next `times` messages for the job are taken and lost. */
  lose(jobId: string, times: number): void {
    losses.set(jobId, times);
  }

  /** Messages for the job that were passed on. */
  taken(jobId: string): number {
    return taken.get(jobId) ?? 0;
  }

  async send(message: JobMessage): Promise<void> {
    if (use(refusals, message.jobId)) throw new Error("refused as told");
    if (use(losses, message.jobId)) return;
    taken.set(message.jobId, (taken.get(message.jobId) ?? 0) + 1);
    await this.env.QUEUE.send(message);
  }
}

function use(left: Map<string, number>, jobId: string): boolean {
  const times = left.get(jobId) ?? 0;
  left.set(jobId, times - 1);
  return times > 0;
}
