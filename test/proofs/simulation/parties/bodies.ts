// The newest body of each event, by the order in which claims bring them to an object: what the next claim must be given. A
// redelivery may bring another body under the same type; it counts while somebody still has to work with it. What was polled
// takes no signed body's place.

import type { JobObject } from "../platform/objects.ts";
import { openConsumers, stored } from "./stored.ts";

/** Types that a job keeps; what comes beyond them is known to be dropped. */
const MOST_TYPES = 4;

type Brought = { type: string; body: string; source: string };

export class Bodies {
  /** By object and type. */
  readonly #newest = new Map<string, Map<string, string>>();
  /** What attempts were given, by whatever tells the attempt. */
  readonly #given = new Map<string, Set<string>>();

  /** A claim comes. To be called back once its first step is kept: from then on its body may be the newest. */
  arriving(object: JobObject, args: readonly unknown[]): () => void {
    const [, event] = args;
    if (!isBrought(event)) return () => {};
    const { type, body, source } = event;
    const job = stored(object);
    const kept = job.events.get(type);
    const isLesser = source === "poll" && kept === "webhook";
    const counts = kept === undefined ? job.events.size < MOST_TYPES : !isLesser && openConsumers(job).length > 0;
    return () => {
      if (!counts) return;
      const newest = this.#newest.get(object.name) ?? new Map<string, string>();
      this.#newest.set(object.name, newest.set(type, body));
    };
  }

  isNewest(object: JobObject, { type, body }: Pick<Brought, "type" | "body">): boolean {
    return this.#newest.get(object.name)?.get(type) === body;
  }

  /** Remembers what that attempt was given: more than one body, where it asked again after a lost answer. */
  give(attempt: string, body: string): void {
    this.#given.set(attempt, (this.#given.get(attempt) ?? new Set()).add(body));
  }

  wasGiven(attempt: string, body: string): boolean {
    return this.#given.get(attempt)?.has(body) ?? false;
  }

  forget(object: JobObject): void {
    this.#newest.delete(object.name);
  }
}

function isBrought(value: unknown): value is Brought {
  return typeof value === "object" && value !== null && "type" in value && "body" in value && "source" in value;
}
