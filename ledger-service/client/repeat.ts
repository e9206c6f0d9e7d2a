// Calls to the ledger that are repeated until they are answered. Each carries its token, so a repetition does no harm.
// They stand in a line: while the ledger does not answer, one call at a time finds that out for the whole batch.

import { TimeoutError, withTimeout } from "../contract/index.ts";
import { jittered } from "./delays.ts";
import { isFinal, isOverloaded } from "./errors.ts";

/** Milliseconds before the second call, then four times as long each time, with jitter. */
const FIRST_PAUSE_MS = 100;
const PAUSE_GROWTH = 4;
/** Milliseconds; short against a lease, so that a ledger that is back is told in good time. */
const LONGEST_PAUSE_MS = 30_000;
/** Milliseconds for an answer, besides what the call may wait inside the ledger: many times what a call takes. */
const ANSWER_WITHIN_MS = 10_000;
/** Milliseconds. A call that is slow to be answered holds back those behind it for no longer. */
const PATIENCE_MS = 1_000;

export type Repetition = {
  /**
   * Whether to make the call (again), after that many tries of its own and that many failures in a row of the line.
   * Asked after its own failure, and while it waits and others fail.
   */
  goesOn: (error: unknown, tries: number, failures: number) => boolean;
  /** The first try does not stand in line. */
  atOnce?: boolean;
  /** Milliseconds that the call may wait inside the ledger. */
  waitMs?: number | undefined;
};

export class Line {
  readonly #spare: () => number;
  #tail: Promise<void> = Promise.resolve();
  /** Calls in a row that were not answered, and what the last of them threw. */
  #failures = 0;
  #error: unknown;

  /** `spare`: how many calls may still fail; the fewer, the longer the pauses, so that they outlast what is down. */
  constructor(spare: () => number) {
    this.#spare = spare;
  }

  /**
   * Makes the call until it is answered or `goesOn` says no. What failed goes to the end of the line. A ledger that is
   * overloaded is left alone, for another call would be one more to its load.
   * @throws the error of the last call, its own or another's in the line.
   */
  async repeated<T>(call: () => Promise<T>, { goesOn, atOnce = false, waitMs = 0 }: Repetition): Promise<T> {
    for (let tries = 0; ; tries++) {
      const beside = atOnce && tries === 0;
      const pass = beside ? () => {} : await this.#turn();
      if (!beside && this.#failures > 0) {
        if (!goesOn(this.#error, tries, this.#failures)) {
          pass();
          throw this.#error;
        }
        await paused(this.#pauseMs());
      }
      try {
        return await this.#answered(call, waitMs, beside, pass);
      } catch (error) {
        if (isOverloaded(error) || !goesOn(error, tries + 1, this.#failures)) throw error;
      } finally {
        pass();
      }
    }
  }

  /** Waits for everything before it in the line; the answer lets the next one pass. */
  async #turn(): Promise<() => void> {
    const before = this.#tail;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tail = promise;
    await before;
    return resolve;
  }

  async #answered<T>(call: () => Promise<T>, waitMs: number, beside: boolean, pass: () => void): Promise<T> {
    let noted = false;
    const note = (error: unknown) => {
      this.#error = error;
      // Calls that were made side by side fail together, and once.
      if (!noted) this.#failures = beside ? Math.max(this.#failures, 1) : this.#failures + 1;
      noted = true;
    };
    const patience = setTimeout(() => {
      note(new TimeoutError("no answer yet"));
      pass();
    }, PATIENCE_MS + waitMs);
    try {
      const answer = await withTimeout(call(), ANSWER_WITHIN_MS + waitMs);
      this.#failures = 0;
      return answer;
    } catch (error) {
      // A call refused for what it brought was answered.
      if (isFinal(error)) this.#failures = 0;
      else note(error);
      throw error;
    } finally {
      clearTimeout(patience);
    }
  }

  #pauseMs(): number {
    const grown = FIRST_PAUSE_MS * PAUSE_GROWTH ** (this.#failures - 1);
    const stretched = LONGEST_PAUSE_MS / PAUSE_GROWTH ** Math.max(this.#spare(), 0);
    return jittered(Math.min(Math.max(grown, stretched), LONGEST_PAUSE_MS));
  }
}

export function paused(ms: number): Promise<void> {
  return new Promise((resume) => {
    setTimeout(resume, ms);
  });
}
