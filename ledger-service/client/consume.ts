// `consume`: a queue handler in one call. It runs each message through `runOnce` and settles the message by what came of it.

import {
  errorName,
  identify,
  type JobMessage,
  type Identity,
  type LedgerBinding,
  log,
  MAX_JOB_ID_BYTES,
  UNKNOWN,
  withTimeout,
} from "../contract/index.ts";
import { deliveryDelayS, messageDelayS } from "./delays.ts";
import type { Work } from "./job.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { DEFAULT_CLIENT_LEASE_MS, runKept, type RunOptions, type RunOutcome } from "./run-once.ts";

export type ConsumeOptions = Pick<RunOptions, "leaseMs" | "maxAttempts" | "retryAfterMs">;

/** Milliseconds; the log line is not worth more waiting than this. */
const IDENTIFY_WITHIN_MS = 1_000;

/**
 * Does `work` once for every job in the batch, all of them at the same time, and acknowledges or retries each message by
 * itself: a message that fails never holds back the others. Set the queue's `max_batch_size` to at most 10 and
 * `max_retries` to 100, without a dead-letter queue: the ledger decides when a job has failed.
 */
export async function consume(
  batch: MessageBatch<JobMessage>,
  ledger: LedgerBinding,
  work: Work,
  options: ConsumeOptions = {},
): Promise<void> {
  const leaseMs = options.leaseMs ?? DEFAULT_CLIENT_LEASE_MS;
  const keeper = new LeaseKeeper(ledger, leaseMs);
  const caller = withTimeout(identify(ledger), IDENTIFY_WITHIN_MS).catch(() => UNKNOWN);
  await Promise.all(
    batch.messages.map(async (message) => {
      let ran: RunOutcome | { outcome: "error"; error: unknown };
      try {
        ran = await runKept(ledger, keeper, { ...options, leaseMs, jobId: message.body.jobId }, work);
      } catch (error) {
        ran = { outcome: "error", error };
      }
      const delaySeconds = retryInSeconds(ran, message.attempts);
      if (delaySeconds === null) message.ack();
      else message.retry({ delaySeconds });
      logRun(await caller, message, ran);
    }),
  );
}

/** Seconds until the message should come again, or `null` if it need not. */
function retryInSeconds(ran: RunOutcome | { outcome: "error" }, deliveries: number): number | null {
  switch (ran.outcome) {
    case "done":
    case "completed":
    case "failed":
    case "gave_up":
    case "unknown":
      return null;
    case "in_progress":
    case "deferred":
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

function logRun(
  { namespace, consumer }: Identity,
  message: Message<JobMessage>,
  ran: RunOutcome | { outcome: "error"; error: unknown },
): void {
  const jobId: unknown = message.body?.jobId;
  log(
    {
      worker: consumer,
      event: "consume",
      outcome: ran.outcome,
      namespace,
      jobId: typeof jobId === "string" ? jobId.slice(0, MAX_JOB_ID_BYTES) : undefined,
      consumer,
      attempt: "attempt" in ran ? ran.attempt : undefined,
      messageId: message.id,
      error: ran.outcome === "error" ? errorName(ran.error) : undefined,
    },
    ran.outcome === "error" || ran.outcome === "unknown" || ran.outcome === "gave_up" ? "error" : "info",
  );
}
