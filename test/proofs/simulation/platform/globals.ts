// The ambient things of the Workers' code (clock, timers, chance, random ids, HMAC, fetch, console) put under the simulation. To be
// installed before any production code is loaded. Leaves out what the code under test does not use.

import { createHmac } from "node:crypto";
import { Process } from "./scheduler.ts";
import type { World } from "./world.ts";

/** Midnight at which every run begins, in epoch milliseconds. */
const EPOCH_MS = Date.UTC(2026, 10, 1);

let world: World | null = null;

/** The run that the globals belong to from now on. */
export function enter(entered: World): void {
  world = entered;
}

function running(): World {
  if (world === null) throw new Error("no simulation is running");
  return world;
}

/** The time that a process on this machine would read, in epoch milliseconds. */
export function clock(machine: { skewMs: number } | undefined): number {
  return EPOCH_MS + Math.floor((world?.scheduler.now ?? 0) + (machine?.skewMs ?? 0));
}

class VirtualDate extends Date {
  constructor(value?: number | string | Date) {
    super(value ?? VirtualDate.now());
  }

  static override now(): number {
    return clock(Process.current()?.machine);
  }
}

/** A timer of the code under test; it does not outlive its process. */
function virtualTimeout(callback: () => void, ms = 0): { cancel: () => void } {
  const process = Process.current();
  const cancel = running().scheduler.after(Math.floor(ms), () => {
    if (process === undefined) callback();
    else if (process.alive) process.run(callback);
  });
  return { cancel };
}

function clearVirtual(timer: { cancel: () => void } | null | undefined): void {
  timer?.cancel();
}

function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  virtualTimeout(() => controller.abort(new DOMException("The operation timed out", "TimeoutError")), ms);
  return controller.signal;
}

const virtualCrypto = {
  randomUUID: () => `token-${running().nextToken()}`,
  getRandomValues: (into: Uint8Array | Uint16Array | Uint32Array) => {
    for (const index of into.keys()) into[index] = Math.floor(running().random.next() * 2 ** 32);
    return into;
  },
  subtle: {
    importKey: (_format: string, secret: Uint8Array) => Promise.resolve({ secret }),
    sign: (_algorithm: string, { secret }: { secret: Uint8Array }, data: Uint8Array) =>
      Promise.resolve(createHmac("sha256", secret).update(data).digest()),
  },
};

function note(...words: unknown[]): void {
  world?.trace(() => `    log ${words.join(" ")}`);
}

/** What the Workers' code prints is kept for the trace; `print` is the way out for the simulation itself. */
export const print = console.log.bind(console);

export function installGlobals(): void {
  // Thousands of lost connections a second, whose stacks nobody reads.
  Error.stackTraceLimit = 2;
  const replaced = {
    Date: VirtualDate,
    setTimeout: virtualTimeout,
    clearTimeout: clearVirtual,
    fetch: (url: URL, init: { method: string; signal: AbortSignal }) => running().fetch(url, init),
  };
  for (const [name, value] of Object.entries(replaced)) Reflect.set(globalThis, name, value);
  Object.defineProperty(globalThis, "crypto", { value: virtualCrypto });
  Reflect.set(AbortSignal, "timeout", abortAfter);
  Reflect.set(Math, "random", () => running().random.next());
  Reflect.set(Uint8Array.prototype, "toHex", function toHex(this: Uint8Array) {
    return Buffer.from(this).toString("hex");
  });
  Object.assign(console, { log: note, error: note });
}
