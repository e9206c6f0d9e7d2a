// `runOnce`: claim, work while the lease is kept alive, settle. Used by `consume` for each message, and directly by
// Workers that are not queue consumers.

import {
  type ClaimOutcome,
  DEFAULT_MAX_ATTEMPTS,
  type Json,
  jsonTextOf,
  type LedgerBinding,
  type LedgerEvent,
  parseBody,
} from "../contract/index.ts";
import { Calls } from "./calls.ts";
import { retryAfter, retryDelayMs } from "./delays.ts";
import { CallsUsedUpError, errorText, isFinal, isNonRetryable, isRefusal, NonRetryableError } from "./errors.ts";
import type { RunOutcome, Work } from "./job.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { teller } from "./lines.ts";

export type RunOptions = {
  jobId: string;
  /** Brings the event to the ledger; left out where the ledger holds it already. */
  event?: LedgerEvent;
  /**
   * Milliseconds, 1 s to 15 min; 4 minutes by default. Renewed at half its time while the work runs: each renewal is
   * one of the about 32 calls that an invocation may make.
   */
  leaseMs?: number;
  /** Milliseconds, at most 8 s; 0 by default. */
  waitMs?: number;
  /** Attempts before the job is `failed`; 60 by default, which outlasts a day. `null`: no limit. */
  maxAttempts?: number | null;
  /**
   * Milliseconds before the next attempt, after attempt n threw: 30 s by default, doubled each time, at most an hour.
   * The delay is drawn between half of it and all of it, so that jobs that failed together do not come back together.
   */
  retryAfterMs?: (attempt: number) => number;
};

export const DEFAULT_CLIENT_LEASE_MS = 4 * 60_000;
/** Calls in a row, of all that are claimed together, before a claim that is not answered is given up: little is lost, for the message comes again. */
const CLAIM_TRIES = 4;
/**
 * Milliseconds for which a settle is repeated while the lease lives: ten minutes of work must not be done again for a
 * hiccup. With those ten, a queue's invocation of 15 minutes has one left for its messages.
 */
const SETTLE_WITHIN_MS = 4 * 60_000;

/**
 * Does `work` for the job if this consumer has not finished it, and nobody else is at it.
 * @throws what the ledger throws when no claim could be made; the work was not run then.
 * @example
 * const ran = await runOnce(env.LEDGER, { jobId }, async (job) => ({ rows: await index(job.payload()) }));
 */
export async function runOnce(ledger: LedgerBinding, options: RunOptions, work: Work): Promise<RunOutcome> {
  const leaseMs = options.leaseMs ?? DEFAULT_CLIENT_LEASE_MS;
  const calls = new Calls(ledger, leaseMs);
  const keeper = new LeaseKeeper(calls.ledger, leaseMs, teller(ledger));
  try {
    const held = await hold(calls, keeper, { ...options, leaseMs });
    return "run" in held ? await held.run(work) : held;
  } finally {
    await keeper.close();
  }
}

/**
 * A claim of which this client is the holder; its lease is kept until `run` ends. `vanished`: as the claim tells it.
 */
export type Held = {
  vanished: number;
  run: (work: Work) => Promise<RunOutcome>;
  /** Releases the claim without work, to be claimed again at once. Never throws. */
  giveBack: () => Promise<void>;
};

/** Claims the job; answers why not where there is no claim to be had. Calls and keeper may be shared with other jobs. */
export async function hold(
  calls: Calls,
  keeper: LeaseKeeper,
  { retryAfterMs = retryDelayMs, maxAttempts = DEFAULT_MAX_ATTEMPTS, ...claim }: RunOptions & { leaseMs: number },
): Promise<Held | Exclude<ClaimOutcome, { outcome: "claimed" }>> {
  const { jobId } = claim;
  const token = crypto.randomUUID();
  const askedAt = Date.now();
  const { ledger } = calls;
  const reserve = calls.reserve();
  const ask = async () => {
    reserve.take();
    try {
      return await ledger.claim({ ...claim, maxAttempts, token });
    } catch (error) {
      reserve.free();
      throw error;
    }
  };
  const asked = calls.claims.repeated(ask, { goesOn: asksAgain, atOnce: true, waitMs: claim.waitMs });
  const claimed = await asked.catch((error: unknown) => {
    reserve.free();
    throw error;
  });
  if (claimed.outcome !== "claimed") {
    reserve.free();
    return claimed;
  }

  const { attempt, fence, event, leaseExpiresAt, vanished = 0, waitedMs = 0 } = claimed;
  // The grant came after the call had waited, and no lease begins before its grant.
  const lease = keeper.keep({ jobId, token, leaseExpiresAt }, askedAt + waitedMs);

  /** Makes the call until it is answered, the ledger says that the caller is at fault, or there is no more time. */
  const settled = <T>(call: () => Promise<T>): Promise<T> => {
    const giveUpAt = Date.now() + SETTLE_WITHIN_MS;
    reserve.endsBy(giveUpAt);
    const settle = () => {
      lease.settling();
      return call();
    };
    // The first try is reserved; those after it must leave the others theirs.
    const goesOn = (error: unknown, tries: number) =>
      !isFinal(error) && !lease.signal.aborted && Date.now() < giveUpAt && (tries === 0 || calls.spare() >= 0);
    return calls.settles.repeated(settle, { goesOn });
  };
  const unsettled = (): RunOutcome => ({ outcome: "unsettled", attempt, fence, retryAt: lease.expiresAt });
  const release = async (error: unknown, afterMs = retryAfter(attempt, retryAfterMs)): Promise<RunOutcome> => {
    const text = errorText(error);
    const permanent = isNonRetryable(error);
    try {
      const args = { jobId, token, error: text, permanent, retryAfterMs: afterMs };
      const released = await settled(() => ledger.release(args));
      if (released.outcome === "stale") return { outcome: "lost", attempt, fence };
      return released.status === "failed"
        ? { outcome: "gave_up", attempt, fence, error: text }
        : { outcome: "released", attempt, fence, error: text, retryAt: released.retryAt };
    } catch {
      return unsettled();
    }
  };
  const complete = async (result: Json): Promise<RunOutcome> => {
    try {
      const completed = await settled(() => ledger.complete({ jobId, token, result }));
      return completed.outcome === "stale"
        ? { outcome: "lost", attempt, fence }
        : { outcome: "done", attempt, fence, result };
    } catch (error) {
      // A result that the ledger refuses is refused every time. Any other call may have been carried out, and a
      // release would then say of finished work that it failed.
      return isFinal(error) ? await release(new NonRetryableError(errorText(error))) : unsettled();
    }
  };

  const run = async (work: Work): Promise<RunOutcome> => {
    try {
      // It waited for its turn: by now another may be at it.
      if (lease.signal.aborted) return { outcome: "lost", attempt, fence };
      let result: Json;
      try {
        const payload = () => parseBody(event.body);
        result = kept(await work({ jobId, event, payload, attempt, fence, signal: lease.signal }));
      } catch (error) {
        return await release(error);
      }
      return await complete(result);
    } finally {
      lease.stop();
      reserve.free();
    }
  };
  const giveBack = async (): Promise<void> => {
    try {
      if (!lease.signal.aborted) await release(new Error("not begun, for lack of time"), 0);
    } finally {
      lease.stop();
      reserve.free();
    }
  };
  return { vanished, run, giveBack };
}

/** The result as the ledger will give it back. What cannot be kept would be no better after another run of the work. */
function kept(result: Json | void): Json {
  const json = jsonTextOf(result ?? null);
  if ("problem" in json) throw new NonRetryableError(`the work's ${json.path} ${json.problem}`);
  return JSON.parse(json.text);
}

function asksAgain(error: unknown, tries: number, failures: number): boolean {
  return Math.max(tries, failures) < CLAIM_TRIES && !isRefusal(error) && !(error instanceof CallsUsedUpError);
}
