// The state machine, the schedule and the alarm on their own, put together as the object puts them together, without storage:
// the fast subject of the model test. The alarm's storage here is a variable.

import { expect } from "vitest";
import type { JobView, LedgerEvent } from "../../../ledger-service/contract/index.ts";
import * as claims from "../../../ledger-service/src/job/claims.ts";
import { type BroughtEvent, changedEvent } from "../../../ledger-service/src/job/events.ts";
import { type Decision, EMPTY_RECORD, type JobRecord } from "../../../ledger-service/src/job/record.ts";
import {
  type Alert,
  alarmMoves,
  dueAlerts,
  dueAt,
  isCleanupDue,
  type Settings,
} from "../../../ledger-service/src/job/schedule.ts";
import { view } from "../../../ledger-service/src/job/view.ts";
import * as watch from "../../../ledger-service/src/job/watch.ts";
import { Alarm } from "../../../ledger-service/src/object/alarm.ts";
import type { Subject } from "./agreement.ts";
import type { Answer, Call, Command, SentAlert } from "./command.ts";

class AlarmStorage {
  at: number | null = null;

  async setAlarm(at: number | Date): Promise<void> {
    this.at = Number(at);
  }

  async deleteAlarm(): Promise<void> {
    this.at = null;
  }

  async getAlarm(): Promise<number | null> {
    return this.at;
  }
}

export class Machine implements Subject {
  readonly #jobId: string;
  readonly #settings: Settings;
  readonly #bodies = new Map<string, string>();
  readonly #storage = new AlarmStorage();
  #alarm = new Alarm(this.#storage);
  #record: JobRecord = EMPTY_RECORD;

  constructor(jobId: string, settings: Settings) {
    this.#jobId = jobId;
    this.#settings = settings;
  }

  /** What the alarm's instance knew is lost. */
  evict(): void {
    this.#alarm = new Alarm(this.#storage);
  }

  async perform(command: Command<string>, now: number) {
    const before = this.#record;
    const answer = command.verb === "alarm" ? await this.#ring(command, now) : this.#call(command, now);
    return { ...answer, wrote: this.#record !== before, rows: null };
  }

  view(): JobView | null {
    if (this.#record === EMPTY_RECORD) return null;
    const shown = view(this.#record, this.#settings, { namespace: "n", jobId: this.#jobId });
    return { ...shown, events: shown.events.map((event) => ({ ...event, body: this.#body(event.type) })) };
  }

  async alarm(): Promise<number | null> {
    return this.#storage.at;
  }

  /** Of all the tokens that a consumer ever used, at most one may still renew. */
  check(tokens: ReadonlyMap<string, ReadonlySet<string>>, where: () => string): void {
    for (const [consumer, used] of tokens) {
      const renews = (token: string) => {
        const { outcome } = claims.renew(this.#record, { consumer, token, leaseMs: 1_000 }, 0);
        return outcome.outcome === "ok";
      };
      if ([...used].filter(renews).length > 1) expect.fail(`${where()}: two holders of ${consumer}'s claim`);
    }
  }

  dueAt(): number | null {
    return dueAt(this.#record, this.#settings);
  }

  #call(call: Call<string>, now: number): Answer {
    if (call.verb === "claim") return { outcome: this.#claim(call, now), alerts: [] };
    const { record, outcome } = this.#decide(call, now);
    this.#commit(record, now);
    return { outcome, alerts: [] };
  }

  #decide(call: Exclude<Call<string>, { verb: "claim" }>, now: number): Decision<object> {
    switch (call.verb) {
      case "complete":
        return claims.complete(this.#record, call, now);
      case "release":
        return claims.release(this.#record, call, now);
      case "renew":
        return claims.renew(this.#record, call, now);
      case "reopen":
        return claims.reopen(this.#record, call, now);
      case "abandon":
        return claims.abandon(this.#record, call, now);
      case "expectEvent":
        return watch.expectEvent(this.#record, call, now);
      case "cancelExpectation":
        return watch.cancelExpectation(this.#record, call, now);
      default:
        return call satisfies never;
    }
  }

  #claim({ event, ...rest }: Extract<Call<string>, { verb: "claim" }>, now: number): object {
    const before = this.#record;
    const { record, outcome } = claims.claim(
      before,
      event === null ? rest : { ...rest, event: this.#bring(event) },
      now,
    );
    const changed = changedEvent(before, record);
    if (changed !== undefined && event !== null) this.#bodies.set(changed.type, event.body);
    this.#commit(record, now);
    if (outcome.outcome !== "claimed") return outcome;
    const { eventType, ...claimed } = outcome;
    const source = record.events.find(({ type }) => type === eventType)?.source;
    return { ...claimed, event: { type: eventType, body: this.#body(eventType), source } };
  }

  #bring({ type, source, body }: LedgerEvent): BroughtEvent {
    return { type, source, bytes: bytesOf(body), differs: this.#bodies.get(type) !== body };
  }

  async #ring(
    { accepts, meanwhile, slowMs }: Extract<Command<string>, { verb: "alarm" }>,
    decidedAt: number,
  ): Promise<Answer> {
    const settings = this.#settings;
    this.#storage.at = null; // ringing uses it up
    this.#alarm.began(decidedAt);
    this.#commit(claims.expire(this.#record, decidedAt), decidedAt);
    const alerts = dueAlerts(this.#record, settings, decidedAt);
    if (alerts.length === 0 && isCleanupDue(this.#record, settings, decidedAt)) {
      this.#record = EMPTY_RECORD;
      this.#bodies.clear();
      this.#storage.at = null;
      this.#alarm.ended();
      return { outcome: null, alerts: [] };
    }
    const isSending = alerts.length > 0;
    const between = meanwhile !== null && isSending ? this.#call(meanwhile, decidedAt + slowMs) : null;
    const now = isSending ? decidedAt + 2 * slowMs : decidedAt;
    const after = watch.alerted(this.#record, { alerts: alerts.slice(0, accepts), settings, now });
    if (alerts.length > accepts) {
      this.#commit(after, now);
      await this.#alarm.failed(now);
    } else {
      this.#record = after;
      this.#alarm.succeeded(dueAt(this.#record, settings), now);
      this.#keepAlarm(now);
    }
    return { outcome: between?.outcome ?? null, alerts: alerts.slice(0, accepts).map(sorted) };
  }

  #commit(after: JobRecord, now: number): void {
    const before = this.#record;
    if (after !== before && alarmMoves(before, after, this.#settings)) {
      this.#alarm.set(dueAt(after, this.#settings), now);
    }
    this.#record = after;
    this.#keepAlarm(now);
  }

  #keepAlarm(now: number): void {
    const due = this.dueAt();
    if (due !== null) this.#alarm.revived(due, now);
  }

  #body(type: string): string {
    const body = this.#bodies.get(type);
    if (body === undefined) throw new Error(`no body for ${type}`);
    return body;
  }
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** Whom to call is a set: its order is that of the claims in memory, or in storage. */
export const sorted = ({ reason, ring, pending, refresh }: Omit<Alert, "awaited">): SentAlert => ({
  reason,
  ring,
  pending: pending.toSorted(),
  ...(refresh && { refresh }),
});
