// What to do about an alert. Everything that it starts may be done twice: an alert comes at least once, and others
// follow until the job is finished.

import type { AlertMessage } from "job-ledger/contract";
import type { Settings } from "./settings.ts";
import { redeliver, status, type SumeTrouble } from "./sume.ts";

/** What the log says, and whether the message must come again before the job's object rings next. */
export type Next = {
  outcome: string;
  level: "info" | "error";
  detail?: string | undefined;
  /** Milliseconds until the message comes again; absent: it does not. */
  retryAfterMs?: number;
};

/** At this ring a job that Sume does not know is given up: its status may lag behind its start, but not so long. */
const GIVE_UP_UNKNOWN_AT_RING = 3;

/** Milliseconds until the job is dispatched that an operator wants a fresh event for: a redelivery takes seconds. */
const REDELIVERED_WITHIN_MS = 30_000;

/**
 * Acts on the alert; `deliveries` counts from 1 how often its message has come.
 * @throws {SettingsError} for what is not configured, and what the bindings throw.
 */
export async function reconcile(alert: AlertMessage, deliveries: number, settings: Settings): Promise<Next> {
  switch (alert.reason) {
    case "not_arrived":
      return await fetchEvent(alert, settings);
    case "not_finished":
      // Once: whatever came of it, the work is done with the event that is there by then.
      return alert.refresh === true && deliveries === 1
        ? await askForFreshEvent(alert, settings)
        : await dispatchAgain(alert, settings);
    case "conflict":
      return {
        outcome: "conflict",
        level: "error",
        detail:
          "two event types came for this job: inspect it, and reopen with the other type if that is the right one",
      };
    default:
      return alert.reason satisfies never;
  }
}

async function fetchEvent({ namespace, jobId, ring }: AlertMessage, settings: Settings): Promise<Next> {
  const { keyName, ...api } = settings.sume();
  const job = await status(api, jobId);
  switch (job.kind) {
    case "not_ended":
      // It came from outside: it is logged only if it looks like a state.
      return {
        outcome: "not_ended",
        level: "info",
        detail: /^\w{1,32}$/.test(job.state) ? job.state : "another state",
      };
    case "unknown_job": {
      if (ring < GIVE_UP_UNKNOWN_AT_RING) return { outcome: "unknown_job", level: "info" };
      const cancelled = await settings.admin.cancelExpectation({ namespace, jobId, actor: "reconciler" });
      return { outcome: "gave_up_unknown_job", level: "error", detail: `expectation ${cancelled.outcome}` };
    }
    case "ended": {
      if (ring === 1) {
        // The real, signed event comes through the front door. If it does not, the next ring ingests the status.
        const asked = await redeliver(api, jobId);
        if (asked.kind === "asked") return { outcome: "asked_to_redeliver", level: "info" };
        return asked.kind === "unknown_job" ? { outcome: "not_redelivered", level: "error" } : trouble(asked, keyName);
      }
      const event = { type: job.eventType, body: job.body, source: "poll" } as const;
      const ingested = await settings.intake().ingest({ namespace, jobId, event });
      return nextAfter("ingested", ingested.outcome);
    }
    case "forbidden":
    case "unavailable":
    case "unexpected":
      return trouble(job, keyName);
    default:
      return job satisfies never;
  }
}

/** Sume's redelivery brings a fresh body through the front door. The message comes again to dispatch the job. */
async function askForFreshEvent({ jobId }: AlertMessage, settings: Settings): Promise<Next> {
  const { keyName, ...api } = settings.sume();
  const asked = await redeliver(api, jobId);
  if (asked.kind === "asked") {
    return { outcome: "asked_for_fresh_event", level: "info", retryAfterMs: REDELIVERED_WITHIN_MS };
  }
  const why: Next =
    asked.kind === "unknown_job" ? { outcome: "not_redelivered", level: "error" } : trouble(asked, keyName);
  // Not after Sume's own pause: it is not asked again, and the work must not wait for hours.
  return { ...why, retryAfterMs: 0 };
}

async function dispatchAgain({ namespace, jobId, pending }: AlertMessage, settings: Settings): Promise<Next> {
  const sent = await settings.intake().redispatch({ namespace, jobId, pending });
  if (sent.outcome === "no_queue") return noQueue(sent.consumers ?? []);
  return nextAfter("redispatched", sent.outcome);
}

/**
 * Asked again the receiver would answer the same. Only a person can bind the queue, or end the wait for the consumer.
 */
function noQueue(consumers: string[]): Next {
  const detail =
    `the receiver has no queue for ${consumers.join(", ")}: bind it as DISPATCH_<CONSUMER>, ` +
    "or abandon a consumer that is no more";
  return { outcome: "no_queue", level: "error", detail };
}

/** What follows from the receiver's answer: what did not get through is tried again. */
function nextAfter(done: string, outcome: string): Next {
  const through = outcome === "accepted" || outcome === "redispatched" || outcome === "duplicate";
  return through
    ? { outcome: done, level: "info", detail: outcome }
    : { outcome: `not_${done}`, level: "error", detail: outcome, retryAfterMs: 0 };
}

function trouble(answer: SumeTrouble, keyName: string): Next {
  switch (answer.kind) {
    case "forbidden":
      return {
        outcome: "sume_forbidden",
        level: "error",
        detail: `Sume answered ${answer.status}: set the secret ${keyName} to a valid key`,
      };
    case "unavailable":
      return {
        outcome: "sume_unavailable",
        level: "error",
        detail: answer.why,
        retryAfterMs: answer.retryAfterMs,
      };
    case "unexpected":
      return { outcome: "sume_unexpected", level: "error", detail: answer.why };
    default:
      return answer satisfies never;
  }
}
