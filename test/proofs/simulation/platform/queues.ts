// A queue: takes messages, hands them to its consumer in batches at least once, and again after the delay that the consumer
// asks for. A message can be lost here, which no queue promises not to: the ledger's watch is there for it.

import { Process } from "./scheduler.ts";
import type { Batch } from "./production.ts";
import { call, copied, serveIn } from "./transport.ts";
import type { World } from "./world.ts";

/** Milliseconds; the platform ends an invocation then. */
const LONGEST_INVOCATION_MS = 15 * 60_000;
/** Milliseconds until the messages of an invocation that died come again, where the queue's settings do not say. */
const AFTER_DEATH_MS = 10_000;

type Message<Body> = { id: string; body: Body; attempts: number; isUnheard?: boolean };

/** As a consumer's wrangler config has them. */
export type QueueSettings = {
  maxBatch: number;
  /** Milliseconds that a batch which is not full waits for more. */
  batchWithinMs: number;
  maxRetries: number;
  /** Milliseconds before a message comes again of which the consumer did not say; `null`: not set. */
  retryDelayMs: number | null;
};

export type QueueOptions<Body> = {
  name: string;
  settings: QueueSettings;
  /** Whether anybody takes its messages; `true` by default. */
  isRead?: boolean;
  /** A new invocation of the consumer. */
  spawn: () => Process;
  handle: (batch: Batch) => Promise<void>;
  /** A message was stored. */
  onStored?: (body: Body) => void;
  /** A message is handed to the consumer. */
  onHanded?: (body: Body) => void;
};

export class Queue<Body> {
  readonly #world: World;
  readonly #options: QueueOptions<Body>;
  #waiting: Message<Body>[] = [];
  #ids = 0;
  #cancelHandOver: () => void = () => {};

  constructor(world: World, options: QueueOptions<Body>) {
    this.#world = world;
    this.#options = options;
  }

  /** The producer's side, as a binding has it. */
  readonly binding = {
    send: (body: Body): Promise<void> => {
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

  #enqueue(message: Message<Body>, delayMs: number): void {
    const { isRead = true, settings } = this.#options;
    if (!isRead) return;
    this.#world.scheduler.after(delayMs + this.#world.latency(), () => {
      this.#waiting.push(message);
      // Others that are due at the same time come in the same batch.
      if (this.#waiting.length === 1) this.#handOverAfter(settings.batchWithinMs);
      else if (this.#waiting.length === settings.maxBatch) this.#handOverAfter(0);
    });
  }

  #handOverAfter(ms: number): void {
    this.#cancelHandOver();
    this.#cancelHandOver = this.#world.scheduler.after(ms, () => this.#handOver());
  }

  #handOver(): void {
    const { name, settings } = this.#options;
    const due = this.#waiting.splice(0, settings.maxBatch);
    if (this.#waiting.length > 0) this.#handOverAfter(0);
    const handed: Message<Body>[] = [];
    for (const message of due) {
      const fault = this.#world.cross("message", `queue ${name} -> ${JSON.stringify(message.body)}`);
      if (fault === "lost") continue;
      if (fault === "late") {
        this.#world.scheduler.after(this.#world.lateness(), () => void this.#invoke([message]));
        continue;
      }
      // As if what the consumer said of it had not reached the queue.
      handed.push({ ...message, isUnheard: fault === "again-after" });
      if (fault === "again-after")
        this.#world.scheduler.after(this.#world.lateness(), () => void this.#invoke([message]));
      // What is handed over twice is one message all the same: it comes again, or is done with, by the first.
      if (fault === "twice")
        this.#world.scheduler.after(this.#world.latency(), () => void this.#invoke([{ ...message, isUnheard: true }]));
    }
    if (handed.length > 0) void this.#invoke(handed);
  }

  async #invoke(messages: Message<Body>[]): Promise<void> {
    const { spawn, handle, onHanded, settings } = this.#options;
    for (const { body } of messages) onHanded?.(body);
    const process = spawn();
    const settled = new Map<string, number | null>();
    const batch: Batch = {
      messages: messages.map(({ id, body, attempts }) => ({
        id,
        body: copied(body),
        attempts,
        ack: () => void settled.set(id, null),
        retry: ({ delaySeconds } = {}) =>
          void settled.set(id, delaySeconds === undefined ? (settings.retryDelayMs ?? 0) : delaySeconds * 1_000),
      })),
    };
    const tooLong = this.#world.scheduler.after(LONGEST_INVOCATION_MS, () => process.die());
    const outcome = await serveIn(process, () => handle(batch));
    tooLong();
    const died = "error" in outcome;
    this.#world.trace(() => `       ${process.name}: batch ${died ? String(outcome.error) : "done"}`);
    for (const { isUnheard, ...message } of messages) {
      if (isUnheard === true) continue;
      // A handler that returned acknowledges what it has not said otherwise of; one that died, nothing.
      const delay = died ? (settings.retryDelayMs ?? AFTER_DEATH_MS) : (settled.get(message.id) ?? null);
      if (delay === null || message.attempts > settings.maxRetries) continue;
      this.#enqueue({ ...message, attempts: message.attempts + 1 }, delay);
    }
    process.die();
  }
}
