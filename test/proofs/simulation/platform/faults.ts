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

/** `now`: milliseconds of the run. */
export type Plan = { at(crossing: Crossing, now: number): Fault | null };
/** One fault at every crossing of a boundary, from the beginning of the run for `OUTAGE_MS`. */
export type Outage = { boundary: Boundary; fault: Fault };

/** Milliseconds; long enough for the platform to lose patience with whatever cannot go on. */
const OUTAGE_MS = 150 * 60_000;

/** Faults at crossings by their number in the run, and an outage if there is one; it remembers what was crossed. */
export class NumberedPlan implements Plan {
  readonly crossings: Crossing[] = [];
  readonly #faults: ReadonlyMap<number, Fault>;
  readonly #outage: Outage | undefined;

  constructor(faults: ReadonlyMap<number, Fault>, outage?: Outage) {
    this.#faults = faults;
    this.#outage = outage;
  }

  at(crossing: Crossing, now: number): Fault | null {
    this.crossings.push(crossing);
    if (this.#outage?.boundary === crossing.boundary && now < OUTAGE_MS) return this.#outage.fault;
    return this.#faults.get(crossing.index) ?? null;
  }
}

/** Faults by chance, until `untilMs` of the run. */
export class RandomPlan implements Plan {
  readonly #random: Random;
  readonly #rate: number;
  readonly #untilMs: number;

  constructor(random: Random, rate: number, untilMs: number) {
    this.#random = random;
    this.#rate = rate;
    this.#untilMs = untilMs;
  }

  at({ boundary }: Crossing, now: number): Fault | null {
    if (now > this.#untilMs || !this.#random.chance(this.#rate)) return null;
    return this.#random.pick<Fault>(BOUNDARIES[boundary]);
  }
}
