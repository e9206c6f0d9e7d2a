// How consumers' work misbehaves: dependencies that are down for hours, and jobs that fail a few times, always, or for good.

import { NonRetryableError } from "../platform/production.ts";
import type { Random } from "../platform/random.ts";
import { keyOf } from "../simulation.ts";
import type { Work } from "../parties/workers.ts";
import type { Scripted } from "./script.ts";

const MINUTE_MS = 60_000;

/** What one consumer needs is down: its work throws. Milliseconds of the run; `key`: of the jobs it is down for. */
export type Downtime = { concerns: (key: string) => boolean; from: number; until: number };

/** Work that meets downtimes, and how often each job's work did. `now`: milliseconds of the run. */
export class Dependencies {
  readonly #downtimes: readonly Downtime[];
  readonly #now: () => number;
  readonly #refused = new Map<string, number>();

  constructor(downtimes: readonly Downtime[], now: () => number) {
    this.#downtimes = downtimes;
    this.#now = now;
  }

  /** Times that the work of that job and consumer was refused. */
  refusedOf(key: string): number {
    return this.#refused.get(key) ?? 0;
  }

  /** @throws while one of those that this work needs is down. */
  use(key: string): void {
    const now = this.#now();
    if (!this.#downtimes.some(({ concerns, from, until }) => now >= from && now < until && concerns(key))) return;
    this.#refused.set(key, this.refusedOf(key) + 1);
    throw new Error("what this work needs is down");
  }
}

export function misbehaving(
  write: Work,
  jobs: readonly Scripted[],
  { random, dependencies }: { random: Random; dependencies: Dependencies },
): Work {
  return async (job, key) => {
    const scripted = jobs.find((candidate) => key.startsWith(`${keyOf(candidate)} `));
    // From a moment to longer than a lease.
    await pause(random.chance(0.1) ? random.between(1, 13) * MINUTE_MS : random.between(0, 5_000), job.signal);
    if (scripted?.work === "impossible") throw new NonRetryableError("cannot be done");
    if (scripted?.work === "poison") throw new Error("always fails");
    if (scripted?.work === "moody" && job.attempt < 4) throw new Error("not yet");
    dependencies.use(key);
    return await write(job, key);
  };
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("the claim was lost")));
    setTimeout(resolve, ms);
  });
}
