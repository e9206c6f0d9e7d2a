// Not waiting for ever. What was started goes on: a call over RPC cannot be taken back.

export class TimeoutError extends Error {
  override name = "TimeoutError";
}

/**
 * The promise's outcome, if it comes within `ms` milliseconds.
 * @throws {TimeoutError} if it does not, and what the promise throws.
 */
export async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError("no answer in time")), Math.max(0, ms));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    if (timer !== undefined) clearTimeout(timer);
  }
}
