// Callers that wait inside the object for a claim's holder. In memory only: a waiter that dies with the object's instance
// is a failed call, and its caller calls again.

export class Waiters {
  readonly #wakers = new Map<string, Set<() => void>>();

  /** Resolves at the next `wake` of that consumer, or after `ms` milliseconds. */
  wait(consumer: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wakers = this.#wakers.get(consumer) ?? new Set();
      this.#wakers.set(consumer, wakers);
      const done = () => {
        clearTimeout(timer);
        wakers.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      wakers.add(done);
    });
  }

  /** Wakes everyone who waits for that consumer's claim, in the order in which they came. */
  wake(consumer: string): void {
    const wakers = this.#wakers.get(consumer) ?? [];
    this.#wakers.delete(consumer);
    for (const done of wakers) done();
  }
}
