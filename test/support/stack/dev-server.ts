// `wrangler dev` as a child: several Workers in one real workerd, everything that it writes in a given folder. Called by
// system.ts for the programs that kill the runtime or load it; wrangler starts a killed runtime again.
// Leaves out what the Workers are.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { ROOT, wranglerEnv } from "../tools/wrangler-env.ts";
import { descendants, holdsOpen, isAlive, isNamed, killDescendant, type Process, processOf } from "./processes.ts";

const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const OPTIONS = ["--port=0", "--ip=127.0.0.1", "--inspector-port=0", "--show-interactive-dev-session=false"];
/** Milliseconds; a slow machine with other things to do takes half of it. */
const READY_WITHIN_MS = 60_000;
/** Milliseconds from `SIGTERM` to `kill -9`. */
const STOP_WITHIN_MS = 8_000;
const LOOK_MS = 50;
/** Lines that no Worker logged, kept to be shown when something goes wrong. */
const KEPT_LINES = 40;

export type DevServerOptions = {
  /** For storage, logs and what is built; made and removed by the caller. */
  folder: string;
  /** Paths of wrangler configs. The first is the Worker that HTTP reaches. */
  configs: readonly string[];
  /** For the secrets that the configs require, and wrangler's own switches. */
  env: Record<string, string>;
  /** Called with each line that a Worker logged, parsed. */
  onLog: (line: Record<string, unknown>) => void;
  signal: AbortSignal;
};

export type DevServer = {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  /** The workerd that holds the Workers' storage open, while there is one. Wrangler has another beside it, as a proxy. */
  runtime(): Process | undefined;
  /** `kill -9` for that process, which must be below the wrangler that was started here. */
  killRuntime(runtime: Process): void;
  /** What wrangler said last. */
  lastLines(): string;
  /** Ends it and everything below it. */
  stop(): Promise<void>;
};

const environment = (folder: string): NodeJS.ProcessEnv => ({
  ...wranglerEnv(),
  TMPDIR: folder,
  WRANGLER_LOG: "log",
  WRANGLER_LOG_PATH: join(folder, "logs"),
  // Another wrangler that runs Workers of the same names is none of ours.
  WRANGLER_REGISTRY_PATH: join(folder, "registry"),
});

/** Applies a database's migrations to the storage that a server in that folder will use. @throws with wrangler's output. */
export function migrate(folder: string, binding: string, config: string): void {
  const args = ["d1", "migrations", "apply", binding, "--local", "--persist-to", join(folder, "state"), "-c", config];
  const env = { ...environment(folder), CI: "true" }; // asks nothing
  const { status, stdout, stderr } = spawnSync(process.execPath, [WRANGLER, ...args], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the migrations could not be applied:\n${stdout}${stderr}`);
}

/** @throws when it is not ready in time, with its last lines, or when the signal ends the wait. */
export async function startDevServer({ folder, configs, env, onLog, signal }: DevServerOptions): Promise<DevServer> {
  const state = join(folder, "state");
  const args = [...OPTIONS, `--persist-to=${state}`, ...configs.flatMap((config) => ["-c", config])];
  const wrangler = spawn(process.execPath, [WRANGLER, "dev", ...args], {
    cwd: folder,
    env: { ...environment(folder), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const root = wrangler.pid === undefined ? null : processOf(wrangler.pid);
  if (root === null) throw new Error("wrangler could not be started");

  const ready: { url?: string | undefined } = {};
  const lines: string[] = [];
  for (const output of [wrangler.stdout, wrangler.stderr]) {
    createInterface({ input: output }).on("line", (line) => {
      const logged = /{"level":.*}/.exec(line)?.[0];
      if (logged !== undefined) return onLog(JSON.parse(logged));
      ready.url ??= /Ready on (http\S+)/.exec(line)?.[1];
      if (line.trim() !== "") lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
    });
  }

  const server: Omit<DevServer, "url"> = {
    runtime: () => descendants(root).find((each) => isNamed(each, "workerd") && holdsOpen(each, state)),
    killRuntime: (runtime) => killDescendant(runtime, root),
    lastLines: () => lines.join("\n"),
    stop: () => stop(wrangler, root),
  };
  try {
    const end = Date.now() + READY_WITHIN_MS;
    for (;;) {
      if (ready.url !== undefined) return { ...server, url: ready.url };
      if (Date.now() > end || !isAlive(root)) throw new Error(`wrangler is not ready:\n${server.lastLines()}`);
      await pause(LOOK_MS, undefined, { signal });
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function stop(wrangler: ChildProcess, root: Process): Promise<void> {
  // Each was below this program's wrangler when it was noted; `isAlive` compares its start, so an id used again is spared.
  const ours = new Map<number, Process>([[root.pid, root]]);
  const left = (): Process[] => {
    for (const each of descendants(root)) ours.set(each.pid, each); // a runtime may just be starting again
    return [...ours.values()].filter(isAlive);
  };
  left();
  wrangler.kill("SIGTERM");
  const end = Date.now() + STOP_WITHIN_MS;
  while (left().length > 0 && Date.now() < end) await pause(LOOK_MS);
  for (const { pid } of left()) process.kill(pid, "SIGKILL");
}
