// The object's one alarm as this instance knows it: set, held back after a failure, brought back when the platform dropped it.
// In memory only: another instance knows nothing of a failure and tries once more.

/** Milliseconds until an alarm that failed runs again; doubled with each further failure. */
export const FIRST_RETRY_MS = 60_000;
/** Milliseconds; the longest pause after failures. A queue that is down for a day is tried a hundred times. */
export const LONGEST_RETRY_MS = 15 * 60_000;
/** Milliseconds. The platform retries a failing alarm for about two minutes; one this late has been dropped. */
const DROPPED_AFTER_MS = 5 * 60_000;
/** Milliseconds from one run to the next. An alarm may run a moment before its time; setting it to that again would spin. */
const BETWEEN_RUNS_MS = 1_000;

export class Alarm {
  readonly #storage: Pick<DurableObjectStorage, "setAlarm" | "deleteAlarm" | "getAlarm">;
  #failures = 0;
  /** Before this the alarm is not set, whatever is due: a queue in trouble is not to be hammered. */
  #pausedUntil = 0;
  /** When this instance last saw the alarm run, or set it anew because it was late. */
  #ranAt = 0;
  #isRunning = false;
  #isChecked = false;

  constructor(storage: Pick<DurableObjectStorage, "setAlarm" | "deleteAlarm" | "getAlarm">) {
    this.#storage = storage;
  }

  /** Sets it for `at`, or deletes it. The promises are not awaited: both take effect at once, and a failing commit resets the object. */
  set(at: number | null, now: number): void {
    this.#isChecked = true;
    if (at === null) void this.#storage.deleteAlarm();
    else void this.#storage.setAlarm(Math.max(at, this.#pausedUntil, now + 1));
  }

  began(now: number): void {
    // It has used itself up; what it is set to at its end is known.
    this.#isChecked = true;
    this.#isRunning = true;
    this.#ranAt = now;
    this.#pausedUntil = 0;
  }

  /** A run has ended well: it has used itself up, and is set for what is due next. */
  succeeded(due: number | null, now: number): void {
    this.ended();
    this.set(due === null ? null : Math.max(due, now + BETWEEN_RUNS_MS), now);
  }

  /** A run has ended, and nothing is left to be due. */
  ended(): void {
    this.#isRunning = false;
    this.#failures = 0;
  }

  /** A run has failed. Resolves when the next one is set. */
  async failed(now: number): Promise<void> {
    this.#isRunning = false;
    this.#pausedUntil = now + Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#failures += 1;
    await this.#storage.setAlarm(this.#pausedUntil);
  }

  /** Whether the platform must have dropped it; then it is set anew, for now. */
  revived(due: number, now: number): boolean {
    // An alarm that failed is not late before its pause is over.
    if (now < Math.max(due, this.#ranAt, this.#pausedUntil) + DROPPED_AFTER_MS) return false;
    this.#ranAt = now;
    this.set(now, now);
    return true;
  }

  /**
   * Asks once for each instance whether it is set at all, and sets it for `due()` where it is not: a job that was kept for ever
   * has none until the retention is changed.
   */
  async check(due: () => number | null): Promise<void> {
    if (this.#isChecked) return;
    this.#isChecked = true;
    const set = await this.#storage.getAlarm();
    const at = due();
    if (at === null || this.#isRunning) return;
    const now = Date.now();
    if (set === null || set > Math.max(at, now)) this.set(at, now);
  }
}
