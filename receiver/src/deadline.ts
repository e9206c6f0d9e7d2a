// The time one delivery may take. Sume gives up an attempt after 10 s, whatever hangs behind us; an answer of ours before
// that tells it to try again, and tells its operators why.

/** Milliseconds from the request's arrival to our answer, at the latest. */
export const ANSWER_WITHIN_MS = 8_000;

export class DeadlineError extends Error {
  override name = "DeadlineError";
}

export class Deadline {
  readonly #at: number;

  constructor(ms: number) {
    this.#at = Date.now() + ms;
  }

  /**
   * The promise's outcome, if it comes in time. What was started goes on; its effect is found by the next attempt.
   * @throws {DeadlineError} if it does not.
   */
  async within<T>(promise: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const late = new Promise<never>((_, reject) => {
      const fail = () => reject(new DeadlineError("no answer in time"));
      timer = setTimeout(fail, Math.max(0, this.#at - Date.now()));
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
