// The time one delivery may take. Sume gives up an attempt after 10 s, whatever hangs behind us; an answer of ours before
// that tells it to try again, and tells its operators why.

import { withTimeout } from "job-ledger/contract";

/** Milliseconds from the request's arrival to our answer, at the latest. */
export const ANSWER_WITHIN_MS = 8_000;

export class Deadline {
  readonly #at: number;

  constructor(ms: number) {
    this.#at = Date.now() + ms;
  }

  /** Milliseconds until then; below 0 afterwards. */
  leftMs(): number {
    return this.#at - Date.now();
  }

  /** The promise's outcome, if it comes in time; its effect, if it comes later, is found by the next attempt. Throws else. */
  within<T>(promise: Promise<T>): Promise<T> {
    return withTimeout(promise, this.leftMs());
  }
}
