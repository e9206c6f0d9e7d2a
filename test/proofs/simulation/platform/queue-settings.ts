// What a consumer's wrangler config says of its queue, read from the file itself: a run is only worth what its settings are.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { runInNewContext } from "node:vm";
import * as v from "valibot";
import type { QueueSettings } from "./queues.ts";

const ROOT = resolve(import.meta.dirname, "../../../..");
const SECOND_MS = 1_000;

/** Where a setting is left out, the platform's default stands in its place. Times are seconds. */
const Config = v.object({
  queues: v.object({
    consumers: v.tuple([
      v.object({
        max_batch_size: v.optional(v.number(), 10),
        max_batch_timeout: v.optional(v.number(), 5),
        max_retries: v.optional(v.number(), 3),
        retry_delay: v.optional(v.number()),
      }),
    ]),
  }),
});

/** @throws for a Worker that does not read exactly one queue. */
export function configuredQueue(consumer: string): QueueSettings {
  const text = readFileSync(resolve(ROOT, "consumers", consumer, "wrangler.jsonc"), "utf8");
  // JSON with comments and trailing commas is an expression of JavaScript.
  const config: unknown = runInNewContext(`(${text}\n)`);
  const [queue] = v.parse(Config, config).queues.consumers;
  return {
    maxBatch: queue.max_batch_size,
    batchWithinMs: queue.max_batch_timeout * SECOND_MS,
    maxRetries: queue.max_retries,
    retryDelayMs: queue.retry_delay === undefined ? null : queue.retry_delay * SECOND_MS,
  };
}
