// The Durable Object: one per job. It supplies what the pure parts lack (storage, clock, alarm, waiting) and nothing else:
// which command changes what stands in transitions.ts, when the alarm rings in schedule.ts, how it is stored in store.ts. Called by
// the entrypoints (ledger.ts, ledger-admin.ts) with arguments they have checked. Its methods answer with values; they
// throw only for bugs.

import { DurableObject } from "cloudflare:workers";
import {
  type AlertMessage,
  type CancelExpectationOutcome,
  type ClaimOutcome,
  type CompleteOutcome,
  errorName,
  type ExpectEventOutcome,
  type JobView,
  type LedgerEvent,
  log,
  type ReleaseOutcome,
  type RenewOutcome,
  type ReopenOutcome,
  withTimeout,
} from "../../contract/index.ts";
import { type CancelCommand, cancelExpectation, type ExpectCommand, expectEvent } from "../job/watch.ts";
import { type JobName, parseObjectName } from "../entrypoints/identity.ts";
import { EMPTY_RECORD, type JobRecord } from "../job/record.ts";
import {
  type Alert,
  alarmMoves,
  dueAlerts,
  dueAt,
  expire,
  isCleanupDue,
  rung,
  type Settings,
} from "../job/schedule.ts";
import { readSettings } from "./settings.ts";
import { Store } from "./store.ts";
import * as transitions from "../job/claims.ts";
import type { Decision } from "../job/claims.ts";
import { view } from "../job/view.ts";
import { Waiters } from "./waiters.ts";

/** Milliseconds until an alarm whose work failed rings again. */
const ALARM_RETRY_MS = 60_000;
/** Milliseconds the alarm waits for its queue before it tries again later: a hanging send must not use up the alarm's life. */
const ALERT_WITHIN_MS = 30_000;
/** Milliseconds a claim may spend on telling of a conflict, before it leaves that to the alarm: its caller has 8 s in all. */
const CONFLICT_ALERT_WITHIN_MS = 2_000;
/** Milliseconds. The platform retries a failing alarm for about two minutes; one this late has been dropped. */
const ALARM_DROPPED_AFTER_MS = 5 * 60_000;

const encoder = new TextEncoder();

export class JobLedger extends DurableObject<LedgerServiceEnv> {
  readonly #store = new Store(this.ctx.storage);
  readonly #waiters = new Waiters();
  /** The stored record, once read: nobody but this instance writes it. */
  #record: JobRecord | undefined;
  /** When this instance last saw the alarm run, or set it anew because it was overdue. */
  #alarmRanAt = 0;
  /**
   * Before this the alarm is not set, whatever is due: its last try failed, and a queue in trouble is not to be hammered. Another
   * instance knows nothing of it, and tries once more.
   */
  #alarmPausedUntil = 0;

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
    const conflicts = event !== null && transitions.isNewConflict(this.#read(), event.type);
    const alerted = !conflicts || (await this.#alertConflict());
    for (;;) {
      const outcome = this.#claimOnce(command, event, alerted);
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
    this.#rearmIfOverdue();
    const shown = view(record, this.#settings, this.#name());
    if (!withBodies) return shown;
    return { ...shown, events: shown.events.map((event) => ({ ...event, body: this.#store.body(event.type) })) };
  }

  expectEvent(command: ExpectCommand): ExpectEventOutcome {
    const outcome = this.#commit((record, now) => expectEvent(record, command, now));
    this.#log("expectEvent", command.consumer, outcome);
    return outcome;
  }

  cancelExpectation(command: CancelCommand): CancelExpectationOutcome {
    const outcome = this.#commit((record, now) => cancelExpectation(record, command, now));
    this.#log("cancelExpectation", command.consumer ?? undefined, outcome, { actor: command.actor });
    return outcome;
  }

  /**
   * Does what is due and sets itself to what is due next. An error is logged and tried again: an alarm that keeps throwing
   * would be dropped by the platform.
   */
  override async alarm(): Promise<void> {
    this.#alarmRanAt = Date.now();
    this.#alarmPausedUntil = 0;
    try {
      this.#commit((record, now) => ({ record: expire(record, now), outcome: undefined }));
      const seen = this.#read();
      const alerts = dueAlerts(seen, this.#settings, Date.now());
      if (alerts.length === 0 && isCleanupDue(seen, this.#settings, Date.now())) {
        await this.#cleanUp();
        return;
      }
      for (const alert of alerts) await withTimeout(this.#send(alert), ALERT_WITHIN_MS);
      // While the alerts were on their way anything may have been settled: decide on the record as it is now.
      this.#commitAtAlarm((record, now) => rung(record, { seen, alerts, settings: this.#settings, now }));
    } catch (error) {
      this.#alarmPausedUntil = Date.now() + ALARM_RETRY_MS;
      await this.ctx.storage.setAlarm(this.#alarmPausedUntil);
      this.#log("alarm", undefined, { outcome: "error" }, { error: errorName(error) }, "error");
    }
  }

  /**
   * Tells of a conflicting event before it is recorded: a crash in between brings the delivery, and so the alert, again, and
   * no row is spent on remembering it. `false`: it could not be told, and the alarm must.
   */
  async #alertConflict(): Promise<boolean> {
    try {
      await withTimeout(this.#send({ reason: "conflict", ring: 1, pending: [] }), CONFLICT_ALERT_WITHIN_MS);
      return true;
    } catch (error) {
      this.#log("alert", undefined, { outcome: "unsent" }, { reason: "conflict", error: errorName(error) }, "error");
      return false;
    }
  }

  async #send(alert: Alert): Promise<void> {
    const { namespace, jobId } = this.#name();
    await this.env.ALERTS.send({ namespace, jobId, ...alert } satisfies AlertMessage);
    const { reason, ring, pending } = alert;
    this.#log("alert", undefined, { outcome: "sent" }, { reason, ring, pending }, "error");
  }

  #claimOnce(
    command: Omit<transitions.ClaimCommand, "event">,
    event: LedgerEvent | null,
    alerted: boolean,
  ): ClaimOutcome {
    const before = this.#read();
    // Of a type that is known nothing is kept, and a megabyte need not be turned into bytes.
    const isKept = event !== null && !before.events.some(({ type }) => type === event.type);
    const body = isKept ? encoder.encode(event.body) : null;
    const brought = event && { type: event.type, source: event.source, bytes: body?.length ?? 0, alerted };
    const whole = brought === null ? command : { ...command, event: brought };
    const decided = this.#commit((record, now) => transitions.claim(record, whole, now), body);
    const after = this.#read();
    const isNew = after.events.length > before.events.length;
    const { outcome, conflict } = decided;
    // Whoever brings a duplicate logs it; a line here as well would be most of what it costs.
    const isKnown = conflict === undefined || after.events.some(({ type }) => type === conflict.received);
    const isDuplicate = after === before && isKnown && (outcome === "completed" || outcome === "failed");
    if (!isDuplicate) {
      const details = conflict && { conflict: conflict.received, recorded: conflict.recorded };
      this.#log("claim", command.consumer, decided, details, conflict && isNew ? "error" : undefined);
    }
    if (outcome !== "claimed") return decided;
    const { eventType, ...claimed } = decided;
    return { ...claimed, event: isNew && event?.type === eventType ? event : this.#event(eventType) };
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
  #commit<O>(decide: (record: JobRecord, now: number) => Decision<O>, body: Uint8Array | null = null): O {
    const before = this.#read();
    const { record: after, outcome } = decide(before, Date.now());
    if (after !== before) {
      this.#write(before, after, body, () => {
        if (alarmMoves(before, after, this.#settings)) this.#setAlarm(dueAt(after, this.#settings));
      });
    }
    this.#rearmIfOverdue();
    return outcome;
  }

  /** The alarm's last act. It has used itself up, so it is set in any case. */
  #commitAtAlarm(decide: (record: JobRecord, now: number) => JobRecord): void {
    const before = this.#read();
    const after = decide(before, Date.now());
    this.#write(before, after, null, () => this.#setAlarm(dueAt(after, this.#settings)));
  }

  #write(before: JobRecord, after: JobRecord, body: Uint8Array | null, arm: () => void): void {
    try {
      // A throw after a write undoes nothing by itself; one inside `transactionSync` undoes all of it.
      this.ctx.storage.transactionSync(() => {
        if (after !== before) this.#store.save(before, after, body);
        arm();
      });
    } catch (error) {
      this.#store.rolledBack();
      throw error;
    }
    this.#record = after;
    for (const [consumer, claim] of after.claims) {
      if (claim === before.claims.get(consumer) || claim.status !== "failed" || claim.by !== "exhausted") continue;
      // Nobody calls when a holder dies for the last time: this line is how it is seen.
      this.#log("exhausted", consumer, { outcome: "failed", attempt: claim.attempt }, {}, "error");
    }
  }

  #setAlarm(at: number | null): void {
    // Neither promise is awaited: both take effect at once, and a storage that fails to commit them resets the object.
    if (at === null) void this.ctx.storage.deleteAlarm();
    else void this.ctx.storage.setAlarm(Math.max(at, this.#alarmPausedUntil));
  }

  /** The platform drops an alarm that has failed often enough; whoever calls next brings it back. */
  #rearmIfOverdue(): void {
    const now = Date.now();
    const due = dueAt(this.#read(), this.#settings);
    if (due === null || now < Math.max(due, this.#alarmRanAt) + ALARM_DROPPED_AFTER_MS) return;
    this.#alarmRanAt = now;
    this.#log("alarm", undefined, { outcome: "rearmed" }, {}, "error");
    this.#setAlarm(now);
  }

  #read(): JobRecord {
    this.#record ??= this.#store.load();
    return this.#record;
  }

  /**
   * Forgets the job: all rows, the alarm, and what this instance remembers of them. No call gets in between, and none that
   * waits is lost, as it would be if the instance were ended.
   */
  async #cleanUp(): Promise<void> {
    await this.ctx.blockConcurrencyWhile(async () => {
      await this.ctx.storage.deleteAll();
      this.#record = undefined;
    });
    this.#log("cleanup", undefined, { outcome: "deleted" });
  }

  /** Read at each use, not when the object starts: a mistake in a variable must meet the alarm's own catch, not end it. */
  get #settings(): Settings {
    return readSettings(this.env);
  }

  #name(): JobName {
    return parseObjectName(this.ctx.id.name);
  }

  #log(
    event: string,
    consumer: string | undefined,
    outcome: { outcome: string; attempt?: number | undefined },
    details: Record<string, string | number | readonly string[]> = {},
    level?: "error",
  ): void {
    const { namespace, jobId } = this.#name();
    const { outcome: decided, attempt } = outcome;
    log({ worker: "ledger-service", event, outcome: decided, namespace, jobId, consumer, attempt, ...details }, level);
  }
}
