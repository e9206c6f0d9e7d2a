// A queue: takes messages, hands them to its consumer in batches at least once, and again after the delay that the consumer
// asks for. A message can be lost here, which no queue promises not to: the ledger's watch is there for it.

import { Process } from "./scheduler.ts";
import type { Batch } from "./production.ts";
import { call, copied, serveIn } from "./transport.ts";
import type { World } from "./world.ts";

/** Milliseconds; the platform ends an invocation then. */
const LONGEST_INVOCATION_MS = 15 * 60_000;
/** Milliseconds until the messages of an invocation that died come again. */
const AFTER_DEATH_MS = 10_000;
const MAX_BATCH = 10;

type Message = { id: string; body: unknown; attempts: number };

export type QueueOptions = {
  name: string;
  maxRetries: number;
  /** A new invocation of the consumer. */
  spawn: () => Process;
  handle: (batch: Batch) => Promise<void>;
  /** A message was stored. */
  onStored?: (body: unknown) => void;
};

export class Queue {
  readonly #world: World;
  readonly #options: QueueOptions;
  #waiting: Message[] = [];
  #ids = 0;

  constructor(world: World, options: QueueOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** The producer's side, as a binding has it. */
  readonly binding = {
    send: (body: unknown): Promise<void> => {
      const sent = copied(body);
      return call<void>(this.#world, {
        boundary: "send",
        label: `queue ${this.#options.name} ${JSON.stringify(sent)}`,
        from: Process.current(),
        serve: () => {
          this.#options.onStored?.(sent);
          this.#enqueue({ id: `${this.#options.name}-${++this.#ids}`, body: sent, attempts: 1 }, 0);
          return Promise.resolve({ value: undefined });
        },
      });
    },
  };

  #enqueue(message: Message, delayMs: number): void {
    this.#world.scheduler.after(delayMs + this.#world.latency(), () => {
      this.#waiting.push(message);
      // Others that are due at the same time come in the same batch.
      if (this.#waiting.length === 1) this.#world.scheduler.after(0, () => this.#handOver());
    });
  }

  #handOver(): void {
    const { name } = this.#options;
    const due = this.#waiting.splice(0, MAX_BATCH);
    if (this.#waiting.length > 0) this.#world.scheduler.after(0, () => this.#handOver());
    const handed: Message[] = [];
    for (const message of due) {
      const fault = this.#world.cross("message", `queue ${name} -> ${JSON.stringify(message.body)}`);
      if (fault === "lost") continue;
      if (fault === "late") {
        this.#world.scheduler.after(this.#world.lateness(), () => void this.#invoke([message]));
        continue;
      }
      handed.push(message);
      if (fault === "twice")
        this.#world.scheduler.after(this.#world.latency(), () => void this.#invoke([{ ...message }]));
      // As if the acknowledgement had not reached the queue.
      if (fault === "again-after")
        this.#world.scheduler.after(this.#world.lateness(), () => void this.#invoke([{ ...message }]));
    }
    if (handed.length > 0) void this.#invoke(handed);
  }

  async #invoke(messages: Message[]): Promise<void> {
    const process = this.#options.spawn();
    const settled = new Map<string, number | null>();
    const batch: Batch = {
      messages: messages.map(({ id, body, attempts }) => ({
        id,
        body: copied(body),
        attempts,
        ack: () => void settled.set(id, null),
        retry: ({ delaySeconds }) => void settled.set(id, delaySeconds * 1_000),
      })),
    };
    const tooLong = this.#world.scheduler.after(LONGEST_INVOCATION_MS, () => process.die());
    const outcome = await serveIn(process, () => this.#options.handle(batch));
    tooLong();
    const died = "error" in outcome;
    this.#world.trace(() => `       ${process.name}: batch ${died ? String(outcome.error) : "done"}`);
    for (const message of messages) {
      // A handler that returned acknowledges what it has not said otherwise of; one that died, nothing.
      const delay = died ? AFTER_DEATH_MS : (settled.get(message.id) ?? null);
      if (delay === null || message.attempts > this.#options.maxRetries) continue;
      this.#enqueue({ ...message, attempts: message.attempts + 1 }, delay);
    }
    process.die();
  }
}
