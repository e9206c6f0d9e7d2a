// One run of the whole system: wires the parties, lets time run out, and judges what is left. What happens in it (which
// events come, what is asked for) is up to the scenario that uses it.

import { Effects } from "./parties/effects.ts";
import { enter } from "./platform/globals.ts";
import { Objects } from "./platform/objects.ts";
import { type Alert, ClaimObserver } from "./parties/observer.ts";
import type { Machine } from "./platform/scheduler.ts";
import { openConsumers, stored, type StoredClaim, type StoredJob } from "./parties/stored.ts";
import { type Receiver, Sume, type SumeJob } from "./parties/sume.ts";
import { type Namespace, type Work, Workers, writing } from "./parties/workers.ts";
import { World, type WorldOptions } from "./platform/world.ts";

const DAY_MS = 24 * 60 * 60_000;
/** Milliseconds that a run may take at most: every job is finished, and forgotten, long before. */
const RUN_MS = 90 * DAY_MS;
/** Several times as many as the longest schedule has. */
const MOST_EVENTS = 50_000;
/** As the receivers' bindings have it. */
export const RECEIVER = "receiver";

export type SimulationOptions = WorldOptions & {
  namespaces: readonly Namespace[];
  retentionDays: number;
  /** A machine for a new instance of an object, or for an invocation of a Worker. */
  machine?: () => Machine;
  /** Wrapped around the writing work: how it misbehaves. */
  work?: (write: Work) => Work;
  /** Whether a claim that has used up its attempts may end as failed, after so many faults in all. */
  mayFail?: (failed: { name: string; consumer: string; claim: StoredClaim; faults: number }) => boolean;
  /** Events after which a run is taken to go round in circles. */
  mostEvents?: number;
};

export type Verdict = {
  violations: string[];
  injected: ReadonlyMap<string, number>;
  /** Milliseconds from the last fault, or the last thing asked for from outside, to the end of the last job; 0 without. */
  recoveryMs: number;
  events: number;
  /** Claims of consumers that ended so. */
  completed: number;
  failed: number;
  /** Jobs whose every consumer completed. */
  finished: number;
  /** Messages handed to consumers, and the attempts that their claims were granted. */
  deliveries: number;
  attempts: number;
  /** Put on the alerts queue. */
  alerts: number;
};

type JobKey = Pick<SumeJob, "namespace" | "jobId">;
export const keyOf = ({ namespace, jobId }: JobKey) => `${namespace}:${jobId}`;

export class Simulation {
  readonly world: World;
  readonly sume: Sume;
  readonly workers: Workers;
  readonly objects: Objects;
  readonly #options: SimulationOptions;
  readonly #effects: Effects;
  readonly #observer: ClaimObserver;
  /** Jobs that must not be lost, and why. */
  readonly #owed = new Map<string, string>();
  readonly #dispatched = new Set<string>();
  /** By object's name and consumer, of those that have a queue. */
  readonly #deliveries = new Map<string, number>();
  readonly #attempts = new Map<string, number>();
  #alerts = 0;
  /** Is told of each attempt of a consumer that has a queue. */
  onAttempt: (object: string, consumer: string) => void = () => {};

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.world = new World(options);
    enter(this.world);
    const { machine = () => ({ skewMs: 0 }) } = options;
    this.#observer = new ClaimObserver(this.world, (name, event) => this.sume.hasSaid(name, event));
    this.#observer.onAttempt = (name, consumer) => this.#attempted(name, consumer);
    this.#effects = new Effects(this.world);
    const env: Record<string, unknown> = { RETENTION_DAYS: String(options.retentionDays) };
    this.objects = new Objects(this.world, { observer: this.#observer, env, newMachine: machine });
    const write = writing(this.#effects);
    const work = options.work?.(write) ?? write;
    this.workers = new Workers(this.world, this.objects, { machine, work });
    const receivers = new Map<string, Receiver>();
    for (const namespace of options.namespaces) {
      const key = (jobId: string, consumer: string) => `${namespace.name}:${jobId} ${consumer}`;
      const told = {
        onDispatched: (jobId: string, consumer: string) => void this.#dispatched.add(key(jobId, consumer)),
        onHanded: (jobId: string, consumer: string) => increment(this.#deliveries, key(jobId, consumer)),
      };
      receivers.set(namespace.name, this.workers.open(namespace, told));
    }
    env.ALERTS = this.#alertsQueue();
    this.sume = new Sume(this.world, receivers, (job) => this.#acknowledged(job));
  }

  /** From now on the ledger must know the job's event. */
  owe(job: JobKey, why: string): void {
    this.#owed.set(keyOf(job), why);
  }

  /** Lets time run until nothing happens any more, and judges. */
  async finish(): Promise<Verdict> {
    const { scheduler, violations, injected } = this.world;
    const { mostEvents = MOST_EVENTS } = this.#options;
    await scheduler.runUntil(RUN_MS, () => violations.length > 0 || scheduler.events >= mostEvents);
    if (scheduler.events >= mostEvents) this.world.violation("it goes round in circles");
    const ended = { completed: 0, failed: 0, finished: 0 };
    if (violations.length === 0) {
      if (scheduler.nextAt !== null) this.world.violation("something still goes on after 90 days");
      const names = new Set([...this.#owed.keys(), ...this.objects.all.map(({ name }) => name)]);
      for (const name of names) this.#judge(name, ended);
    }
    const finished = [...this.#observer.finishedAt.values()];
    const recoveryMs = Math.max(0, ...finished.map((at) => at - this.world.lastDisturbance));
    const traffic = { deliveries: sum(this.#deliveries), attempts: sum(this.#attempts), alerts: this.#alerts };
    return { violations, injected, recoveryMs, events: scheduler.events, ...ended, ...traffic };
  }

  /** Milliseconds of the run at which jobs were last seen to become finished, by name. */
  get finishedAt(): ReadonlyMap<string, number> {
    return this.#observer.finishedAt;
  }

  /** Messages handed to that consumer of that job so far, and the attempts that it was granted. */
  trafficOf(object: string, consumer: string): { deliveries: number; attempts: number } {
    const key = `${object} ${consumer}`;
    return { deliveries: this.#deliveries.get(key) ?? 0, attempts: this.#attempts.get(key) ?? 0 };
  }

  #alertsQueue(): object {
    const objectOf = ({ namespace, jobId }: Alert) => this.objects.get(keyOf({ namespace, jobId }));
    const queue = this.workers.alerts((alert) => {
      this.#alerts += 1;
      this.#observer.alerted(objectOf(alert), alert);
    });
    return {
      send: (alert: Alert) => {
        this.#observer.alerting(objectOf(alert), alert);
        return queue.send(alert);
      },
    };
  }

  #attempted(name: string, consumer: string): void {
    if (!this.#consumersOf(name.slice(0, name.indexOf(":"))).includes(consumer)) return;
    increment(this.#attempts, `${name} ${consumer}`);
    this.onAttempt(name, consumer);
  }

  #acknowledged(job: JobKey): void {
    this.owe(job, "was acknowledged with 2xx");
    const missing = this.#consumersOf(job.namespace).filter((name) => !this.#dispatched.has(`${keyOf(job)} ${name}`));
    if (missing.length > 0) this.world.violation(`${keyOf(job)}: 2xx, and no message for ${missing.join(", ")}`);
  }

  #judge(name: string, ended: Pick<Verdict, "completed" | "failed" | "finished">): void {
    const object = this.objects.get(name);
    const left = object.storage.entries().length;
    if (left > 0) this.world.violation(`${name}: ${left} rows are left for ever`);
    const job: StoredJob = this.#observer.deleted.get(name) ?? stored(object);
    if (job.events.size === 0) {
      const why = this.#owed.get(name);
      if (why !== undefined) this.world.violation(`${name}: ${why}, and the ledger knows nothing of it`);
      return;
    }
    const open = openConsumers(job);
    if (open.length > 0) this.world.violation(`${name}: not finished for ${open.join(", ")}`);
    const namespace = name.slice(0, name.indexOf(":"));
    for (const consumer of this.#consumersOf(namespace)) {
      if (!job.claims.has(consumer)) this.world.violation(`${name}: ${consumer} never claimed`);
    }
    if ([...job.claims.values()].every(({ status }) => status === "completed")) ended.finished += 1;
    for (const [consumer, claim] of job.claims) {
      if (claim.status === "abandoned") {
        const asked = this.#observer.wasAbandoned(name, consumer);
        if (!asked) this.world.violation(`${name}: ${consumer} is abandoned, and nobody asked for it`);
      } else if (consumer === RECEIVER) {
        continue;
      } else if (claim.status === "failed") {
        ended.failed += 1;
        this.#judgeFailure(name, consumer, claim);
      } else {
        ended.completed += 1;
        this.#judgeEffect(name, consumer, claim);
      }
    }
  }

  #judgeFailure(name: string, consumer: string, claim: StoredClaim): void {
    const faults = sum(this.world.injected);
    const may = this.#options.mayFail?.({ name, consumer, claim, faults }) ?? false;
    if (!may) this.world.violation(`${name}: ${consumer} failed without cause: ${String(claim.error)}`);
    if (!claim.error) this.world.violation(`${name}: ${consumer} failed without saying why`);
  }

  #judgeEffect(name: string, consumer: string, claim: StoredClaim): void {
    const effect = this.#effects.get(`${name} ${consumer}`);
    if (effect === undefined) this.world.violation(`${name}: ${consumer} completed without effect`);
    else if (!this.#observer.isSameCaller(name, consumer, effect.fence, claim.fence)) {
      const [was, is] = [`attempt ${claim.attempt}`, `attempt ${effect.attempt}`];
      this.world.violation(
        `${name}: ${consumer} completed by ${was} (${claim.fence}), effect of ${is} (${effect.fence})`,
      );
    } else if (!this.#observer.wasGiven(name, consumer, effect)) {
      this.world.violation(`${name}: ${consumer} worked on another event than it was given`);
    }
  }

  #consumersOf(namespace: string): readonly string[] {
    return this.#options.namespaces.find(({ name }) => name === namespace)?.consumers ?? [];
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
