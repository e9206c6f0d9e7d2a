// The home of the jobs' objects: makes an instance where one is needed, ends it, hands it calls, and runs its alarm at least
// once as the platform does. What an object answers goes to the observer before it goes to the caller.

import { clock } from "./globals.ts";
import { JobLedger } from "./production.ts";
import type { Machine } from "./scheduler.ts";
import { Process } from "./scheduler.ts";
import { Storage } from "./storage.ts";
import { binding, call, copied, invoke, type Outcome, serveIn } from "./transport.ts";
import { reset, type World } from "./world.ts";

const METHODS = [
  "claim",
  "complete",
  "release",
  "renew",
  "reopen",
  "abandon",
  "inspect",
  "expectEvent",
  "cancelExpectation",
];
/** Milliseconds; the platform ends a handler then. */
const LONGEST_HANDLER_MS = 15 * 60_000;
const ALARM_RETRIES = 6;
const FIRST_ALARM_RETRY_MS = 2_000;
/** Milliseconds; one handler runs at a time. */
const BETWEEN_ALARMS_MS = 100;

export type Observer = {
  /** A call has come, and nothing of it has run. The function returned is called once its first step is kept. */
  arriving(object: JobObject, method: string, args: unknown[]): () => void;
  /** `changed`: whether rows were written by the very call (of methods without waiting; else `false`). */
  answered(object: JobObject, method: string, args: unknown[], answer: unknown, changed: boolean): void;
  /** The object is at rest: nothing of it is between two steps. */
  rested(object: JobObject): void;
  deleting(object: JobObject): void;
};

type Instance = { process: Process; code: object; blocked: Promise<void> | null };

export class JobObject {
  readonly name: string;
  readonly storage: Storage;
  machine: Machine;
  #handling = false;
  #retryIsAhead = false;
  readonly #world: World;
  readonly #observer: Observer;
  readonly #env: object;
  #instance: Instance | null = null;
  #cancelAlarm: () => void = () => {};
  readonly #newMachine: () => Machine;

  constructor(world: World, name: string, options: { observer: Observer; env: object; newMachine: () => Machine }) {
    this.#world = world;
    this.name = name;
    this.#observer = options.observer;
    this.#env = options.env;
    this.#newMachine = options.newMachine;
    this.machine = options.newMachine();
    this.storage = new Storage(world, name, {
      onAlarm: () => this.#alarmWasSet(),
      onDelete: () => options.observer.deleting(this),
    });
  }

  /** The alarm is set, or its handler runs, or will be run again by the platform. */
  get isWatched(): boolean {
    return this.storage.alarmAt !== null || this.#handling || this.#retryIsAhead;
  }

  /** By the object's own clock, in epoch milliseconds. */
  get now(): number {
    return clock(this.machine);
  }

  /** Ends the instance, if there is one: its memory, its waiters and its timers. The next one may be on another machine. */
  crash(): void {
    this.#instance?.process.die();
  }

  async serve(method: string, args: unknown[]): Promise<Outcome<unknown>> {
    const instance = this.#live();
    const outcome = await serveIn(
      instance.process,
      async () => {
        while (instance.blocked !== null) await instance.blocked;
        const { version, refusals } = this.storage;
        const kept = this.#observer.arriving(this, method, args);
        const answer = invoke(instance.code, method, args);
        const changed = this.storage.version !== version;
        if (this.storage.refusals === refusals) kept();
        const settled = await answer;
        this.#observer.answered(this, method, args, settled, !(answer instanceof Promise) && changed);
        return copied(settled);
      },
      reset,
    );
    this.#observer.rested(this);
    return outcome;
  }

  #live(): Instance {
    if (this.#instance !== null) return this.#instance;
    const process = this.#world.spawn(this.name, this.machine);
    process.onDeath(() => {
      this.#world.trace(() => `       ${process.name} ends`);
      this.#instance = null;
      this.machine = this.#newMachine();
    });
    const ctx = {
      id: { name: this.name },
      storage: this.storage.viewOf(process, () => this.crash()),
      blockConcurrencyWhile: async <T>(code: () => Promise<T>): Promise<T> => {
        const blocking = code();
        instance.blocked = blocking.then(() => undefined);
        const value = await blocking;
        instance.blocked = null;
        return value;
      },
    };
    const code = process.run(() => new JobLedger(ctx, this.#env));
    const instance: Instance = { process, code, blocked: null };
    this.#instance = instance;
    return instance;
  }

  #alarmWasSet(): void {
    this.#cancelAlarm();
    // An alarm that is set, or deleted, takes the place of a retry.
    this.#retryIsAhead = false;
    const { alarmAt } = this.storage;
    if (alarmAt !== null) this.#ringAfter(alarmAt - this.now, 0);
  }

  #ringAfter(ms: number, retries: number): void {
    this.#cancelAlarm = this.#world.scheduler.after(ms, () => void this.#ring(retries));
  }

  async #ring(retries: number): Promise<void> {
    if (this.#handling) {
      this.#ringAfter(BETWEEN_ALARMS_MS, retries);
      return;
    }
    const fault = this.#world.cross("alarm", this.name);
    if (fault === "late") {
      this.#ringAfter(this.#world.lateness(), retries);
      return;
    }
    this.#handling = true;
    this.#retryIsAhead = false;
    this.storage.alarmAt = null;
    let ended = fault === "object-dies-before" ? "died" : await this.#handle();
    if (fault === "twice") ended = await this.#handle();
    if (fault === "object-dies-before" || fault === "object-dies-after") {
      this.crash();
      ended = "died";
    }
    this.#handling = false;
    if (ended !== "done" && retries < ALARM_RETRIES && this.storage.alarmAt === null) {
      this.#retryIsAhead = true;
      // Only what the handler itself did wrong, or took too long for, counts against the platform's patience.
      this.#ringAfter(FIRST_ALARM_RETRY_MS * 2 ** retries, ended === "failed" ? retries + 1 : retries);
    }
    this.#observer.rested(this);
  }

  async #handle(): Promise<"done" | "failed" | "died"> {
    const instance = this.#live();
    let wasTooLong = false;
    const tooLong = this.#world.scheduler.after(LONGEST_HANDLER_MS, () => {
      wasTooLong = true;
      instance.process.die();
    });
    const outcome = await serveIn(
      instance.process,
      async () => {
        while (instance.blocked !== null) await instance.blocked;
        await invoke(instance.code, "alarm", []);
      },
      reset,
    );
    tooLong();
    this.#world.trace(() => `       ${this.name}: alarm ${"error" in outcome ? String(outcome.error) : "done"}`);
    if (!("error" in outcome)) return "done";
    return instance.process.alive || wasTooLong ? "failed" : "died";
  }
}

/** All objects of a run; `getByName` is what an entrypoint's `ctx.exports.JobLedger` is. */
export class Objects {
  readonly #world: World;
  readonly #options: { observer: Observer; env: object; newMachine: () => Machine };
  readonly #objects = new Map<string, JobObject>();

  constructor(world: World, options: { observer: Observer; env: object; newMachine: () => Machine }) {
    this.#world = world;
    this.#options = options;
  }

  get all(): JobObject[] {
    return [...this.#objects.values()];
  }

  get(name: string): JobObject {
    let object = this.#objects.get(name);
    if (object === undefined) {
      object = new JobObject(this.#world, name, this.#options);
      this.#objects.set(name, object);
    }
    return object;
  }

  getByName(name: string): object {
    const object = this.get(name);
    return binding(METHODS, (method, args) =>
      call<unknown>(this.#world, {
        boundary: "object",
        label: `${name} ${method}`,
        from: Process.current(),
        serve: () => object.serve(method, args),
        crash: () => object.crash(),
      }),
    );
  }
}
