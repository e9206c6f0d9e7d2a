// `wrangler dev` as a child: several Workers in one real workerd. `startDevServer`, for dev-stack.ts and the bench,
// keeps all that they write in a temporary folder and ends what it started. `spawnDev` is the process alone, for
// test/local/start.ts: that run belongs to a person. Its storage, output and end are that person's. Wrangler starts a
// killed runtime again.
// Leaves out which Workers they are.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import {
  descendants,
  holdsOpen,
  isAlive,
  isNamed,
  killDescendant,
  type Process,
  processOf,
} from "../tools/processes.ts";
import { runWrangler, WRANGLER, type WranglerOptions } from "../tools/wrangler.ts";
import { ROOT, wranglerEnv } from "../tools/wrangler-env.ts";
import { migratedDatabases, type WorkerConfig, writeConfig } from "./worker-config.ts";

/** Milliseconds; a slow machine with other things to do takes half of it. */
const READY_WITHIN_MS = 60_000;
/** Milliseconds from `SIGTERM` to `kill -9`. */
const STOP_WITHIN_MS = 8_000;
const LOOK_MS = 50;
/** Lines that no Worker logged, kept to be shown when something goes wrong. */
const KEPT_LINES = 40;

export type SpawnOptions = {
  /** Paths of wrangler configs. The first is the Worker that HTTP reaches. */
  configs: readonly string[];
  /** The folder for what the Workers store. */
  state: string;
  /** The project's folder when left out. */
  cwd?: string;
  /** A free one when left out. */
  port?: number;
  /** Over the present environment: the secrets that the configs require, and wrangler's own switches. */
  env: NodeJS.ProcessEnv;
  /** What wrangler writes to its standard error goes to this program's own, and not to `onLine`. */
  passErrors?: boolean;
  onLine: (line: string) => void;
};

/** Starts `wrangler dev` and leaves it to the caller to wait for it and to end it, with `SIGTERM`. */
export function spawnDev({
  configs,
  state,
  cwd = ROOT,
  port = 0,
  env,
  passErrors = false,
  onLine,
}: SpawnOptions): ChildProcess {
  const options = [`--port=${port}`, "--ip=127.0.0.1", "--inspector-port=0", "--show-interactive-dev-session=false"];
  const args = [WRANGLER, "dev", ...options, `--persist-to=${state}`, ...configs.flatMap((config) => ["-c", config])];
  const wrangler = spawn(process.execPath, args, {
    cwd,
    env: { ...wranglerEnv(), ...env },
    stdio: ["ignore", "pipe", passErrors ? "inherit" : "pipe"],
  });
  for (const output of [wrangler.stdout, wrangler.stderr]) {
    if (output !== null) createInterface({ input: output }).on("line", onLine);
  }
  return wrangler;
}

/** The URL, in the line with which wrangler says that the Workers can be reached. */
export function readyUrl(line: string): string | undefined {
  return /Ready on (http\S+)/.exec(line)?.[1];
}

/**
 * Applies the migrations of the Worker's databases to the storage of a server with that state.
 * @throws with wrangler's output.
 */
export function migrate(state: string, config: string, { env = {}, ...options }: WranglerOptions = {}): void {
  for (const binding of migratedDatabases(config)) {
    const command = ["d1", "migrations", "apply", binding, "--local", "--persist-to", state, "-c", config];
    const { ok, output } = runWrangler(command, { ...options, env: { ...env, CI: "true" } }); // asks nothing
    if (!ok) throw new Error(`the migrations of ${binding} in ${config} could not be applied:\n${output}`);
  }
}

export type DevServerOptions = {
  /** The first is the Worker that HTTP reaches. */
  workers: readonly WorkerConfig[];
  /** For the secrets that the configs require, and wrangler's own switches. */
  env: Record<string, string>;
  /** Called with each line that a Worker logged, parsed. */
  onLog: (line: Record<string, unknown>) => void;
  signal: AbortSignal;
};

export type DevServer = {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  /**
   * The workerd that holds the Workers' storage open, while there is one; on Linux only. Wrangler has a proxy beside
   * it.
   */
  runtime(): Process | undefined;
  /** `kill -9` for that process, which must be below the wrangler that was started here. */
  killRuntime(runtime: Process): void;
  /** What wrangler said last. */
  lastLines(): string;
  /** Ends it and everything below it, and removes what it wrote. */
  stop(): Promise<void>;
};

/** @throws when it is not ready in time, with its last lines, or when the signal ends the wait. */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const folder = await mkdtemp(join(tmpdir(), "job-ledger-"));
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const server = await startIn(folder, options);
    const stop = async () => {
      await server.stop();
      await remove();
    };
    return { ...server, stop };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function startIn(folder: string, { workers, env, onLog, signal }: DevServerOptions): Promise<DevServer> {
  const state = join(folder, "state");
  const ownEnv = {
    TMPDIR: folder,
    WRANGLER_LOG: "log",
    WRANGLER_LOG_PATH: join(folder, "logs"),
    // Another wrangler that runs Workers of the same names is none of ours.
    WRANGLER_REGISTRY_PATH: join(folder, "registry"),
  };
  const configs = workers.map((worker) => writeConfig(folder, worker));
  for (const config of configs) migrate(state, config, { cwd: folder, env: ownEnv });
  signal.throwIfAborted();

  const ready: { url?: string | undefined } = {};
  const lines: string[] = [];
  const onLine = (line: string) => {
    const logged = /{"level":.*}/.exec(line)?.[0];
    if (logged !== undefined) return onLog(JSON.parse(logged));
    ready.url ??= readyUrl(line);
    if (line.trim() !== "") lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
  };
  const wrangler = spawnDev({ configs, state, cwd: folder, env: { ...ownEnv, ...env }, onLine });
  const root = wrangler.pid === undefined ? null : processOf(wrangler.pid);
  const below = () => (root === null ? [] : descendants(root));

  const server: Omit<DevServer, "url"> = {
    runtime: () => below().find((each) => isNamed(each, "workerd") && holdsOpen(each, state)),
    killRuntime: (runtime) => {
      if (root !== null) killDescendant(runtime, root);
    },
    lastLines: () => lines.join("\n"),
    stop: () => end(wrangler, below),
  };
  try {
    const last = Date.now() + READY_WITHIN_MS;
    for (;;) {
      if (ready.url !== undefined) return { ...server, url: ready.url };
      if (Date.now() > last || hasEnded(wrangler)) throw new Error(`wrangler is not ready:\n${server.lastLines()}`);
      await pause(LOOK_MS, undefined, { signal });
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

/** @param below what runs below wrangler now. */
async function end(wrangler: ChildProcess, below: () => Process[]): Promise<void> {
  // Each was below this program's wrangler when it was noted. `isAlive` compares its start, so an id used again is
  // spared.
  const ours = new Map<number, Process>();
  const left = (): Process[] => {
    for (const each of below()) ours.set(each.pid, each); // a runtime may just be starting again
    return [...ours.values()].filter(isAlive);
  };
  left();
  wrangler.kill("SIGTERM");
  const last = Date.now() + STOP_WITHIN_MS;
  while ((left().length > 0 || !hasEnded(wrangler)) && Date.now() < last) await pause(LOOK_MS);
  if (!hasEnded(wrangler)) wrangler.kill("SIGKILL");
  for (const { pid } of left()) process.kill(pid, "SIGKILL");
}
