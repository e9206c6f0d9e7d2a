// A queue producer in front of each consumer's queue, which its binding's props name. It counts what it passes on. It
// can be told to refuse a job's next message, or to hold it for the time being.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { JobMessage } from "job-ledger/client";
import { answerCall } from "../../../../support/workers/remote/answer-calls.ts";

type Consumer = "artifact-archive" | "job-index" | "scripted";
type Env = { ARTIFACT_ARCHIVE: Queue<JobMessage>; JOB_INDEX: Queue<JobMessage>; SCRIPTED: Queue<JobMessage> };
type Order = "hold" | "pass" | "refuse";

/** Milliseconds between two looks at a held message's order. */
const LOOK_MS = 5;

const orders = new Map<string, Order>();
const held = new Set<string>();
const passed = new Map<string, number>();

export default class ObservedQueue extends WorkerEntrypoint<Env, { consumer: Consumer }> {
  override fetch(request: Request): Promise<Response> {
    return answerCall(request, this);
  }

  /** What to do with the job's next message for that consumer, or with the one that is held. */
  order(jobId: string, consumer: Consumer, order: Order): void {
    orders.set(key(jobId, consumer), order);
  }

  /** Whether the job's message for that consumer is being held. */
  isHeld(jobId: string, consumer: Consumer): boolean {
    return held.has(key(jobId, consumer));
  }

  /** How many of the job's messages were passed on to each consumer. */
  messages(jobId: string): Record<Consumer, number> {
    const count = (consumer: Consumer) => passed.get(key(jobId, consumer)) ?? 0;
    return {
      "artifact-archive": count("artifact-archive"),
      "job-index": count("job-index"),
      scripted: count("scripted"),
    };
  }

  async send(message: JobMessage): Promise<void> {
    await this.sendTo(this.ctx.props.consumer, message);
  }

  async sendTo(consumer: Consumer, message: JobMessage): Promise<void> {
    const own = key(message.jobId, consumer);
    while (orders.get(own) === "hold") {
      held.add(own);
      await new Promise((resume) => setTimeout(resume, LOOK_MS));
    }
    held.delete(own);
    const refused = orders.get(own) === "refuse";
    orders.delete(own);
    if (refused) throw new Error("refused as told");
    passed.set(own, (passed.get(own) ?? 0) + 1);
    await this.#queue(consumer).send(message);
  }

  #queue(consumer: Consumer): Queue<JobMessage> {
    switch (consumer) {
      case "artifact-archive":
        return this.env.ARTIFACT_ARCHIVE;
      case "job-index":
        return this.env.JOB_INDEX;
      case "scripted":
        return this.env.SCRIPTED;
      default:
        return consumer satisfies never;
    }
  }
}

function key(jobId: string, consumer: Consumer): string {
  return `${consumer} ${jobId}`;
}
