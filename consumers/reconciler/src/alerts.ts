// A batch of the ledger's alerts: each message is reconciled, logged in one line, and settled by itself.

import { type AlertMessage, errorName, log, SettingsError } from "job-ledger/contract";
import { type Next, reconcile } from "./reconcile.ts";
import { type Bindings, readSettings } from "./settings.ts";

/** Seconds; the longest delay that a queue takes. */
const LONGEST_DELAY_S = 12 * 60 * 60;

export async function takeAlerts(batch: MessageBatch<AlertMessage>, env: Bindings): Promise<void> {
  await Promise.all(
    batch.messages.map(async (message) => {
      let next: Next;
      try {
        next = await reconcile(message.body, readSettings(env, message.body.namespace));
      } catch (error) {
        // A mistake in the configuration names what to set; of any other error only the name is known to be harmless.
        const detail = error instanceof SettingsError ? error.message : undefined;
        next = { outcome: errorName(error), level: "error", detail, retryAfterMs: 0 };
      }
      const { level, retryAfterMs, outcome, detail } = next;
      const { namespace, jobId, reason, ring } = { ...message.body };
      log({ worker: "reconciler", event: reason ?? "alert", outcome, namespace, jobId, ring, detail }, level);
      if (retryAfterMs === undefined) message.ack();
      else message.retry({ delaySeconds: delaySeconds(retryAfterMs, message.attempts) });
    }),
  );
}

/** What was asked for, but not less than half a minute, then one, then two: a queue retried at once would be a busy loop. */
function delaySeconds(ms: number, attempts: number): number {
  return Math.min(Math.max(Math.ceil(ms / 1_000), 30 * 2 ** (attempts - 1)), LONGEST_DELAY_S);
}
