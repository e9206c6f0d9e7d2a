// Watches the objects from outside and keeps a small model of its own: who holds which claim until when, and which body is the
// newest. It judges by what the objects answer, what they write, what they alert and what their alarm says, never by asking
// production code.

import type { JobObject, Observer } from "../platform/objects.ts";
import type { World } from "../platform/world.ts";
import { Bodies } from "./bodies.ts";
import { openConsumers, openParts, stored, type StoredJob } from "./stored.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Milliseconds; the watch's longest pause, and the longest lease or delay that it may have to wait for. */
const LATEST_ALARM_MS = DAY_MS + DAY_MS / 2 + MINUTE_MS;
/** Milliseconds that what is due may wait: the longest pause after failures, and clocks that disagree. */
const LATEST_DUE_MS = 16 * MINUTE_MS;
/** Milliseconds that an alert may be on its way to its queue, with another before it. */
const ALERT_UNDER_WAY_MS = 3 * MINUTE_MS;

type Holder = {
  token: string;
  fence: number;
  leaseExpiresAt: number;
  /** Neither settled nor reopened. */
  open: boolean;
};
type Answer = {
  outcome: string;
  token?: string;
  leaseExpiresAt?: number;
  attempt?: number;
  fence?: number;
  event?: { type: string; body: string };
};
type Command = { consumer: string; token: string; maxAttempts?: number | null };
export type Alert = { namespace: string; jobId: string; reason: string; pending: string[] };

export class ClaimObserver implements Observer {
  readonly #world: World;
  readonly #wasSent: (object: string, event: { type: string; body: string }) => boolean;
  readonly #bodies = new Bodies();
  readonly #holders = new Map<string, Holder>();
  readonly #fences = new Map<string, number>();
  /** By object, consumer and fence. */
  readonly #tokens = new Map<string, string>();
  readonly #completed = new Map<string, string>();
  /** Claims abandoned, and not reopened since, with the milliseconds of the run. */
  readonly #abandoned = new Map<string, number>();
  readonly #everAbandoned = new Set<string>();
  /** Conflicts put on the alerts queue, of the job as it is now. */
  readonly #conflicts = new Map<string, number>();
  readonly #restedAt = new Map<string, number>();
  /** Milliseconds of the run at which a job was last seen to become finished. */
  readonly finishedAt = new Map<string, number>();
  /** What was deleted, as it was then. */
  readonly deleted = new Map<string, StoredJob>();
  /** Is told of each new attempt: an object's name and a consumer. */
  onAttempt: (object: string, consumer: string) => void = () => {};

  /** `wasSent`: whether anybody ever sent such an event for that job. */
  constructor(world: World, wasSent: (object: string, event: { type: string; body: string }) => boolean) {
    this.#world = world;
    this.#wasSent = wasSent;
  }

  arriving(object: JobObject, method: string, args: unknown[]): () => void {
    return method === "claim" ? this.#bodies.arriving(object, args) : () => {};
  }

  answered(object: JobObject, method: string, args: unknown[], answer: unknown, changed: boolean): void {
    if (!isAnswer(answer)) return;
    const [command] = args;
    if (answer.outcome === "stale" && changed) this.#violation(object, `a stale ${method} changed rows`);
    if (!isCommand(command)) return;
    const key = `${object.name} ${command.consumer}`;
    switch (method) {
      case "claim":
        if (answer.outcome === "claimed") this.#claimed(object, command, answer);
        else this.#refused(object, key, command.token, answer.outcome);
        break;
      case "renew":
      case "complete":
      case "release":
        if (answer.outcome === "ok") this.#held(object, key, method, command.token, answer);
        break;
      case "reopen":
        if (answer.outcome !== "reopened") break;
        this.#holders.delete(key);
        this.#completed.delete(key);
        this.#abandoned.delete(key);
        break;
      case "abandon":
        if (answer.outcome === "abandoned" && !this.#abandoned.has(key)) {
          this.#abandoned.set(key, this.#world.scheduler.now);
          this.#everAbandoned.add(key);
        }
        break;
      default:
    }
  }

  /** An alert is sent off; the queue may yet refuse it. */
  alerting(object: JobObject, { pending }: Alert): void {
    for (const consumer of pending) {
      const since = this.#abandoned.get(`${object.name} ${consumer}`);
      if (since !== undefined && this.#world.scheduler.now > since + ALERT_UNDER_WAY_MS) {
        this.#violation(object, `an alert for ${consumer}, who was abandoned`);
      }
    }
  }

  /** An alert is on the queue. */
  alerted(object: JobObject, { reason }: Alert): void {
    if (reason === "conflict") this.#conflicts.set(object.name, (this.#conflicts.get(object.name) ?? 0) + 1);
  }

  /** Whether anybody asked for that. */
  wasAbandoned(object: string, consumer: string): boolean {
    return this.#everAbandoned.has(`${object} ${consumer}`);
  }

  /**
   * Whether both attempts are one caller's: a claim that was long on its way comes again with its token after the lease, as
   * another attempt, and what the caller then completes it did in the earlier one.
   */
  isSameCaller(object: string, consumer: string, one: number, other: number): boolean {
    const [first, second] = [one, other].map((fence) => this.#tokens.get(`${object} ${consumer} ${fence}`));
    return first !== undefined && first === second;
  }

  /** Whether the attempt with that fence was given that body. */
  wasGiven(object: string, consumer: string, { fence, value }: { fence: number; value: string }): boolean {
    return this.#bodies.wasGiven(`${object} ${consumer} ${fence}`, value);
  }

  rested(object: JobObject): void {
    const { version } = object.storage;
    if (object.isWatched && object.storage.alarmAt === null) return;
    if (this.#restedAt.get(object.name) === version && object.isWatched) return;
    this.#restedAt.set(object.name, version);
    const job = stored(object);
    const open = openParts(job);
    if (open.length === 0) {
      if (!this.finishedAt.has(object.name)) this.finishedAt.set(object.name, this.#world.scheduler.now);
      return;
    }
    this.finishedAt.delete(object.name);
    const { alarmAt } = object.storage;
    const latest = latestAlarm(job, object.now);
    const isLate = alarmAt !== null && alarmAt > latest;
    if (object.isWatched && !isLate) return;
    const why = isLate ? `an alarm only at +${alarmAt - object.now} ms` : "no alarm";
    this.#violation(object, `forgotten: ${open.join(", ")} open and ${why}`);
  }

  deleting(object: JobObject): void {
    const job = stored(object);
    const open = openParts(job);
    if (open.length > 0) this.#violation(object, `deleted with ${open.join(", ")} open`);
    const told = this.#conflicts.get(object.name) ?? 0;
    if (told < job.events.size - 1) this.#violation(object, `${job.events.size} events, and ${told} conflicts alerted`);
    this.deleted.set(object.name, job);
    this.#conflicts.delete(object.name);
    this.#bodies.forget(object);
    const isOfIt = (key: string) => key.startsWith(`${object.name} `);
    for (const kept of [this.#holders, this.#completed, this.#abandoned]) {
      for (const key of kept.keys()) if (isOfIt(key)) kept.delete(key);
    }
  }

  #claimed(object: JobObject, { consumer, token, maxAttempts = null }: Command, answer: Answer): void {
    const key = `${object.name} ${consumer}`;
    const { leaseExpiresAt = 0, attempt = 0, fence = 0, event } = answer;
    const holder = this.#holders.get(key);
    if (answer.token !== token) this.#violation(object, `${key} was given the token ${answer.token}, not ${token}`);
    const isLive = holder?.open === true && object.now < holder.leaseExpiresAt;
    const isRepeated = isLive && holder.token === token;
    if (isRepeated && fence !== holder.fence) {
      this.#violation(object, `${key}: ${token} claimed again within its lease, and it was another attempt`);
    }
    if (isLive && !isRepeated) this.#violation(object, `two live tokens for ${key}: ${holder.token} and ${token}`);
    if (!isRepeated) {
      if (this.#completed.has(key)) this.#violation(object, `${key} was claimed after it was completed`);
      if (this.#abandoned.has(key)) this.#violation(object, `${key} was claimed after it was abandoned`);
      if (maxAttempts !== null && attempt > maxAttempts) this.#violation(object, `${key}: attempt ${attempt}`);
      const last = this.#fences.get(key) ?? 0;
      if (fence <= last) this.#violation(object, `${key}: fence ${fence} after ${last}`);
      this.#fences.set(key, fence);
      this.#tokens.set(`${key} ${fence}`, token);
      this.onAttempt(object.name, consumer);
    }
    this.#holders.set(key, { token, fence, leaseExpiresAt, open: true });
    if (event === undefined) {
      this.#violation(object, `${key} was given no event`);
      return;
    }
    if (!this.#wasSent(object.name, event)) this.#violation(object, `${key} was given an event that nobody sent`);
    if (!this.#bodies.isNewest(object, event)) this.#violation(object, `${key} was not given the newest body`);
    this.#bodies.give(`${key} ${fence}`, event.body);
  }

  /** A claim repeated after a lost answer must find its holder in it. */
  #refused(object: JobObject, key: string, token: string, outcome: string): void {
    const holder = this.#holders.get(key);
    if (holder?.token !== token || !holder.open) return;
    if (outcome === "in_progress" || outcome === "deferred")
      this.#violation(object, `${key}: ${outcome} for its holder`);
  }

  #held(object: JobObject, key: string, method: string, token: string, { leaseExpiresAt = 0 }: Answer): void {
    const holder = this.#holders.get(key);
    if (holder?.token !== token) {
      this.#violation(object, `${method} of ${key} with ${token} was taken, held by ${holder?.token ?? "nobody"}`);
      return;
    }
    if (method === "renew") holder.leaseExpiresAt = leaseExpiresAt;
    else holder.open = false;
    if (method !== "complete") return;
    const by = this.#completed.get(key);
    if (by !== undefined && by !== token) this.#violation(object, `${key} was completed twice, by ${by} and ${token}`);
    this.#completed.set(key, token);
    // What the holder of an abandoned claim finishes counts.
    this.#abandoned.delete(key);
  }

  #violation(object: JobObject, what: string): void {
    this.#world.violation(`${object.name}: ${what}`);
  }
}

/** Epoch milliseconds; when the alarm of a job that is not finished must be set at the latest. */
function latestAlarm(job: StoredJob, now: number): number {
  if (job.untold > 0) return now + LATEST_DUE_MS;
  const deadlines = job.expected.filter(({ isTold }) => !isTold).map(({ dueAt }) => Math.max(dueAt, now));
  // What is expected may be expected a month ahead; afterwards it is asked for once a day.
  const isPatient = openConsumers(job).length === 0 && deadlines.length === job.expected.length;
  return Math.min(isPatient ? Infinity : now + LATEST_ALARM_MS, ...deadlines.map((at) => at + LATEST_DUE_MS));
}

function isAnswer(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && "outcome" in value;
}

function isCommand(value: unknown): value is Command {
  return typeof value === "object" && value !== null && "consumer" in value && typeof value.consumer === "string";
}
