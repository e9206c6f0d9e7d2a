// The Durable Object: one per job. It supplies what the pure parts lack (storage, clock, alarm, waiting) and nothing else:
// which command changes what stands in ../job, how it is stored in store.ts. Called by the entrypoints with arguments they have
// checked. Its methods answer with values; they throw only for bugs. An object that was reached by its id and not by a job's
// name refuses everything and writes nothing.

import { DurableObject } from "cloudflare:workers";
import {
  type AbandonOutcome,
  type AlertMessage,
  type CancelExpectationOutcome,
  type ClaimOutcome,
  type CompleteOutcome,
  errorName,
  type ExpectEventOutcome,
  type JobView,
  type LedgerEvent,
  log,
  MAX_EVENT_TYPES,
  type ReleaseOutcome,
  type RenewOutcome,
  type ReopenOutcome,
  withTimeout,
} from "../../contract/index.ts";
import * as claims from "../job/claims.ts";
import { type BroughtEvent, changedEvent } from "../job/events.ts";
import { type JobName, parseObjectName } from "../job/job-name.ts";
import { type Decision, EMPTY_RECORD, type JobRecord, unfinished } from "../job/record.ts";
import { type Alert, alarmMoves, dueAlerts, dueAt, isCleanupDue, type Settings } from "../job/schedule.ts";
import { view } from "../job/view.ts";
import * as watch from "../job/watch.ts";
import { Alarm } from "./alarm.ts";
import { readSettings } from "./settings.ts";
import { Store } from "./store.ts";
import { Waiters } from "./waiters.ts";

/** Milliseconds the alarm waits for its queue before it tries again later: a hanging send must not use up the alarm's life. */
const ALERT_WITHIN_MS = 30_000;

const encoder = new TextEncoder();

type Brought = BroughtEvent & { body: Uint8Array | null };

export class JobLedger extends DurableObject<LedgerServiceEnv> {
  readonly #name: JobName | null = parseObjectName(this.ctx.id.name);
  readonly #store = new Store(this.ctx.storage);
  readonly #alarm = new Alarm(this.ctx.storage);
  readonly #waiters = new Waiters();
  /** The stored record, once read: nobody but this instance writes it. */
  #record: JobRecord | undefined;
  /** When something is due for that record: asked at each call, and reckoned once for each record. */
  #due: { of: JobRecord; at: number | null } | undefined;

  /**
   * Claims, and while another holds the claim waits up to `waitMs` for it. Each round decides afresh, in one synchronous
   * block, so of many waiters that wake together one wins and the others wait on.
   */
  async claim(
    command: Omit<claims.ClaimCommand, "event">,
    event: LedgerEvent | null,
    waitMs: number,
  ): Promise<ClaimOutcome> {
    if (this.#name === null) return { outcome: "unknown" };
    const began = Date.now();
    const until = began + waitMs;
    let brought = event && this.#bring(event);
    for (let isFirst = true; ; isFirst = false) {
      const outcome = this.#claimOnce(command, event, brought);
      const now = Date.now();
      if (outcome.outcome === "claimed" && !isFirst) return { ...outcome, waitedMs: now - began };
      if (outcome.outcome !== "in_progress" || now >= until) return outcome;
      // Its event has been received. A waiter must not put its body in place of one that came meanwhile.
      brought &&= { ...brought, differs: false, body: null };
      await this.#waiters.wait(command.consumer, Math.min(until, outcome.retryAt) - now);
    }
  }

  complete(command: claims.CompleteCommand): CompleteOutcome {
    if (this.#name === null) return NO_CLAIM;
    const outcome = this.#commit((record, now) => claims.complete(record, command, now));
    return this.#settled("complete", command.consumer, outcome);
  }

  release(command: claims.ReleaseCommand): ReleaseOutcome {
    if (this.#name === null) return NO_CLAIM;
    const outcome = this.#commit((record, now) => claims.release(record, command, now));
    return this.#settled("release", command.consumer, outcome);
  }

  renew(command: claims.RenewCommand): RenewOutcome {
    if (this.#name === null) return NO_CLAIM;
    const outcome = this.#commit((record, now) => claims.renew(record, command, now));
    this.#log("renew", command.consumer, { attempt: this.#attempt(command.consumer), ...outcome });
    return outcome;
  }

  reopen(command: claims.ReopenCommand): ReopenOutcome {
    if (this.#name === null) return { outcome: "unknown", missing: "claim" };
    const outcome = this.#commit((record, now) => claims.reopen(record, command, now));
    this.#log("reopen", command.consumer, outcome, { actor: command.actor });
    return outcome;
  }

  abandon(command: claims.AbandonCommand): AbandonOutcome {
    if (this.#name === null) return { outcome: "unknown" };
    const outcome = this.#commit((record, now) => claims.abandon(record, command, now));
    this.#log("abandon", command.consumer, outcome, { actor: command.actor });
    if (outcome.outcome === "abandoned") this.#waiters.wake(command.consumer);
    return outcome;
  }

  /** The record, or `null` where nothing was ever written. Writes nothing. */
  inspect(withBodies: boolean): JobView | null {
    const record = this.#read();
    if (this.#name === null || record === EMPTY_RECORD) return null;
    this.#keepAlarm();
    const shown = view(record, this.#settings, this.#name);
    if (!withBodies) return shown;
    return { ...shown, events: shown.events.map((event) => ({ ...event, body: this.#store.body(event.type) })) };
  }

  expectEvent(command: watch.ExpectCommand): ExpectEventOutcome {
    if (this.#name === null) return { outcome: "unknown" };
    const outcome = this.#commit((record, now) => watch.expectEvent(record, command, now));
    this.#log("expectEvent", command.consumer, outcome);
    return outcome;
  }

  cancelExpectation(command: watch.CancelCommand): CancelExpectationOutcome {
    if (this.#name === null) return { outcome: "none" };
    const outcome = this.#commit((record, now) => watch.cancelExpectation(record, command, now));
    this.#log("cancelExpectation", command.consumer ?? undefined, outcome, { actor: command.actor });
    return outcome;
  }

  /**
   * Does what is due and sets itself to what is due next. An error is logged and tried again: an alarm that keeps throwing
   * would be dropped by the platform.
   */
  override async alarm(): Promise<void> {
    if (this.#name === null) return;
    const decidedAt = Date.now();
    this.#alarm.began(decidedAt);
    try {
      this.#commit((record, now) => ({ record: claims.expire(record, now), outcome: undefined }));
      const alerts = dueAlerts(this.#read(), this.#settings, decidedAt);
      if (alerts.length === 0 && isCleanupDue(this.#read(), this.#settings, decidedAt)) {
        await this.#cleanUp();
        return;
      }
      await this.#sendAll(this.#name, alerts);
    } catch (error) {
      await this.#alarm.failed(Date.now());
      this.#log("alarm", undefined, { outcome: "error" }, { error: errorName(error) }, "error");
    }
  }

  /** Sends the alerts and keeps what was sent, also where a later one fails: a conflict is told once. */
  async #sendAll(name: JobName, alerts: readonly Alert[]): Promise<void> {
    const sent: Alert[] = [];
    // While the alerts were on their way anything may have been settled: decided on the record as it is by then.
    const alerted = (record: JobRecord, now: number) =>
      watch.alerted(record, { alerts: sent, settings: this.#settings, now });
    try {
      for (const alert of alerts) {
        await withTimeout(this.#send(name, alert), ALERT_WITHIN_MS);
        sent.push(alert);
      }
    } catch (error) {
      this.#commit((record, now) => ({ record: alerted(record, now), outcome: undefined }));
      throw error;
    }
    this.#commitAtAlarm(alerted);
  }

  async #send(name: JobName, { awaited: _awaited, ...alert }: Alert): Promise<void> {
    await this.env.ALERTS.send({ ...name, ...alert } satisfies AlertMessage);
    const { reason, ring, pending } = alert;
    this.#log("alert", undefined, { outcome: "sent" }, { reason, ring, pending }, "error");
  }

  /** The event with its body as bytes, where they are needed: to be kept, or compared with what is kept. */
  #bring({ type, source, body }: LedgerEvent): Brought {
    const record = this.#read();
    const isKnown = record.events.some((event) => event.type === type);
    // A megabyte of an event that nobody works on any more, or that is one too many, need not be turned into bytes.
    const isOfUse = isKnown ? unfinished(record).length > 0 : record.events.length < MAX_EVENT_TYPES;
    if (!isOfUse) return { type, source, bytes: 0, differs: false, body: null };
    const bytes = encoder.encode(body);
    const differs = !isKnown || !this.#store.hasBody(type, bytes);
    return { type, source, bytes: bytes.length, differs, body: bytes };
  }

  #claimOnce(
    command: Omit<claims.ClaimCommand, "event">,
    event: LedgerEvent | null,
    brought: Brought | null,
  ): ClaimOutcome {
    const before = this.#read();
    const body = brought?.body ?? null;
    const whole = brought === null ? command : { ...command, event: brought };
    const decided = this.#commit((record, now) => claims.claim(record, whole, now), body);
    this.#logClaim(command.consumer, before, decided);
    if (decided.outcome !== "claimed") return decided;
    const { eventType, ...claimed } = decided;
    const { source } = this.#eventEntry(eventType);
    // A body that is kept by now, or was before, need not be read back.
    const isKept =
      brought !== null && body !== null && (!brought.differs || changedEvent(before, this.#read()) !== undefined);
    const kept = isKept && event?.type === eventType ? event.body : this.#store.body(eventType);
    return { ...claimed, event: { type: eventType, body: kept, source } };
  }

  #eventEntry(type: string): JobRecord["events"][number] {
    const entry = this.#read().events.find((event) => event.type === type);
    if (entry === undefined) throw new Error(`no event ${type} is recorded`);
    return entry;
  }

  /** Of a duplicate nothing: whoever brings it logs it, and a line here as well would be most of what it costs. */
  #logClaim(consumer: string, before: JobRecord, decided: claims.ClaimDecision): void {
    const after = this.#read();
    const { outcome, conflict } = decided;
    const changed = changedEvent(before, after);
    const replaced = changed?.replaced.at(-1);
    if (changed !== undefined && replaced !== undefined) {
      const details = { type: changed.type, bytes: changed.bytes, previousBytes: replaced.bytes };
      this.#log("event", consumer, { outcome: "replaced" }, details);
    }
    const isKept = conflict === undefined || after.events.some(({ type }) => type === conflict.received);
    if (after === before && isKept && (outcome === "completed" || outcome === "failed")) return;
    const details = conflict && { conflict: conflict.received, recorded: conflict.recorded };
    const isNewConflict = conflict !== undefined && after.events.length > before.events.length;
    this.#log("claim", consumer, decided, details, isNewConflict ? "error" : undefined);
  }

  #settled<O extends CompleteOutcome | ReleaseOutcome>(verb: string, consumer: string, outcome: O): O {
    // A claim that is given up has its own line, by whichever way.
    if (outcome.outcome === "stale" || outcome.status !== "failed") {
      const details = outcome.outcome === "ok" ? { status: outcome.status } : { reason: outcome.reason };
      this.#log(verb, consumer, { outcome: outcome.outcome, attempt: this.#attempt(consumer) }, details);
    }
    if (outcome.outcome === "ok") this.#waiters.wake(consumer);
    return outcome;
  }

  #attempt(consumer: string): number | undefined {
    return this.#read().claims.get(consumer)?.attempt;
  }

  /** Read, decide, write and arm the alarm, with no `await` between: nothing else runs in this object meanwhile. */
  #commit<O>(decide: (record: JobRecord, now: number) => Decision<O>, body: Uint8Array | null = null): O {
    const before = this.#read();
    const now = Date.now();
    const { record: after, outcome } = decide(before, now);
    if (after !== before) {
      this.#write(before, after, body, () => {
        if (alarmMoves(before, after, this.#settings)) this.#alarm.set(this.#dueAt(after), now);
      });
    }
    this.#keepAlarm();
    return outcome;
  }

  /** The alarm's last act. It has used itself up, so it is set in any case. */
  #commitAtAlarm(decide: (record: JobRecord, now: number) => JobRecord): void {
    const before = this.#read();
    const now = Date.now();
    const after = decide(before, now);
    this.#write(before, after, null, () => this.#alarm.succeeded(this.#dueAt(after), now));
  }

  #write(before: JobRecord, after: JobRecord, body: Uint8Array | null, arm: () => void): void {
    // A throw after a write undoes nothing by itself; one inside `transactionSync` undoes all of it.
    this.ctx.storage.transactionSync(() => {
      if (after !== before) this.#store.save(before, after, body);
      arm();
    });
    this.#record = after;
    for (const [consumer, claim] of after.claims) {
      if (claim === before.claims.get(consumer) || claim.status !== "failed") continue;
      // The one line by which a claim given up is seen, whether its holder gave up or died for the last time.
      const { attempt, maxAttempts, by } = claim;
      this.#log(
        "gave_up",
        consumer,
        { outcome: "failed", attempt },
        { by, ...(maxAttempts && { maxAttempts }) },
        "error",
      );
    }
  }

  /** The platform drops an alarm that has failed often enough; whoever calls next brings it back. */
  #keepAlarm(): void {
    const at = this.#dueAt(this.#read());
    if (at === null) return;
    if (this.#alarm.revived(at, Date.now())) this.#log("alarm", undefined, { outcome: "rearmed" }, {}, "error");
    else void this.#alarm.check(() => this.#dueAt(this.#read()));
  }

  #dueAt(record: JobRecord): number | null {
    if (this.#due?.of !== record) this.#due = { of: record, at: dueAt(record, this.#settings) };
    return this.#due.at;
  }

  #read(): JobRecord {
    if (this.#record === undefined) {
      const { record, unreadable } = this.#store.load(Date.now());
      this.#record = record;
      if (unreadable.length > 0)
        this.#log("record", undefined, { outcome: "unreadable" }, { keys: unreadable }, "error");
    }
    return this.#record;
  }

  /**
   * Forgets the job: all rows, the alarm, and what this instance remembers of them. No call gets in between, and none that
   * waits is lost, as it would be if the instance were ended.
   */
  async #cleanUp(): Promise<void> {
    const failure = await this.ctx.blockConcurrencyWhile(async () => {
      try {
        await this.ctx.storage.deleteAll();
        this.#record = undefined;
        this.#alarm.ended();
        return null;
      } catch (error) {
        return { error }; // thrown in here it would end the instance, and the alarm would not be set again
      }
    });
    if (failure !== null) throw failure.error;
    this.#log("cleanup", undefined, { outcome: "deleted" });
  }

  /** Read at each use, not when the object starts: a mistake in a variable must meet the alarm's own catch, not end it. */
  get #settings(): Settings {
    return readSettings(this.env);
  }

  #log(
    event: string,
    consumer: string | undefined,
    outcome: { outcome: string; attempt?: number | undefined },
    details: Record<string, string | number | readonly string[]> = {},
    level?: "error",
  ): void {
    const { outcome: decided, attempt } = outcome;
    log({ worker: "ledger-service", event, outcome: decided, ...this.#name, consumer, attempt, ...details }, level);
  }
}

const NO_CLAIM = { outcome: "stale", reason: "no_claim" } as const;
