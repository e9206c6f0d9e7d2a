// A consumer that does what the event tells it to, for tests and the demo. `"script": { "failAttempts": 2 }` fails the
// first two attempts. `"always"` fails every one, `"permanently"` fails for good at the first. Its retries come within a
// second.

import { consume, type JobMessage, type LedgerBinding, NonRetryableError } from "job-ledger/client";
import * as v from "valibot";

const Payload = v.looseObject({
  script: v.optional(
    v.object({ failAttempts: v.optional(v.union([v.number(), v.picklist(["always", "permanently"])]), 0) }),
    { failAttempts: 0 },
  ),
});

export default {
  queue: (batch, env) =>
    consume(
      batch,
      env.LEDGER,
      async (job) => {
        const { failAttempts } = v.parse(Payload, job.payload()).script;
        if (failAttempts === "permanently") throw new NonRetryableError("scripted to fail permanently");
        if (failAttempts === "always" || job.attempt <= failAttempts) {
          throw new Error(`scripted to fail attempt ${job.attempt}`);
        }
        return { attempt: job.attempt };
      },
      { leaseMs: 5_000, maxAttempts: 4, retryAfterMs: () => 1_000 },
    ),
} satisfies ExportedHandler<{ LEDGER: LedgerBinding }, JobMessage>;
