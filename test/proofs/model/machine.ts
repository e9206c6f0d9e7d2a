// The state machine and the schedule on their own, put together as the object puts them together, without storage: the
// fast subject of the model test. The alarm here is a variable that follows `alarmMoves`.

import { expect } from "vitest";
import type { JobView } from "../../../ledger-service/contract/index.ts";
import { cancelExpectation, expectEvent } from "../../../ledger-service/src/job/watch.ts";
import { EMPTY_RECORD, type JobRecord } from "../../../ledger-service/src/job/record.ts";
import {
  type Alert,
  alarmMoves,
  dueAlerts,
  dueAt,
  expire,
  isCleanupDue,
  rung,
  type Settings,
} from "../../../ledger-service/src/job/schedule.ts";
import * as transitions from "../../../ledger-service/src/job/claims.ts";
import { view } from "../../../ledger-service/src/job/view.ts";
import type { Subject } from "./agreement.ts";
import type { Alarm, Answer, Call, Command } from "./command.ts";

const ALARM_RETRY_MS = 60_000;

export class Machine implements Subject {
  readonly #jobId: string;
  readonly #settings: Settings;
  readonly #bodies = new Map<string, string>();
  #record: JobRecord = EMPTY_RECORD;
  #alarm: number | null = null;

  constructor(jobId: string, settings: Settings) {
    this.#jobId = jobId;
    this.#settings = settings;
  }

  async perform(command: Command<string>, now: number) {
    const before = this.#record;
    const answer = command.verb === "alarm" ? this.#ring(command, now) : this.#call(command, now);
    return { ...answer, wrote: this.#record !== before, rows: null };
  }

  view(): JobView | null {
    if (this.#record === EMPTY_RECORD) return null;
    const shown = view(this.#record, this.#settings, { namespace: "n", jobId: this.#jobId });
    return { ...shown, events: shown.events.map((event) => ({ ...event, body: this.#body(event.type) })) };
  }

  async alarm(): Promise<number | null> {
    return this.#alarm;
  }

  /** Of all the tokens that a consumer ever used, at most one may still renew. */
  check(tokens: ReadonlyMap<string, ReadonlySet<string>>, where: () => string): void {
    for (const [consumer, used] of tokens) {
      const renews = (token: string) => {
        const { outcome } = transitions.renew(this.#record, { consumer, token, leaseMs: 1_000 }, 0);
        return outcome.outcome === "ok";
      };
      if ([...used].filter(renews).length > 1) expect.fail(`${where()}: two holders of ${consumer}'s claim`);
    }
  }

  dueAt(): number | null {
    return dueAt(this.#record, this.#settings);
  }

  #call(call: Call<string>, now: number): Answer {
    if (call.verb === "claim") return this.#claim(call, now);
    const decided = this.#decide(call, now);
    this.#commit(decided.record);
    return { outcome: decided.outcome, alerts: [] };
  }

  #decide(call: Exclude<Call<string>, { verb: "claim" }>, now: number): transitions.Decision<object> {
    switch (call.verb) {
      case "complete":
        return transitions.complete(this.#record, call, now);
      case "release":
        return transitions.release(this.#record, call, now);
      case "renew":
        return transitions.renew(this.#record, call, now);
      case "reopen":
        return transitions.reopen(this.#record, call, now);
      case "expectEvent":
        return expectEvent(this.#record, call, now);
      case "cancelExpectation":
        return cancelExpectation(this.#record, call, now);
      default:
        return call satisfies never;
    }
  }

  #claim({ event, told, ...rest }: Extract<Call<string>, { verb: "claim" }>, now: number): Answer {
    const conflicts = event !== null && transitions.isNewConflict(this.#record, event.type);
    const brought = event && { type: event.type, source: event.source, bytes: bytesOf(event.body), alerted: told };
    const command = brought === null ? rest : { ...rest, event: brought };
    const { record, outcome } = transitions.claim(this.#record, command, now);
    if (event !== null && record.events.length > this.#record.events.length) this.#bodies.set(event.type, event.body);
    this.#commit(record);
    const alerts = conflicts && told ? [{ reason: "conflict", ring: 1, pending: [] }] : [];
    if (outcome.outcome !== "claimed") return { outcome, alerts };
    const { eventType, ...claimed } = outcome;
    const source = record.events.find(({ type }) => type === eventType)?.source;
    return { outcome: { ...claimed, event: { type: eventType, body: this.#body(eventType), source } }, alerts };
  }

  #ring({ accepts, meanwhile }: Alarm<string>, now: number): Answer {
    const settings = this.#settings;
    this.#alarm = null; // ringing uses it up
    this.#commit(expire(this.#record, now));
    const seen = this.#record;
    const alerts = dueAlerts(seen, settings, now);
    if (alerts.length === 0 && isCleanupDue(seen, settings, now)) {
      this.#record = EMPTY_RECORD;
      this.#bodies.clear();
      return { outcome: null, alerts: [] };
    }
    const between = meanwhile !== null && alerts.length > 0 ? this.#call(meanwhile, now) : null;
    const sent = [...(between?.alerts ?? []), ...alerts.slice(0, accepts).map(sorted)];
    if (alerts.length > accepts) {
      this.#alarm = now + ALARM_RETRY_MS;
    } else {
      this.#record = rung(this.#record, { seen, alerts, settings, now });
      this.#alarm = dueAt(this.#record, settings);
    }
    return { outcome: between?.outcome ?? null, alerts: sent };
  }

  #commit(after: JobRecord): void {
    const before = this.#record;
    if (after !== before && alarmMoves(before, after, this.#settings)) this.#alarm = dueAt(after, this.#settings);
    this.#record = after;
  }

  #body(type: string): string {
    const body = this.#bodies.get(type);
    if (body === undefined) throw new Error(`no body for ${type}`);
    return body;
  }
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** Whom to call is a set: its order is that of the claims in memory, or in storage. */
export const sorted = ({ reason, ring, pending }: Alert) => ({ reason, ring, pending: pending.toSorted() });
