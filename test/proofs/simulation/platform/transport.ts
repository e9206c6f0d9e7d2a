// Calls between processes, with the faults that can strike on the way there, in the callee and on the way back. Used for
// every call: Sume's request, RPC to entrypoints and objects, requests downstream.

import type { Boundary } from "./faults.ts";
import type { Process } from "./scheduler.ts";
import { lost, reset, type World } from "./world.ts";

export type Outcome<T> = { value: T } | { error: unknown };

export type Call<T> = {
  boundary: Boundary;
  label: string;
  /** Absent: somebody outside, who does not die. */
  from?: Process | undefined;
  serve: () => Promise<Outcome<T>>;
  /** Only of an object: ends its instance and with it all its memory. */
  crash?: () => void;
};

/** Runs code in a process; its outcome, or a lost connection when the process dies first. */
export function serveIn<T>(process: Process, code: () => Promise<T> | T, death = lost): Promise<Outcome<T>> {
  return new Promise((resolve) => {
    const forget = process.onDeath(() => resolve({ error: death(process.name) }));
    const done = (outcome: Outcome<T>) => {
      if (!process.alive) return;
      forget();
      resolve(outcome);
    };
    void process.run(async () => {
      try {
        done({ value: await code() });
      } catch (error) {
        done({ error });
      }
    });
  });
}

/** Makes a call. What a dead caller would be answered is never delivered. */
export function call<T>(world: World, { boundary, label, from, serve, crash }: Call<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (from?.alive === false) return;
    const name = `${from?.name ?? "outside"} -> ${label}`;
    const fault = world.cross(boundary, name);
    const answer = (outcome: Outcome<T>) => {
      world.scheduler.after(world.latency(), () => {
        if (from?.alive === false) return;
        if ("value" in outcome) resolve(outcome.value);
        else reject(outcome.error);
      });
    };
    const arrive = async () => {
      if (fault === "object-dies-before") {
        crash?.();
        answer({ error: reset(name) });
        return;
      }
      const outcome = await serve();
      world.trace(() => `       ${name}: ${describe(outcome)}`);
      if (fault === "object-dies-after") {
        crash?.();
        answer({ error: reset(name) });
      } else if (fault === "lost-after") {
        answer({ error: lost(name) });
      } else if (fault === "caller-dies-after") {
        from?.die();
      } else {
        answer(outcome);
      }
    };
    if (fault === "lost-before") answer({ error: lost(name) });
    else if (fault === "caller-dies-before") from?.die();
    else if (fault !== "hang") {
      world.scheduler.after(world.latency() + (fault === "late" ? world.lateness() : 0), () => void arrive());
    }
  });
}

function describe(outcome: Outcome<unknown>): string {
  if ("error" in outcome) return String(outcome.error);
  return JSON.stringify(outcome.value)?.slice(0, 200) ?? "done";
}

/** A stand-in for a binding: each named method is the given call. */
export function binding(
  methods: readonly string[],
  answer: (method: string, args: unknown[]) => Promise<unknown>,
): Record<string, (...args: unknown[]) => Promise<unknown>> {
  return Object.fromEntries(
    methods.map((method) => [method, (...args: unknown[]) => answer(method, args.map(copied))]),
  );
}

/** What arrives at the other side. Plain data only: it is many times as fast as `structuredClone`, and nothing else is sent. */
export function copied<T>(value: T): T;
export function copied(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copied(item));
  const copy: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) copy[name] = copied(item);
  return copy;
}

/** Calls a method of production code by its name. */
export function invoke(target: object, method: string, args: unknown[]): unknown {
  const code: unknown = Reflect.get(target, method);
  if (typeof code !== "function") throw new Error(`no method ${method}`);
  return Reflect.apply(code, target, args);
}
