// A request to a test Worker that answers JSON. Called by the programs that ask what came of their jobs.

export type Ask = { signal: AbortSignal; withinMs: number; init?: RequestInit };

/** @throws when the answer does not come in time, is not a 200, or when the signal ends the wait. */
export async function ask<T>(url: string, { signal, withinMs, init = {} }: Ask): Promise<T> {
  const response = await fetch(url, { ...init, signal: within(signal, withinMs) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** Aborts with the signal, and after that many milliseconds. */
export function within(signal: AbortSignal, ms: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ms)]);
}
