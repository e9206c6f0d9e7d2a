// The floor that the ledger is compared with: the same two hops (a service binding to an entrypoint, from there to a
// SQLite-backed object named by the caller) with nothing done at their end. Called by the bench's driver.
// Leaves out storage: an object of this class never writes.

import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import type { LedgerEvent } from "../../../../ledger-service/src/contract.ts";
import { withoutDevTable } from "../../bench-ledger/src/without-dev-table.ts";

export class FloorObject extends DurableObject<object> {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    withoutDevTable(ctx);
  }

  noop(): void {}

  /** Moves an event there and back, as a claim does. */
  echo(event: LedgerEvent): { event: LedgerEvent } {
    return { event };
  }
}

export class Floor extends WorkerEntrypoint<{ OBJECTS: DurableObjectNamespace<FloorObject> }> {
  async noop({ jobId }: { jobId: string }): Promise<void> {
    await this.env.OBJECTS.getByName(jobId).noop();
  }

  async echo({ jobId, event }: { jobId: string; event: LedgerEvent }): Promise<{ event: LedgerEvent }> {
    // Copied, as the ledger copies: what an object answers is the runtime's to be disposed of.
    return { ...(await this.env.OBJECTS.getByName(jobId).echo(event)) };
  }
}

export default {
  fetch: () => new Response("Not found\n", { status: 404 }),
} satisfies ExportedHandler;
