// Takes a batch of the ledger's alerts. Each message is checked, reconciled, logged in one line, and acked or retried
// by itself.

import { type AlertMessage, describeIssue, errorName, JobId, log, Name, SettingsError } from "job-ledger/contract";
import * as v from "valibot";
import { type Next, reconcile } from "./reconcile.ts";
import { type Bindings, readSettings } from "./settings.ts";

/** Seconds; the longest delay that a queue takes. */
const LONGEST_DELAY_S = 12 * 60 * 60;

/** An alert as this Worker knows it. Fields that a newer ledger adds are ignored. */
const Alert = v.object({
  namespace: Name,
  jobId: JobId,
  reason: v.picklist(["not_arrived", "not_finished", "conflict"]),
  ring: v.pipe(v.number(), v.integer(), v.minValue(1)),
  pending: v.array(Name),
  refresh: v.exactOptional(v.literal(true)),
}) satisfies v.GenericSchema<unknown, AlertMessage>;

/** The fields of a malformed message that can still tell a person which job it was about. */
const Named = v.fallback(
  v.object({ namespace: v.fallback(v.optional(Name), undefined), jobId: v.fallback(v.optional(JobId), undefined) }),
  {},
);

export async function takeAlerts(batch: MessageBatch, env: Bindings): Promise<void> {
  await Promise.all(
    batch.messages.map(async (message) => {
      const parsed = v.safeParse(Alert, message.body);
      const next = parsed.success
        ? await reconciled(parsed.output, message.attempts, env)
        : malformed(parsed.issues[0]);
      const { namespace, jobId, reason, ring } = parsed.success
        ? parsed.output
        : { ...v.parse(Named, message.body), reason: "alert", ring: undefined };
      const { level, retryAfterMs, outcome, detail } = next;
      log({ worker: "reconciler", event: reason, outcome, namespace, jobId, ring, detail }, level);
      if (retryAfterMs === undefined) message.ack();
      else message.retry({ delaySeconds: delaySeconds(retryAfterMs, message.attempts) });
    }),
  );
}

async function reconciled(alert: AlertMessage, deliveries: number, env: Bindings): Promise<Next> {
  try {
    return await reconcile(alert, deliveries, readSettings(env, alert.namespace));
  } catch (error) {
    // The message of a SettingsError names what to set. Of any other error only the name is known to be harmless.
    const detail = error instanceof SettingsError ? error.message : undefined;
    return { outcome: errorName(error), level: "error", detail, retryAfterMs: 0 };
  }
}

/** The message would be as malformed the next time. A person must see it, for not every alert comes again. */
function malformed(issue: v.BaseIssue<unknown>): Next {
  const detail = `${v.getDotPath(issue) ?? "the message"} ${describeIssue(issue)}`;
  return { outcome: "malformed", level: "error", detail };
}

/**
 * The pause that was asked for, but at least half a minute, then one, then two: without one the queue would be a busy
 * loop.
 */
function delaySeconds(ms: number, attempts: number): number {
  return Math.min(Math.max(Math.ceil(ms / 1_000), 30 * 2 ** (attempts - 1)), LONGEST_DELAY_S);
}
