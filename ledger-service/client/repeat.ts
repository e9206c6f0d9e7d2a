// Calls to the ledger whose answer was lost, made again. Each carries its token, so a repetition does no harm.

import { withTimeout } from "../contract/index.ts";
import { jittered } from "./delays.ts";
import { isOverloaded } from "./errors.ts";

/** Milliseconds before the second call, then four times as long each time, with jitter. */
const FIRST_PAUSE_MS = 100;
/** Milliseconds; short against a lease, so that a ledger that is back is told in good time. */
const LONGEST_PAUSE_MS = 30_000;
/** Milliseconds for an answer, besides what the call may wait inside the ledger: many times what a call takes. */
const ANSWER_WITHIN_MS = 10_000;

/**
 * Makes the call until it is answered, or `goesOn` says no to another: it is given the error and the tries so far. A
 * ledger that is overloaded is left alone, for another call would be one more to its load.
 * @throws the error of the last call.
 */
export async function repeated<T>(
  call: () => Promise<T>,
  goesOn: (error: unknown, tries: number) => boolean,
  waitMs = 0,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await withTimeout(call(), ANSWER_WITHIN_MS + waitMs);
    } catch (error) {
      if (isOverloaded(error) || !goesOn(error, tries)) throw error;
      await paused(jittered(Math.min(FIRST_PAUSE_MS * 4 ** (tries - 1), LONGEST_PAUSE_MS)));
    }
  }
}

export function paused(ms: number): Promise<void> {
  return new Promise((resume) => {
    setTimeout(resume, ms);
  });
}
