// The time that one delivery may take. Sume gives an attempt up after 10 s. An answer before that, whatever hangs
// behind us, brings the next attempt and tells Sume's operators why.

import { withTimeout } from "job-ledger/contract";

/** Milliseconds, at most, from a request's arrival to our answer. */
export const ANSWER_WITHIN_MS = 8_000;

export class Deadline {
  readonly #at: number;

  constructor(ms: number) {
    this.#at = Date.now() + ms;
  }

  /** Milliseconds that are left; below 0 when the time is up. */
  leftMs(): number {
    return this.#at - Date.now();
  }

  /**
   * The promise's outcome. What it does later, the next attempt finds.
   * @throws {TimeoutError} if the time is up first, and what the promise throws.
   */
  within<T>(promise: Promise<T>): Promise<T> {
    return withTimeout(promise, this.leftMs());
  }
}
