// The Durable Object: one per job. It supplies what the pure parts lack (storage, clock, alarm, waiting) and nothing else:
// which command changes what stands in transitions.ts, when the alarm rings in schedule.ts, the SQL in store.ts. Called by
// the entrypoints (ledger.ts, ledger-admin.ts) with arguments they have checked. Its methods answer with values; they
// throw only for bugs.

import { DurableObject } from "cloudflare:workers";
import type {
  ClaimOutcome,
  CompleteOutcome,
  JobView,
  LedgerEvent,
  ReleaseOutcome,
  RenewOutcome,
  ReopenOutcome,
} from "./contract.ts";
import { parseObjectName } from "./identity.ts";
import { errorName, log } from "./log.ts";
import { EMPTY_RECORD, type JobRecord, view } from "./record.ts";
import { nextDue, type Settings } from "./schedule.ts";
import { readSettings } from "./settings.ts";
import { Store } from "./store.ts";
import * as transitions from "./transitions.ts";
import type { Decision } from "./transitions.ts";
import { Waiters } from "./waiters.ts";

/** Milliseconds until an alarm whose work failed rings again. */
const ALARM_RETRY_MS = 60_000;

export class JobLedger extends DurableObject<LedgerServiceEnv> {
  readonly #store = new Store(this.ctx.storage.sql);
  readonly #waiters = new Waiters();
  readonly #settings: Settings = readSettings(this.env);
  /** The stored record, once read: nobody but this instance writes it. */
  #record: JobRecord | undefined;

  /**
   * Claims, and while another holds the claim waits up to `waitMs` for it. Each round decides afresh, in one synchronous
   * block, so of many waiters that wake together one wins and the others wait on.
   */
  async claim(
    command: Omit<transitions.ClaimCommand, "event">,
    event: LedgerEvent | null,
    waitMs: number,
  ): Promise<ClaimOutcome> {
    const until = Date.now() + waitMs;
    for (;;) {
      const outcome = this.#claimOnce(command, event);
      const now = Date.now();
      if (outcome.outcome !== "in_progress" || now >= until) return outcome;
      await this.#waiters.wait(command.consumer, Math.min(until, outcome.retryAt) - now);
    }
  }

  complete(command: transitions.CompleteCommand): CompleteOutcome {
    const outcome = this.#commit((record, now) => transitions.complete(record, command, now));
    return this.#settled("complete", command.consumer, outcome);
  }

  release(command: transitions.ReleaseCommand): ReleaseOutcome {
    const outcome = this.#commit((record, now) => transitions.release(record, command, now));
    return this.#settled("release", command.consumer, outcome);
  }

  renew(command: transitions.RenewCommand): RenewOutcome {
    const outcome = this.#commit((record, now) => transitions.renew(record, command, now));
    this.#log("renew", command.consumer, { attempt: this.#attempt(command.consumer), ...outcome });
    return outcome;
  }

  reopen(command: transitions.ReopenCommand): ReopenOutcome {
    const outcome = this.#commit((record, now) => transitions.reopen(record, command, now));
    this.#log("reopen", command.consumer, outcome, { actor: command.actor });
    return outcome;
  }

  /** The record, or `null` where nothing was ever written. Writes nothing. */
  inspect(withBodies: boolean): JobView | null {
    const record = this.#read();
    if (record === EMPTY_RECORD) return null;
    const { namespace, jobId } = this.#name();
    const shown = view(record, namespace, jobId);
    if (!withBodies) return shown;
    return { ...shown, events: shown.events.map((event) => ({ ...event, body: this.#store.body(event.type) })) };
  }

  /** Does what is due. An error is logged and tried again: an alarm that keeps throwing would be dropped by the platform. */
  override async alarm(): Promise<void> {
    try {
      const due = nextDue(this.#read(), this.#settings);
      if (due === null) return;
      if (Date.now() < due.at) {
        await this.ctx.storage.setAlarm(due.at);
        return;
      }
      await this.#cleanUp();
    } catch (error) {
      this.#log("alarm", undefined, { outcome: "error" }, { error: errorName(error) }, "error");
      await this.ctx.storage.setAlarm(Date.now() + ALARM_RETRY_MS);
    }
  }

  #claimOnce(command: Omit<transitions.ClaimCommand, "event">, event: LedgerEvent | null): ClaimOutcome {
    const brought = event && {
      type: event.type,
      source: event.source,
      bytes: new TextEncoder().encode(event.body).length,
    };
    const decided = this.#commit(
      (record, now) => transitions.claim(record, brought === null ? command : { ...command, event: brought }, now),
      event?.body,
    );
    this.#log("claim", command.consumer, decided);
    if (decided.outcome !== "claimed") return decided;
    const { eventType, ...claimed } = decided;
    return { ...claimed, event: this.#event(eventType) };
  }

  #event(type: string): LedgerEvent {
    const entry = this.#read().events.find((event) => event.type === type);
    if (entry === undefined) throw new Error(`no event ${type} is recorded`);
    return { type, body: this.#store.body(type), source: entry.source };
  }

  #settled<O extends CompleteOutcome | ReleaseOutcome>(verb: string, consumer: string, outcome: O): O {
    const details = outcome.outcome === "ok" ? { status: outcome.status } : { reason: outcome.reason };
    this.#log(verb, consumer, { outcome: outcome.outcome, attempt: this.#attempt(consumer) }, details);
    if (outcome.outcome === "ok") this.#waiters.wake(consumer);
    return outcome;
  }

  #attempt(consumer: string): number | undefined {
    return this.#read().claims.get(consumer)?.attempt;
  }

  /** Read, decide, write and arm the alarm, with no `await` between: nothing else runs in this object meanwhile. */
  #commit<O>(decide: (record: JobRecord, now: number) => Decision<O>, body?: string): O {
    const before = this.#read();
    const { record: after, outcome } = decide(before, Date.now());
    if (after === before) return outcome;
    try {
      // A throw after `sql.exec` undoes nothing by itself; one inside `transactionSync` undoes all of it.
      this.ctx.storage.transactionSync(() => {
        this.#store.save(before, after, body ?? null);
        this.#arm(before, after);
      });
    } catch (error) {
      this.#store.forgetTables();
      throw error;
    }
    this.#record = after;
    return outcome;
  }

  /** Sets the alarm where the change has moved it; each setting is a row on the bill. */
  #arm(before: JobRecord, after: JobRecord): void {
    const was = nextDue(before, this.#settings)?.at;
    const due = nextDue(after, this.#settings)?.at;
    if (due === was) return;
    // Neither promise is awaited: both take effect at once, and a storage that fails to commit them resets the object.
    if (due === undefined) void this.ctx.storage.deleteAlarm();
    else void this.ctx.storage.setAlarm(due);
  }

  #read(): JobRecord {
    this.#record ??= this.#store.load();
    return this.#record;
  }

  /** Forgets the job: all rows and the alarm, then this instance, so that nothing remembers it. */
  async #cleanUp(): Promise<void> {
    this.#log("cleanup", undefined, { outcome: "deleted" });
    await this.ctx.blockConcurrencyWhile(async () => {
      await this.ctx.storage.deleteAll();
      await this.ctx.storage.sync();
      this.#record = undefined;
      this.#store.forgetTables();
    });
    this.ctx.abort("job ledger: cleaned up after its retention time", { retryAlarm: false });
  }

  #name(): { namespace: string; jobId: string } {
    return parseObjectName(this.ctx.id.name);
  }

  #log(
    event: string,
    consumer: string | undefined,
    outcome: { outcome: string; attempt?: number | undefined },
    details: Record<string, string> = {},
    level?: "error",
  ): void {
    const { namespace, jobId } = this.#name();
    const { outcome: decided, attempt } = outcome;
    log({ worker: "ledger-service", event, outcome: decided, namespace, jobId, consumer, attempt, ...details }, level);
  }
}
