// One delivery of a webhook by Sume's documented retry policy.
// Called by the simulator and by the command line; it knows nothing of jobs.
// Leaves out backoff and jitter: the documented delay is fixed.

import { setTimeout as wait } from "node:timers/promises";
import { signedHeaders } from "./sign.ts";

/** How often and how patiently a webhook is sent. */
export interface RetryPolicy {
  /** Attempts in total, the first included; at least 1. */
  readonly attempts: number;
  /** Milliseconds from the end of one attempt to the start of the next. */
  readonly delayMs: number;
  /** Milliseconds for one attempt, until the whole answer is read. */
  readonly timeoutMs: number;
  /** Sign each retry anew, with the secrets live by then. Undocumented either way, so off unless asked for. */
  readonly resign: boolean;
}

/** What Sume documents: 10 attempts, 30 s apart, 10 s each. */
const DOCUMENTED_POLICY: RetryPolicy = { attempts: 10, delayMs: 30_000, timeoutMs: 10_000, resign: false };

/** The longest delay that a Node timer keeps: a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Characters of an answer's body that are kept with the attempt: enough for any problem document. */
const ANSWER_CHARS = 2_000;

export interface DeliveryRequest {
  /** The receiver, http or https. */
  readonly url: string;
  /** The event, sent byte for byte. */
  readonly body: Uint8Array;
  /** Live secrets, newest first; read again at each signing, so the owner may rotate the same array. */
  readonly secrets: readonly string[];
}

export interface DeliveryOptions extends Partial<RetryPolicy> {
  /** Sign this in place of the current unix second; a string is signed and sent as given. */
  readonly timestamp?: number | string;
  /** Flip one bit in the middle of the body after signing. */
  readonly tamper?: boolean;
  /** Ends the delivery: a request under way, a wait, and all that would follow. */
  readonly signal?: AbortSignal;
  /** Called after each attempt, before the wait for the next. */
  readonly onAttempt?: (attempt: Attempt) => void;
  /** The clock for fresh timestamps, in epoch milliseconds. */
  readonly now?: () => number;
}

/** One request, numbered from 1, with the milliseconds that it took. */
export type Attempt = { readonly number: number; readonly ms: number } & (
  | { readonly outcome: "answered"; readonly status: number; readonly body: string }
  | { readonly outcome: "error"; readonly error: string }
);

/** `delivered`: the last attempt got a 2xx. `gave_up`: none did. `aborted`: the signal ended it first. */
export interface Delivery {
  readonly outcome: "delivered" | "gave_up" | "aborted";
  readonly attempts: readonly Attempt[];
}

/**
 * Sends a webhook until the first 2xx. A network error, a timeout and any other status (a redirect too, which is not
 * followed) count as failed attempts. An attempt that the signal cut off is in the list, because it may have arrived.
 *
 * @throws TypeError for a URL that cannot be parsed, a policy out of range, no secret, or nothing to tamper with.
 */
export async function deliver(request: DeliveryRequest, options: DeliveryOptions = {}): Promise<Delivery> {
  const policy = checkedPolicy(options);
  const url = new URL(request.url);
  const now = options.now ?? Date.now;
  const body = options.tamper === true ? tampered(request.body) : request.body;
  const signedAt = (timestamp: number | string) => signedHeaders(request.secrets, timestamp, request.body);

  let headers = signedAt(options.timestamp ?? unixSeconds(now()));
  const attempts: Attempt[] = [];
  for (let number = 1; number <= policy.attempts; number += 1) {
    if (number > 1) {
      await pause(policy.delayMs, options.signal);
      if (policy.resign) headers = signedAt(unixSeconds(now()));
    }
    if (options.signal?.aborted === true) return { outcome: "aborted", attempts };
    const attempt = await post(url, headers, body, number, policy.timeoutMs, options.signal);
    attempts.push(attempt);
    options.onAttempt?.(attempt);
    if (attempt.outcome === "answered" && attempt.status >= 200 && attempt.status < 300) {
      return { outcome: "delivered", attempts };
    }
  }
  return { outcome: options.signal?.aborted === true ? "aborted" : "gave_up", attempts };
}

async function post(
  url: URL,
  headers: Record<string, string>,
  body: Uint8Array,
  number: number,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Attempt> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const started = performance.now();
  const ms = () => Math.round(performance.now() - started);
  try {
    const response = await fetch(url, {
      method: "POST",
      // Each attempt on its own connection: a receiver that was restarted must not be met on a dead one.
      headers: { ...headers, "content-type": "application/json", connection: "close" },
      body,
      redirect: "manual",
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    const answer = (await response.text()).slice(0, ANSWER_CHARS);
    return { number, ms: ms(), outcome: "answered", status: response.status, body: answer };
  } catch (error) {
    return { number, ms: ms(), outcome: "error", error: describe(error, timeout, timeoutMs, signal) };
  }
}

function describe(error: unknown, timeout: AbortSignal, timeoutMs: number, signal: AbortSignal | undefined): string {
  if (signal?.aborted === true) return "aborted";
  if (timeout.aborted) return `no answer within ${timeoutMs} ms`;
  // `fetch` says only "fetch failed"; what happened to the connection is its cause.
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await wait(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

function checkedPolicy(options: Partial<RetryPolicy>): RetryPolicy {
  const policy = { ...DOCUMENTED_POLICY, ...options };
  if (!Number.isInteger(policy.attempts) || policy.attempts < 1) {
    throw new TypeError("sume: attempts must be a whole number from 1");
  }
  if (!(policy.delayMs >= 0 && policy.delayMs <= MAX_TIMER_MS)) {
    throw new TypeError(`sume: delayMs must be from 0 to ${MAX_TIMER_MS}`);
  }
  if (!Number.isInteger(policy.timeoutMs) || policy.timeoutMs < 1 || policy.timeoutMs > MAX_TIMER_MS) {
    throw new TypeError(`sume: timeoutMs must be a whole number from 1 to ${MAX_TIMER_MS}`);
  }
  return policy;
}

function tampered(body: Uint8Array): Uint8Array {
  const copy = body.slice();
  const middle = Math.floor(copy.length / 2);
  const byte = copy[middle];
  if (byte === undefined) throw new TypeError("sume: an empty body has no byte to tamper with");
  copy[middle] = byte ^ 1;
  return copy;
}

function unixSeconds(epochMs: number): number {
  return Math.floor(epochMs / 1000);
}
