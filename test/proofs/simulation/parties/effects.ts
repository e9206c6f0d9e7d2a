// What the consumers' work leaves behind: one value per job and consumer, in a downstream that refuses a write whose fence is
// lower than the one it has, as job-index's D1 does.

import type { Job } from "../platform/production.ts";
import { Process } from "../platform/scheduler.ts";
import { call } from "../platform/transport.ts";
import { lost, type World } from "../platform/world.ts";

export type Effect = { attempt: number; fence: number; value: string };

export class Effects {
  readonly #world: World;
  readonly #stored = new Map<string, Effect>();

  constructor(world: World) {
    this.#world = world;
  }

  get(key: string): Effect | undefined {
    return this.#stored.get(key);
  }

  /** The request of some work; like `fetch`, it ends when the job's signal is aborted, though what was sent may still land. */
  write(key: string, { attempt, fence, event, signal }: Job): Promise<boolean> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(lost(`effect ${key}`)));
      call<boolean>(this.#world, {
        boundary: "effect",
        label: `effect ${key} attempt ${attempt} fence ${fence}`,
        from: Process.current(),
        serve: () => Promise.resolve({ value: this.#put(key, { attempt, fence, value: event.body }) }),
      }).then(resolve, reject);
    });
  }

  #put(key: string, effect: Effect): boolean {
    const stored = this.#stored.get(key);
    if (stored !== undefined && stored.fence > effect.fence) return false;
    this.#stored.set(key, effect);
    return true;
  }
}
