// `consume`: a queue handler in one call. It claims and runs the job of each message, and settles the message by what
// came of it.

import * as v from "valibot";
import { JobId, type JobMessage, type LedgerBinding } from "../contract/index.ts";
import { Calls } from "./calls.ts";
import { deliveryDelayS, givenBackDelayS, messageDelayS } from "./delays.ts";
import type { Work } from "./job.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { consumeLine, levelOf, type Ran, teller } from "./lines.ts";
import { DEFAULT_CLIENT_LEASE_MS, hold, type RunOptions } from "./run-once.ts";
import { inTurns, type Turn } from "./turns.ts";

export type ConsumeOptions = Pick<RunOptions, "leaseMs" | "maxAttempts" | "retryAfterMs">;

/**
 * Jobs that one call takes. The platform allows about 32 service-binding calls in an invocation: 10 claims, 10
 * settles, the 7 renewals of a 4-minute lease in 15 minutes, who the binding is, and 4 for what must be repeated
 * (`Calls`).
 */
const MAX_JOBS = 10;

/**
 * Deliveries from which on a message that finds its claim released by another is one too many, and is acknowledged.
 * Who released the claim had a message, which was put off to the same time. Two messages for one job would otherwise
 * both live as long as the job is tried. Should the other be lost, the ledger's watch brings a new one.
 */
const SURPLUS_FROM_DELIVERY = 3;

const NamesJob = v.looseObject({ jobId: JobId });

/**
 * Does `work` once for every job in the batch, all of them at the same time, and acknowledges or retries each message
 * by itself: a message that fails never holds back the others. A job whose earlier attempt vanished runs by itself,
 * after the others. Set the queue's `max_batch_size` to at most 10, `max_retries` to 100 and `retry_delay` to 60,
 * without a dead-letter queue: the ledger decides when a job has failed.
 */
export async function consume(
  batch: MessageBatch<JobMessage>,
  ledger: LedgerBinding,
  work: Work,
  options: ConsumeOptions = {},
): Promise<void> {
  const leaseMs = options.leaseMs ?? DEFAULT_CLIENT_LEASE_MS;
  const calls = new Calls(ledger, leaseMs);
  const tell = teller(ledger);
  const keeper = new LeaseKeeper(calls.ledger, leaseMs, tell);

  /** Settles the message by what became of its job. Never throws: the others' messages would come to nothing. */
  const settle = async (message: Message<JobMessage>, running: () => Promise<Ran>): Promise<void> => {
    const ran = await running().catch((error: unknown): Ran => ({ outcome: "error", error }));
    const delaySeconds = retryInSeconds(ran, message.attempts);
    if (delaySeconds === null) message.ack();
    else message.retry({ delaySeconds });
    await tell(consumeLine(message.body.jobId, message.id, ran), levelOf(ran));
  };
  const take = async (message: Message<JobMessage>): Promise<Turn> => {
    try {
      const held = await hold(calls, keeper, { ...options, leaseMs, jobId: message.body.jobId });
      if (!("run" in held)) return { alone: false, run: () => settle(message, async () => held) };
      const run = () => settle(message, () => held.run(work));
      return held.vanished > 0 ? { alone: true, run, giveBack: held.giveBack } : { alone: false, run };
    } catch (error) {
      return { alone: false, run: () => settle(message, () => Promise.reject(error)) };
    }
  };

  const named: Message<JobMessage>[] = [];
  const malformed: Message[] = [];
  for (const message of batch.messages) (v.is(NamesJob, message.body) ? named : malformed).push(message);
  // However often they came, they would name no job.
  for (const message of malformed) message.ack();
  const spare = named.slice(MAX_JOBS);

  const [late] = await Promise.all([
    inTurns(named.slice(0, MAX_JOBS), take),
    ...malformed.map(({ id }) => tell({ event: "consume", outcome: "malformed", messageId: id }, "error")),
  ]);
  const givenBack = [...late, ...spare];
  for (const message of givenBack) message.retry({ delaySeconds: givenBackDelayS() });
  if (givenBack.length > 0) {
    // Spare messages are a mistake in the queue's config; late ones are not.
    const level = spare.length > 0 ? "error" : "info";
    await tell({ event: "consume", outcome: "given_back", count: givenBack.length }, level);
  }
  await keeper.close();
}

/** Seconds until the message should come again, or `null` if it need not. */
function retryInSeconds(ran: Ran, deliveries: number): number | null {
  switch (ran.outcome) {
    case "done":
    case "completed":
    case "failed":
    case "gave_up":
    case "unknown":
      return null;
    case "deferred":
      return deliveries >= SURPLUS_FROM_DELIVERY ? null : messageDelayS(ran.retryAt - Date.now());
    // The holder may be a dead predecessor, whose message this is.
    case "in_progress":
    case "released":
    case "unsettled":
      return messageDelayS(ran.retryAt - Date.now());
    case "lost":
    case "error":
      return deliveryDelayS(deliveries);
    default:
      return ran satisfies never;
  }
}
