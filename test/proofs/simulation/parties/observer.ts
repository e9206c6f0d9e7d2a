// Watches the objects from outside and keeps a small model of its own: who holds which claim until when. It judges by what
// the objects answer, what they write and what their alarm says, never by asking production code.

import * as v from "valibot";
import type { JobObject, Observer } from "../platform/objects.ts";
import type { World } from "../platform/world.ts";

const DAY_MS = 24 * 60 * 60_000;
/** Milliseconds; the watch's longest pause, and the longest lease or delay that it may have to wait for. */
const LATEST_ALARM_MS = DAY_MS + DAY_MS / 2 + 60_000;

type Holder = {
  token: string;
  leaseExpiresAt: number;
  /** Neither settled nor reopened. */
  open: boolean;
};
const StoredClaim = v.object({
  status: v.string(),
  eventType: v.string(),
  attempt: v.number(),
  fence: v.number(),
  dispatchedTo: v.array(v.string()),
  error: v.optional(v.nullable(v.string())),
  changedAt: v.number(),
});
const StoredEvent = v.object({ body: v.instance(Uint8Array), receivedAt: v.number() });
const StoredExpectation = v.object({ expectation: v.nullable(v.object({ cancelledBy: v.nullable(v.string()) })) });
export type StoredClaim = v.InferOutput<typeof StoredClaim>;
export type StoredJob = {
  events: Map<string, { body: string; receivedAt: number }>;
  claims: Map<string, StoredClaim>;
  isExpected: boolean;
};
type Answer = {
  outcome: string;
  token?: string;
  leaseExpiresAt?: number;
  fence?: number;
  event?: { type: string; body: string };
};
type Command = { consumer: string; token: string };

/** What an object has stored, as it lies there. */
export function stored(object: JobObject): StoredJob {
  const job: StoredJob = { events: new Map(), claims: new Map(), isExpected: false };
  for (const [key, value] of object.storage.entries()) {
    const colon = key.indexOf(":");
    const [kind, name] = colon < 0 ? [key, ""] : [key.slice(0, colon), key.slice(colon + 1)];
    if (kind === "event") {
      const { body, receivedAt } = v.parse(StoredEvent, value);
      job.events.set(name, { body: new TextDecoder().decode(body), receivedAt });
    }
    if (kind === "claim") job.claims.set(name, v.parse(StoredClaim, value));
    if (kind === "job") job.isExpected = v.parse(StoredExpectation, value).expectation?.cancelledBy === null;
  }
  if (job.events.size > 0) job.isExpected = false;
  return job;
}

/** The consumers that something is still to be done for. */
export function openConsumers({ claims }: StoredJob): string[] {
  const named = [...claims.values()].flatMap(({ dispatchedTo }) => dispatchedTo);
  return [...new Set([...claims.keys(), ...named])].filter((consumer) => {
    const status = claims.get(consumer)?.status;
    return status !== "completed" && status !== "failed";
  });
}

export class ClaimObserver implements Observer {
  readonly #world: World;
  readonly #knownBodies: (object: string, type: string) => string[];
  readonly #holders = new Map<string, Holder>();
  readonly #fences = new Map<string, number>();
  readonly #completed = new Map<string, string>();
  readonly #restedAt = new Map<string, number>();
  /** Milliseconds of the run at which a job was last seen to become finished. */
  readonly finishedAt = new Map<string, number>();
  /** What was deleted, as it was then. */
  readonly deleted = new Map<string, StoredJob>();

  constructor(world: World, knownBodies: (object: string, type: string) => string[]) {
    this.#world = world;
    this.#knownBodies = knownBodies;
  }

  answered(object: JobObject, method: string, args: unknown[], answer: unknown, changed: boolean): void {
    if (!isAnswer(answer)) return;
    const [command] = args;
    if (answer.outcome === "stale" && changed) this.#violation(object, `a stale ${method} changed rows`);
    if (!isCommand(command)) return;
    const key = `${object.name} ${command.consumer}`;
    switch (method) {
      case "claim":
        if (answer.outcome === "claimed") this.#claimed(object, key, answer);
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
        break;
      default:
    }
  }

  rested(object: JobObject): void {
    const { version } = object.storage;
    if (object.isWatched && object.storage.alarmAt === null) return;
    if (this.#restedAt.get(object.name) === version && object.isWatched) return;
    this.#restedAt.set(object.name, version);
    const job = stored(object);
    const open = openConsumers(job);
    if (open.length === 0 && !job.isExpected) {
      if (!this.finishedAt.has(object.name)) this.finishedAt.set(object.name, this.#world.scheduler.now);
      return;
    }
    this.finishedAt.delete(object.name);
    const { alarmAt } = object.storage;
    // What is expected may be expected a month ahead.
    const isLate = alarmAt !== null && !job.isExpected && alarmAt > object.now + LATEST_ALARM_MS;
    if (object.isWatched && !isLate) return;
    const why = isLate ? `an alarm only at +${alarmAt - object.now} ms` : "no alarm";
    this.#violation(object, `forgotten: ${open.join(", ") || "an expected event"} open and ${why}`);
  }

  deleting(object: JobObject): void {
    const job = stored(object);
    const open = openConsumers(job);
    if (open.length > 0 || job.isExpected) this.#violation(object, `deleted with ${open.join(", ")} open`);
    this.deleted.set(object.name, job);
    for (const key of this.#holders.keys()) if (key.startsWith(`${object.name} `)) this.#holders.delete(key);
    for (const key of this.#completed.keys()) if (key.startsWith(`${object.name} `)) this.#completed.delete(key);
  }

  #claimed(object: JobObject, key: string, { token = "", leaseExpiresAt = 0, fence = 0, event }: Answer): void {
    const holder = this.#holders.get(key);
    const isAnew = holder?.token !== token;
    if (isAnew) {
      if (holder?.open === true && object.now < holder.leaseExpiresAt) {
        this.#violation(object, `two live tokens for ${key}: ${holder.token} and ${token}`);
      }
      if (this.#completed.has(key)) this.#violation(object, `${key} was claimed after it was completed`);
      const last = this.#fences.get(key) ?? 0;
      if (fence <= last) this.#violation(object, `${key}: fence ${fence} after ${last}`);
      this.#fences.set(key, fence);
    }
    this.#holders.set(key, { token, leaseExpiresAt, open: true });
    if (event !== undefined && !this.#knownBodies(object.name, event.type).includes(event.body)) {
      this.#violation(object, `${key} was given an event that nobody sent`);
    }
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
  }

  #violation(object: JobObject, what: string): void {
    this.#world.violation(`${object.name}: ${what}`);
  }
}

function isAnswer(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && "outcome" in value;
}

function isCommand(value: unknown): value is Command {
  return typeof value === "object" && value !== null && "consumer" in value && typeof value.consumer === "string";
}
