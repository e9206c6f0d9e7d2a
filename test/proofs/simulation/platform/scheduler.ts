// Virtual time. Everything that takes time in a run is an event here: a message on its way, a timer of the Workers' code, an
// alarm. Between two events the code under test runs on until nothing of it is runnable.
//
// A process is what can die at once: an invocation of a Worker, or an object's instance. Code knows its process by the
// asynchronous context; a dead process gets no timers and no answers any more, which is how its code stops.

import { AsyncLocalStorage } from "node:async_hooks";
// Globals of the same name are replaced during a run.
import { setImmediate as realImmediate } from "node:timers";

/** A machine's clock, apart from true time by `skewMs`. */
export type Machine = { skewMs: number };

const current = new AsyncLocalStorage<Process>();

export class Process {
  readonly name: string;
  readonly machine: Machine;
  alive = true;
  readonly #mourners = new Set<() => void>();

  constructor(name: string, machine: Machine) {
    this.name = name;
    this.machine = machine;
  }

  static current(): Process | undefined {
    return current.getStore();
  }

  /** Runs code of this process. */
  run<T>(code: () => T): T {
    return current.run(this, code);
  }

  die(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const tell of this.#mourners) tell();
    this.#mourners.clear();
  }

  /** Calls back when the process dies; the function returned takes that back. */
  onDeath(tell: () => void): () => void {
    if (this.alive) this.#mourners.add(tell);
    else tell();
    return () => this.#mourners.delete(tell);
  }
}

type Event = { at: number; order: number; run: (() => void) | null };

export class Scheduler {
  /** Milliseconds since the run began. */
  now = 0;
  events = 0;
  readonly #heap: Event[] = [];
  #order = 0;

  /** Runs `event` in `ms` milliseconds; the function returned calls it off. */
  after(ms: number, event: () => void): () => void {
    const entry: Event = { at: this.now + Math.max(0, ms), order: this.#order++, run: event };
    this.#push(entry);
    return () => {
      entry.run = null;
    };
  }

  /** Milliseconds of the next event, or `null` when nothing will ever happen again. */
  get nextAt(): number | null {
    while (this.#heap[0]?.run === null) this.#pop();
    return this.#heap[0]?.at ?? null;
  }

  /** Runs all events up to `until`, or fewer if `stop` says so after one. */
  async runUntil(until: number, stop: () => boolean): Promise<void> {
    for (let at = this.nextAt; at !== null && at <= until; at = this.nextAt) {
      const event = this.#pop();
      this.now = Math.max(this.now, at);
      this.events += 1;
      event?.run?.();
      await quiet();
      if (stop()) return;
    }
  }

  #push(entry: Event): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, entry)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) child += 1;
      const below = heap[child];
      if (below === undefined || isBefore(last, below)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/** Until no code under test can go on by itself: all of its waiting is for events. */
function quiet(): Promise<void> {
  return new Promise((resolve) => {
    realImmediate(resolve);
  });
}
