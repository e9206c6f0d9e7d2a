// A consumer that does the ledger's part and nothing else. Of the queue that knows no ledger it does nothing at all. It
// counts what it has finished: so the bench knows when the queues are empty.

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
