// One run of the whole system: wires the parties, lets time run out, and judges what is left. What happens in it (which
// events come, what is asked for) is up to the scenario that uses it.

import { Effects } from "./parties/effects.ts";
import { enter } from "./platform/globals.ts";
import { Objects } from "./platform/objects.ts";
import { ClaimObserver, openConsumers, stored, type StoredJob } from "./parties/observer.ts";
import type { Machine } from "./platform/scheduler.ts";
import { eventBody, type Receiver, statusBody, Sume, type SumeJob } from "./parties/sume.ts";
import { type Namespace, type Work, Workers, writing } from "./parties/workers.ts";
import { World, type WorldOptions } from "./platform/world.ts";

const DAY_MS = 24 * 60 * 60_000;
/** Milliseconds that a run may take at most: every job is finished, and forgotten, long before. */
const RUN_MS = 90 * DAY_MS;
/** Several times as many as the longest schedule has. */
const MOST_EVENTS = 50_000;

export type SimulationOptions = WorldOptions & {
  namespaces: readonly Namespace[];
  retentionDays: number;
  /** A machine for a new instance of an object, or for an invocation of a Worker. */
  machine?: () => Machine;
  /** Wrapped around the writing work: how it misbehaves. */
  work?: (write: Work) => Work;
  /** Whether a claim of this job may end as failed, at that attempt and after so many faults in all. */
  mayFail?: (job: string, attempt: number, faults: number) => boolean;
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

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.world = new World(options);
    enter(this.world);
    const { machine = () => ({ skewMs: 0 }) } = options;
    this.#observer = new ClaimObserver(this.world, knownBodies);
    this.#effects = new Effects(this.world);
    const env: Record<string, unknown> = { RETENTION_DAYS: String(options.retentionDays) };
    this.objects = new Objects(this.world, { observer: this.#observer, env, newMachine: machine });
    const write = writing(this.#effects);
    const work = options.work?.(write) ?? write;
    this.workers = new Workers(this.world, this.objects, { machine, work });
    const receivers = new Map<string, Receiver>();
    for (const namespace of options.namespaces) {
      const onDispatched = (jobId: string, consumer: string) => {
        this.#dispatched.add(`${namespace.name}:${jobId} ${consumer}`);
      };
      receivers.set(namespace.name, this.workers.open(namespace, onDispatched));
    }
    env.ALERTS = this.workers.alerts();
    this.sume = new Sume(this.world, receivers, (job) => this.#acknowledged(job));
  }

  /** From now on the ledger must know the job's event. */
  owe(job: JobKey, why: string): void {
    this.#owed.set(keyOf(job), why);
  }

  /** Lets time run until nothing happens any more, and judges. */
  async finish(): Promise<Verdict> {
    const { scheduler, violations, injected } = this.world;
    await scheduler.runUntil(RUN_MS, () => violations.length > 0 || scheduler.events >= MOST_EVENTS);
    if (scheduler.events >= MOST_EVENTS) this.world.violation("it goes round in circles");
    const ended = { completed: 0, failed: 0 };
    if (violations.length === 0) {
      if (scheduler.nextAt !== null) this.world.violation("something still goes on after 90 days");
      const names = new Set([...this.#owed.keys(), ...this.objects.all.map(({ name }) => name)]);
      for (const name of names) this.#judge(name, ended);
    }
    const finished = [...this.#observer.finishedAt.values()];
    const recoveryMs = Math.max(0, ...finished.map((at) => at - this.world.lastDisturbance));
    return { violations, injected, recoveryMs, events: scheduler.events, ...ended };
  }

  #acknowledged(job: JobKey): void {
    this.owe(job, "was acknowledged with 2xx");
    const missing = this.#consumersOf(job.namespace).filter((name) => !this.#dispatched.has(`${keyOf(job)} ${name}`));
    if (missing.length > 0) this.world.violation(`${keyOf(job)}: 2xx, and no message for ${missing.join(", ")}`);
  }

  #judge(name: string, ended: { completed: number; failed: number }): void {
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
    for (const [consumer, claim] of job.claims) {
      if (consumer === "receiver") continue;
      if (claim.status === "failed") {
        ended.failed += 1;
        const faults = [...this.world.injected.values()].reduce((sum, count) => sum + count, 0);
        const may = this.#options.mayFail?.(name, claim.attempt, faults) ?? false;
        if (!may) this.world.violation(`${name}: ${consumer} failed without cause: ${String(claim.error)}`);
        if (!claim.error) this.world.violation(`${name}: ${consumer} failed without saying why`);
      } else {
        ended.completed += 1;
        this.#judgeEffect(name, consumer, job);
      }
    }
  }

  #judgeEffect(name: string, consumer: string, job: StoredJob): void {
    const effect = this.#effects.get(`${name} ${consumer}`);
    const claim = job.claims.get(consumer);
    if (effect === undefined) this.world.violation(`${name}: ${consumer} completed without effect`);
    else if (claim !== undefined && (effect.fence !== claim.fence || effect.attempt !== claim.attempt)) {
      const [was, is] = [`attempt ${claim.attempt}`, `attempt ${effect.attempt}`];
      this.world.violation(
        `${name}: ${consumer} completed by ${was} (${claim.fence}), effect of ${is} (${effect.fence})`,
      );
    } else if (effect.value !== job.events.get(claim?.eventType ?? "")?.body) {
      this.world.violation(`${name}: ${consumer} worked on another event than its own`);
    }
  }

  #consumersOf(namespace: string): readonly string[] {
    return this.#options.namespaces.find(({ name }) => name === namespace)?.consumers ?? [];
  }
}

/** Everything that Sume could say of that job in an event of that type. */
function knownBodies(object: string, type: string): string[] {
  const colon = object.indexOf(":");
  const [namespace, jobId] = [object.slice(0, colon), object.slice(colon + 1)];
  const status = type.replace(/^job\./, "");
  return [eventBody({ namespace, jobId }, type), statusBody({ namespace, jobId, status, event: type })];
}
