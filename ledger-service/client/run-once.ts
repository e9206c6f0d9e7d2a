// `runOnce`: claim, work while the lease is kept alive, settle. Used by `consume` for each message, and directly by Workers
// that are not queue consumers.

import {
  type Attempt,
  type ClaimOutcome,
  DEFAULT_MAX_ATTEMPTS,
  type Json,
  jsonTextOf,
  type LedgerBinding,
  type LedgerEvent,
  parseBody,
} from "../contract/index.ts";
import { jittered, retryAfter, retryDelayMs } from "./delays.ts";
import { errorText, isNonRetryable, isOverloaded, isRefusal, NonRetryableError } from "./errors.ts";
import type { Work } from "./job.ts";
import { LeaseKeeper } from "./lease-keeper.ts";

export type RunOptions = {
  jobId: string;
  /** Brings the event to the ledger; left out where the ledger holds it already. */
  event?: LedgerEvent;
  /** Milliseconds, 1 s to 15 min; 4 minutes by default. Renewed at half its time while the work runs. */
  leaseMs?: number;
  /** Milliseconds, at most 8 s; 0 by default. */
  waitMs?: number;
  /** Attempts before the job is `failed`; 60 by default, which outlasts a day. `null`: no limit. */
  maxAttempts?: number | null;
  /**
   * Milliseconds before the next attempt, after attempt n threw: 30 s by default, doubled each time, at most an hour. The
   * delay is drawn between half of it and all of it, so that jobs that failed together do not come back together.
   */
  retryAfterMs?: (attempt: number) => number;
};

export type RunOutcome =
  /** This call did the work and the ledger knows it. */
  | ({ outcome: "done"; result: Json } & Attempt)
  /** The work threw; the claim is free again at `retryAt`. */
  | ({ outcome: "released"; retryAt: number; error: string } & Attempt)
  /** The work threw for good: a `NonRetryableError`, or the last attempt. */
  | ({ outcome: "gave_up"; error: string } & Attempt)
  /** Another attempt took the claim while the work ran; the other's outcome counts. */
  | ({ outcome: "lost" } & Attempt)
  /** The work ended but the ledger could not be told; the next claim finds out, at the latest when the lease ends. */
  | ({ outcome: "unsettled"; retryAt: number } & Attempt)
  /** There was no claim to be had, and the work was not run. */
  | Exclude<ClaimOutcome, { outcome: "claimed" }>;

export const DEFAULT_CLIENT_LEASE_MS = 4 * 60_000;
/** Calls to the ledger before an uncertain one is given up, and the milliseconds before the second; then four times as long. */
const CALL_TRIES = 4;
const CALL_PAUSE_MS = 100;

/**
 * Does `work` for the job if this consumer has not finished it, and nobody else is at it.
 * @throws what the ledger throws when no claim could be made; the work was not run then.
 * @example
 * const ran = await runOnce(env.LEDGER, { jobId }, async (job) => ({ rows: await index(job.payload()) }));
 */
export function runOnce(ledger: LedgerBinding, options: RunOptions, work: Work): Promise<RunOutcome> {
  const leaseMs = options.leaseMs ?? DEFAULT_CLIENT_LEASE_MS;
  return runKept(ledger, new LeaseKeeper(ledger, leaseMs), { ...options, leaseMs }, work);
}

/** `runOnce` with a keeper that others share. */
export async function runKept(
  ledger: LedgerBinding,
  keeper: LeaseKeeper,
  { retryAfterMs = retryDelayMs, maxAttempts = DEFAULT_MAX_ATTEMPTS, ...claim }: RunOptions & { leaseMs: number },
  work: Work,
): Promise<RunOutcome> {
  const { jobId } = claim;
  const token = crypto.randomUUID();
  const askedAt = Date.now();
  const claimed = await repeated(() => ledger.claim({ ...claim, maxAttempts, token }));
  if (claimed.outcome !== "claimed") return claimed;

  const { attempt, fence, event, leaseExpiresAt } = claimed;
  const lease = keeper.keep({ jobId, token, leaseExpiresAt }, askedAt);
  const unsettled = (): RunOutcome => ({ outcome: "unsettled", attempt, fence, retryAt: lease.expiresAt });
  const release = async (error: unknown): Promise<RunOutcome> => {
    const text = errorText(error);
    const permanent = isNonRetryable(error);
    try {
      const args = { jobId, token, error: text, permanent, retryAfterMs: retryAfter(attempt, retryAfterMs) };
      const released = await repeated(() => ledger.release(args));
      if (released.outcome === "stale") return { outcome: "lost", attempt, fence };
      return released.status === "failed"
        ? { outcome: "gave_up", attempt, fence, error: text }
        : { outcome: "released", attempt, fence, error: text, retryAt: released.retryAt };
    } catch {
      return unsettled();
    }
  };

  let result: Json;
  try {
    const payload = () => parseBody(event.body);
    result = kept(await work({ jobId, event, payload, attempt, fence, signal: lease.signal }));
  } catch (error) {
    lease.stop();
    return await release(error);
  }
  try {
    const completed = await repeated(() => ledger.complete({ jobId, token, result }));
    return completed.outcome === "stale"
      ? { outcome: "lost", attempt, fence }
      : { outcome: "done", attempt, fence, result };
  } catch (error) {
    // What the ledger refuses (a result over its limit) it refuses every time. Anything else may have been carried out:
    // a release would then say of finished work that it failed.
    return isRefusal(error) ? await release(new NonRetryableError(errorText(error))) : unsettled();
  } finally {
    lease.stop();
  }
}

/** The result as the ledger will give it back. What cannot be kept would be no better after another run of the work. */
function kept(result: Json | void): Json {
  const json = jsonTextOf(result ?? null);
  if ("problem" in json) throw new NonRetryableError(`the work's ${json.path} ${json.problem}`);
  return JSON.parse(json.text);
}

/** Repeats a call whose outcome is unknown; its token makes the repetition harmless. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (tries === CALL_TRIES || isRefusal(error) || isOverloaded(error)) throw error;
      await new Promise((resume) => setTimeout(resume, jittered(CALL_PAUSE_MS * 4 ** (tries - 1))));
    }
  }
}
