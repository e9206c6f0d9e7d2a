// The object in workerd as a subject of the model test: real storage and alarm, the clock and the alerts queue faked.

import { env } from "cloudflare:workers";
import * as v from "valibot";
import { type MockInstance, vi } from "vitest";
import type { JobView } from "../../../ledger-service/contract/index.ts";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import type { Subject } from "./agreement.ts";
import type { Answer, Call, Command, SentAlert } from "./command.ts";
import { sorted } from "./machine.ts";

const Message = v.strictObject({
  namespace: v.literal("n"),
  jobId: v.string(),
  reason: v.picklist(["not_arrived", "not_finished", "conflict"]),
  ring: v.number(),
  pending: v.array(v.string()),
  refresh: v.exactOptional(v.literal(true)),
});

/** The alerts queue, which takes or refuses as each command says. */
export class Queue {
  readonly sent: SentAlert[] = [];
  takes: () => Promise<boolean> = async () => true;

  constructor() {
    vi.spyOn(env.ALERTS, "send").mockImplementation(async (message) => {
      const { namespace: _namespace, jobId: _jobId, ...alert } = v.parse(Message, message);
      if (!(await this.takes())) throw new Error("queue down");
      this.sent.push(sorted(alert));
      return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
    });
  }
}

/** One instance of the object, between two evictions; to be used inside `runInDurableObject`. */
export class Job implements Subject {
  readonly #job: JobLedger;
  readonly #storage: DurableObjectStorage;
  readonly #queue: Queue;
  readonly #put: MockInstance<SyncKvStorage["put"]>;

  constructor(job: JobLedger, storage: DurableObjectStorage, queue: Queue) {
    this.#job = job;
    this.#storage = storage;
    this.#queue = queue;
    this.#put = vi.spyOn(storage.kv, "put");
  }

  async perform(command: Command<string>, now: number) {
    vi.setSystemTime(now);
    this.#put.mockClear();
    const outcome = command.verb === "alarm" ? await this.#ring(command, now) : await this.#call(command);
    const answer: Answer = { outcome, alerts: this.#queue.sent.splice(0) };
    // Between two transactions of one alarm a call may write the same row once more.
    const isMixed = command.verb === "alarm" && command.meanwhile !== null;
    return { ...answer, wrote: null, rows: isMixed ? null : this.#put.mock.calls.length };
  }

  view(): JobView | null {
    return this.#job.inspect(true);
  }

  alarm(): Promise<number | null> {
    return this.#storage.getAlarm();
  }

  async #ring(
    { accepts, meanwhile, slowMs }: Extract<Command<string>, { verb: "alarm" }>,
    now: number,
  ): Promise<object | null> {
    let outcome: object | null = null;
    let left = accepts;
    const takes = async () => left-- > 0;
    this.#queue.takes = async () => {
      vi.setSystemTime(now + slowMs);
      if (meanwhile !== null) outcome = await this.#call(meanwhile);
      vi.setSystemTime(now + 2 * slowMs);
      this.#queue.takes = takes;
      return takes();
    };
    await this.#storage.deleteAlarm(); // ringing uses it up
    await this.#job.alarm();
    return outcome;
  }

  async #call(call: Call<string>): Promise<object> {
    switch (call.verb) {
      case "claim": {
        const { event, verb: _verb, ...command } = call;
        return await this.#job.claim(command, event, 0);
      }
      case "complete":
        return this.#job.complete(call);
      case "release":
        return this.#job.release(call);
      case "renew":
        return this.#job.renew(call);
      case "reopen":
        return this.#job.reopen(call);
      case "abandon":
        return this.#job.abandon(call);
      case "expectEvent":
        return this.#job.expectEvent(call);
      case "cancelExpectation":
        return this.#job.cancelExpectation(call);
      default:
        return call satisfies never;
    }
  }
}
