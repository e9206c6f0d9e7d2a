// The faults and who decides where one strikes. Every place where a message, a write or a ring passes from one party to
// another is a crossing; a plan is asked at each.

import type { Random } from "./random.ts";

export const BOUNDARIES = {
  /** Sume's request to the receiver. */
  webhook: ["lost-before", "lost-after", "hang", "late"],
  /** A Worker's call to an entrypoint of the ledger service or of the receiver. */
  call: ["lost-before", "lost-after", "hang", "late", "caller-dies-before", "caller-dies-after"],
  /** An entrypoint's call to a job's object. */
  object: [
    "lost-before",
    "lost-after",
    "hang",
    "late",
    "caller-dies-before",
    "caller-dies-after",
    "object-dies-before",
    "object-dies-after",
  ],
  /** A message put on a queue. */
  send: ["lost-before", "lost-after", "hang", "late", "caller-dies-before", "caller-dies-after"],
  /** A message handed to a consumer. */
  message: ["lost", "late", "twice", "again-after"],
  /** An object's alarm. */
  alarm: ["late", "twice", "object-dies-before", "object-dies-after"],
  /** What the work does downstream. */
  effect: ["lost-before", "lost-after", "hang", "late", "caller-dies-before", "caller-dies-after"],
  /** A transaction of an object's storage. */
  commit: ["refused"],
  /** The deletion of an object's storage. */
  deletion: ["object-dies-before", "object-dies-after"],
  /** The reconciler's request to Sume's API. */
  api: ["lost-before", "lost-after", "hang"],
} as const;

export type Boundary = keyof typeof BOUNDARIES;
export type Fault = (typeof BOUNDARIES)[Boundary][number];
export type Crossing = { index: number; boundary: Boundary; label: string };

export type Plan = { at(crossing: Crossing): Fault | null };

/** Faults at crossings by their number in the run; it remembers what was crossed. */
export class NumberedPlan implements Plan {
  readonly crossings: Crossing[] = [];
  readonly #faults: ReadonlyMap<number, Fault>;

  constructor(faults: ReadonlyMap<number, Fault>) {
    this.#faults = faults;
  }

  at(crossing: Crossing): Fault | null {
    this.crossings.push(crossing);
    return this.#faults.get(crossing.index) ?? null;
  }
}

/** Faults by chance, until `untilMs` of the run. */
export class RandomPlan implements Plan {
  readonly #random: Random;
  readonly #rate: number;
  readonly #isOver: () => boolean;

  constructor(random: Random, rate: number, isOver: () => boolean) {
    this.#random = random;
    this.#rate = rate;
    this.#isOver = isOver;
  }

  at({ boundary }: Crossing): Fault | null {
    if (this.#isOver() || !this.#random.chance(this.#rate)) return null;
    return this.#random.pick<Fault>(BOUNDARIES[boundary]);
  }
}
