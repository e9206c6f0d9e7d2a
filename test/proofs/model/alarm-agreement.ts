// What must hold of a job's one alarm, whatever is due: never later than that, but for the pauses after a run and after
// failures; never set to a time that is not after now; brought back where the platform dropped it.

/** An alarm that failed runs again after this, doubled with each further failure. */
const RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 900_000;
/** From the end of a run to the next, at the least. */
const BETWEEN_RUNS_MS = 1_000;
const DROPPED_AFTER_MS = 300_000;

/** An alarm that has run. `refused`: the queue did not take all. */
export type Run = { began: number; refused: boolean };

export class AlarmAgreement {
  readonly #start: number;
  readonly #met: (what: string) => unknown;
  #before: number | null = null;
  /** After a failure, a run, or what was found overdue, the alarm may be later than what is due. */
  #excusedUntil = Number.NEGATIVE_INFINITY;
  /** After a failure the alarm is not set to an earlier time; another instance does not know. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** When this instance last saw the alarm run, or brought it back. */
  #ranAt = Number.NEGATIVE_INFINITY;
  /** Runs in a row that failed in this instance. */
  #failures = 0;

  constructor(start: number, met: (what: string) => unknown) {
    this.#start = start;
    this.#met = met;
  }

  /** The object is another instance, which remembers nothing of this. */
  evicted(): void {
    this.#pausedUntil = Number.NEGATIVE_INFINITY;
    this.#ranAt = Number.NEGATIVE_INFINITY;
    this.#failures = 0;
  }

  /** What is wrong with the alarm after a command; `null`: nothing. */
  check(state: { alarm: number | null; due: number | null; now: number; run: Run | null }): string | null {
    const problem = state.run === null ? this.#afterCall(state) : this.#afterRun({ ...state, run: state.run });
    const { alarm, due, now } = state;
    this.#before = alarm;
    const told = `alarm at ${this.#shown(alarm)}, due at ${this.#shown(due)}, now ${this.#shown(now)}`;
    return problem && `${told}: ${problem}`;
  }

  /** After a run the alarm is known to the millisecond. */
  #afterRun({ alarm, due, now, run }: { alarm: number | null; due: number | null; now: number; run: Run }) {
    this.#ranAt = run.began;
    const next = run.refused ? this.#failed(now) : this.#succeeded(due, now);
    return alarm === next ? null : `after the run it must be at ${this.#shown(next)}`;
  }

  #afterCall({ alarm, due, now }: { alarm: number | null; due: number | null; now: number }): string | null {
    const isSet = alarm !== null && alarm !== this.#before;
    if (isSet && alarm <= now) return "set to a time that is not after now";
    if (isSet && alarm < this.#pausedUntil) return `set into the pause until ${this.#shown(this.#pausedUntil)}`;
    if (due === null) return null;
    if (now >= Math.max(due, this.#ranAt) + DROPPED_AFTER_MS) {
      this.#ranAt = now;
      if (alarm === null || alarm <= now) return "dropped and not brought back";
    }
    if (due <= now) this.#excusedUntil = Math.max(this.#excusedUntil, now + 1);
    const latest = Math.max(due, this.#excusedUntil);
    return alarm !== null && alarm <= latest ? null : `later than ${this.#shown(latest)}`;
  }

  #failed(now: number): number {
    if (this.#failures > 0) this.#met("alarm: failed again");
    this.#pausedUntil = now + Math.min(RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#excusedUntil = this.#pausedUntil;
    this.#failures++;
    return this.#pausedUntil;
  }

  #succeeded(due: number | null, now: number): number | null {
    this.#pausedUntil = Number.NEGATIVE_INFINITY;
    this.#failures = 0;
    const next = due === null ? null : Math.max(due, now + BETWEEN_RUNS_MS);
    this.#excusedUntil = next ?? Number.NEGATIVE_INFINITY;
    return next;
  }

  #shown(time: number | null): string {
    return time === null ? "never" : String(time - this.#start);
  }
}
