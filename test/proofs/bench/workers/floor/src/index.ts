// The floor that the ledger is compared with: the same two hops with nothing done at their end. These are a service
// binding to an entrypoint, and from there a SQLite-backed object named by the caller. Called by the bench's driver.
// And the floor of what must be written: as many rows as a first claim writes, and nothing decided.

import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import type { ClaimOutcome, LedgerEvent } from "../../../../../../ledger-service/contract/index.ts";
import { withoutDevTable } from "../../ledger/src/without-dev-table.ts";

/** As long as the ledger's state of a claim. */
const STATE = "x".repeat(350);
const encoder = new TextEncoder();
/** Longer than any run of the bench. */
const ALARM_AFTER_MS = 15 * 60_000;

type Answer = Extract<ClaimOutcome, { outcome: "completed" }>;

export class FloorObject extends DurableObject<object> {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    withoutDevTable(ctx);
  }

  noop(): void {}

  /** Writes the rows of a first claim and sets an alarm, as the ledger does, in one transaction. */
  write(event: LedgerEvent): { event: LedgerEvent } {
    const { storage } = this.ctx;
    storage.transactionSync(() => {
      storage.kv.put("event", { state: STATE, body: encoder.encode(event.body) });
      storage.kv.put("claim", { state: STATE });
      void storage.setAlarm(Date.now() + ALARM_AFTER_MS);
    });
    return { event };
  }

  /** Nothing is ever due. */
  override async alarm(): Promise<void> {}

  /** A no-op that is brought what a claim brings, and answers what a duplicate is answered. */
  take(_event: LedgerEvent): Answer {
    return { outcome: "completed", attempt: 1, fence: 1, completedAt: 1, result: null, dispatchedTo: ["consumer-1"] };
  }

  /** Moves an event there and back, as a claim does. */
  echo(event: LedgerEvent): { event: LedgerEvent } {
    return { event };
  }
}

export class Floor extends WorkerEntrypoint<{ OBJECTS: DurableObjectNamespace<FloorObject> }> {
  async noop({ jobId }: { jobId: string }): Promise<void> {
    await this.env.OBJECTS.getByName(jobId).noop();
  }

  async take({ jobId, event }: { jobId: string; event: LedgerEvent }): Promise<Answer> {
    // Copied, as the ledger copies: what an object answers is the runtime's to be disposed of.
    return { ...(await this.env.OBJECTS.getByName(jobId).take(event)) };
  }

  async write({ jobId, event }: { jobId: string; event: LedgerEvent }): Promise<{ event: LedgerEvent }> {
    return { ...(await this.env.OBJECTS.getByName(jobId).write(event)) };
  }

  async echo({ jobId, event }: { jobId: string; event: LedgerEvent }): Promise<{ event: LedgerEvent }> {
    return { ...(await this.env.OBJECTS.getByName(jobId).echo(event)) };
  }
}

export default {
  fetch: () => new Response("Not found\n", { status: 404 }),
} satisfies ExportedHandler;
