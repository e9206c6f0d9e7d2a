// One run: its time, its chance, its faults, what it found and what it tells. Everything else of the simulation is built
// around one of these; nothing is shared between two runs.

import { BOUNDARIES, type Boundary, type Fault, type Plan } from "./faults.ts";
import { Random } from "./random.ts";
import type { Machine } from "./scheduler.ts";
import { Process, Scheduler } from "./scheduler.ts";

export type WorldOptions = {
  plan: Plan;
  /** Milliseconds that a message takes; asked for each. */
  latency: () => number;
  /** Milliseconds by which a message that is `late` is late; asked for each. */
  lateness: () => number;
  /** What the Workers' own chance comes from; without it the same in every run. */
  random?: Random;
  /** Where the lines of a replayed run go. */
  tell?: (line: string) => void;
};

/** Why a call failed for a caller: the platform's error, with the marks that it gives them. */
class PlatformError extends Error {
  override name = "PlatformError";
  readonly retryable: boolean;
  readonly durableObjectReset: boolean;

  constructor(message: string, { reset = false }: { reset?: boolean } = {}) {
    super(message);
    this.retryable = reset;
    this.durableObjectReset = reset;
  }
}

export class World {
  readonly scheduler = new Scheduler();
  readonly violations: string[] = [];
  readonly injected = new Map<string, number>();
  readonly latency: () => number;
  readonly lateness: () => number;
  /** The chance of the Workers' code. */
  readonly random: Random;
  /** Milliseconds of the run at which the last fault struck, or the last thing was asked for from outside. */
  lastDisturbance = 0;
  /** Answers the requests of the Workers' code to the outside. */
  fetch: (url: URL, init: { method: string; signal: AbortSignal }) => Promise<unknown> = () =>
    Promise.reject(new Error("there is no outside"));
  readonly #plan: Plan;
  readonly #tell: ((line: string) => void) | undefined;
  #tokens = 0;
  #crossings = 0;
  #processes = 0;

  constructor({ plan, latency, lateness, random = new Random(1), tell }: WorldOptions) {
    this.#plan = plan;
    this.latency = latency;
    this.lateness = lateness;
    this.random = random;
    this.#tell = tell;
  }

  nextToken(): number {
    return ++this.#tokens;
  }

  /** A new process; its number tells the invocations of one Worker apart. */
  spawn(name: string, machine: Machine): Process {
    return new Process(`${name}#${++this.#processes}`, machine);
  }

  /** Whether a fault strikes here. */
  cross(boundary: Boundary, label: string): Fault | null {
    const index = this.#crossings++;
    const fault = this.#plan.at({ index, boundary, label }, this.scheduler.now);
    this.trace(() => `${String(index).padStart(4)} ${boundary} ${label}${fault === null ? "" : `   *** ${fault}`}`);
    if (fault === null) return null;
    const kinds: readonly Fault[] = BOUNDARIES[boundary];
    if (!kinds.includes(fault)) throw new Error(`${fault} cannot strike at ${boundary}`);
    this.injected.set(`${boundary} ${fault}`, (this.injected.get(`${boundary} ${fault}`) ?? 0) + 1);
    this.disturbed();
    return fault;
  }

  disturbed(): void {
    this.lastDisturbance = this.scheduler.now;
  }

  violation(what: string): void {
    this.violations.push(what);
    this.trace(() => `     !!! ${what}`);
  }

  /** The line is made only where somebody listens. */
  trace(line: () => string): void {
    if (this.#tell === undefined) return;
    this.#tell(`${(this.scheduler.now / 1_000).toFixed(3).padStart(12)} ${line()}`);
  }
}

export const lost = (what: string) => new PlatformError(`${what}: connection lost`);
export const reset = (what: string) => new PlatformError(`${what}: the object was reset`, { reset: true });
