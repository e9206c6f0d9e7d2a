// A consumer with nothing to do but the ledger's part (or, of the queue that knows no ledger, nothing at all), and a count of what it
// has finished, by which the bench knows when the queues are empty.

import { WorkerEntrypoint } from "cloudflare:workers";
import { consume, type JobMessage, type LedgerBinding } from "job-ledger/client";
import { withoutLogLines } from "../../ledger/src/without-log-lines.ts";

withoutLogLines();

let finished = 0;

export default class Consumer extends WorkerEntrypoint<{ LEDGER: LedgerBinding }> {
  /** Jobs since this Worker started. */
  finished(): number {
    return finished;
  }

  override async queue(batch: MessageBatch<JobMessage>): Promise<void> {
    if (batch.queue === "bench-plain") {
      finished += batch.messages.length;
      return batch.ackAll();
    }
    await consume(batch, this.env.LEDGER, async () => {
      finished += 1;
    });
  }
}
