// What the client's tests share: the real ledger under a receiver's and a consumer's identity, a binding that counts
// calls and loses them, a clock that stands still until it is moved, and queue batches.

import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { afterEach, beforeEach, vi } from "vitest";
import {
  consume,
  type ConsumeOptions,
  type JobMessage,
  type LedgerBinding,
} from "../../../ledger-service/client/index.ts";
import type { ClaimArgs } from "../../../ledger-service/contract/index.ts";
import type { ClaimView, JobView, Work } from "../../../ledger-service/client/index.ts";

/** 2030-01-01T00:00:00Z, the time at which `useClock` begins. */
export const T0 = 1_893_456_000_000;

export const ledger = exports.Ledger({ props: { namespace: "studio", consumer: "archive" } });
const receiver = exports.Ledger({ props: { namespace: "studio", consumer: "receiver" } });

/** Brings a job's event to the ledger as a receiver does it, and dispatches it to this consumer. */
export async function arrived(jobId: string, body = '{"status":"completed"}'): Promise<string> {
  const claimed = await receiver.claim({ jobId, event: { type: "job.completed", body, source: "webhook" } });
  if (claimed.outcome !== "claimed") throw new Error(`${jobId} is ${claimed.outcome}: use another id`);
  await receiver.complete({ jobId, token: claimed.token, dispatchedTo: ["archive"] });
  return jobId;
}

/** Claims as another instance of the same consumer would. @throws if the claim is not to be had. */
export async function rival(jobId: string, more: Omit<ClaimArgs, "jobId"> = {}): Promise<string> {
  const claimed = await ledger.claim({ jobId, ...more });
  if (claimed.outcome !== "claimed") throw new Error(`the rival found ${jobId} ${claimed.outcome}`);
  return claimed.token;
}

export async function record(jobId: string): Promise<JobView | null> {
  return await ledger.inspect({ jobId });
}

/** This consumer's claim on the job. */
export async function claimOf(jobId: string): Promise<ClaimView> {
  const found = (await record(jobId))?.claims.find(({ consumer }) => consumer === "archive");
  if (found === undefined) throw new Error(`no claim on ${jobId}`);
  return found;
}

/** The steps of the claim's life, such as `["claim 1", "complete 1"]`: verb and attempt. */
export async function steps(jobId: string): Promise<string[]> {
  return (await claimOf(jobId)).history.map(({ verb, attempt }) => `${verb} ${attempt}`);
}

type Verb = keyof LedgerBinding;
/** What becomes of a call: it never arrives, it is carried out and the answer is lost, it never ends, or nothing. */
export type Fault = "unreached" | "reply_lost" | "hangs" | "none";
/** A list is for the first calls, one each; a single fault is for every call. */
export type Faults = { [V in Verb]?: Fault | Fault[] };
export type Call = { verb: Verb; at: number; args: unknown; answered: boolean };
export type Watched = LedgerBinding & {
  calls: Call[];
  count(verb: Verb): number;
  /** How many of those calls the client has had an answer to. */
  answered(verb: Verb): number;
};

/** Calls that are on their way, and whose answers the clock must not overtake. */
let inFlight = 0;

/** Thrown in place of an answer. */
export const LOST = new Error("network connection lost");

/** The real ledger, seen through a connection that notes every call and has the given faults. */
export function watched(faults: Faults = {}, real: LedgerBinding = ledger): Watched {
  const calls: Call[] = [];
  const count = (verb: Verb) => calls.filter((call) => call.verb === verb).length;
  const answered = (verb: Verb) => calls.filter((call) => call.verb === verb && call.answered).length;
  async function through<T>(verb: Verb, carryOut: () => Promise<T>, args?: unknown): Promise<T> {
    const planned = faults[verb] ?? "none";
    const fault = typeof planned === "string" ? planned : planned[count(verb)];
    const call: Call = { verb, at: Date.now(), args, answered: false };
    calls.push(call);
    if (fault === "hangs") return await new Promise<T>(() => {});
    if (fault === "unreached") throw LOST;
    inFlight += 1;
    const answer = await carryOut().finally(() => (inFlight -= 1));
    if (fault === "reply_lost") throw LOST;
    call.answered = true;
    return answer;
  }
  return {
    calls,
    count,
    answered,
    whoami: () => through("whoami", () => real.whoami()),
    claim: (args) => through("claim", () => real.claim(args), args),
    renew: (args) => through("renew", () => real.renew(args), args),
    complete: (args) => through("complete", () => real.complete(args), args),
    release: (args) => through("release", () => real.release(args), args),
  };
}

/**
 * The clock and the timers, of the tests and of the ledger alike, stand at `T0` and move only when a test moves them.
 * Every delay is the longest that its jitter allows, so that a test can name it.
 */
export function useClock(): void {
  const chance = Math.random;
  beforeEach(() => {
    Math.random = () => 1;
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: T0 });
  });
  afterEach(() => {
    vi.useRealTimers();
    Math.random = chance;
  });
}

/** Moves the clock to that many milliseconds after `T0`; timers on the way ring. */
export async function clockTo(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(T0 + ms - Date.now());
}

/** Waits, without moving the clock, for what is done over RPC. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let polls = 0; polls < 1_000; polls++) {
    if (await condition()) return;
    await scheduler.wait(1);
  }
  throw new Error(`waited in vain for ${String(condition)}`);
}

/** Moves the clock on from timer to timer, past the client's pauses, until the promise settles. */
export async function settled<T>(promise: Promise<T>): Promise<T> {
  const ended = promise.then(
    () => true,
    () => true,
  );
  while ((await Promise.race([ended, scheduler.wait(1)])) !== true) {
    if (inFlight === 0) await vi.advanceTimersToNextTimerAsync();
  }
  return await promise;
}

/** A gate that work, or a call, waits at. */
export function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** `body`: JSON text, as it lies on the queue. */
export type QueueMessage = { id: string; body: string; attempts?: number };

export function message(jobId: string, attempts = 1): QueueMessage {
  return { id: jobId, body: JSON.stringify({ jobId }), attempts };
}

/**
 * Runs `consume` on a batch; answers what became of each message by its id: `"ack"`, or the seconds it is retried
 * after.
 */
export async function consumed(
  messages: QueueMessage[],
  work: Work,
  binding: LedgerBinding = ledger,
  options: ConsumeOptions = {},
): Promise<Record<string, "ack" | number | undefined>> {
  const batch = createMessageBatch<JobMessage>(
    "archive",
    messages.map(({ id, body, attempts = 1 }) => ({ id, attempts, timestamp: T0, body: JSON.parse(body) })),
  );
  // The result of a batch tells who was retried, but not when.
  const retries = new Map(batch.messages.map((sent) => [sent.id, vi.spyOn(sent, "retry")]));
  await consume(batch, binding, work, options);
  const { explicitAcks, retryMessages } = await getQueueResult(batch, createExecutionContext());
  return Object.fromEntries([
    ...explicitAcks.map((id) => [id, "ack"] as const),
    ...retryMessages.map(({ msgId }) => [msgId, retries.get(msgId)?.mock.lastCall?.[0]?.delaySeconds] as const),
  ]);
}
