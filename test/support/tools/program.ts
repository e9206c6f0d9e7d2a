// What programs for people share as programs: options that are whole numbers, progress, Ctrl-C, the exit code. Called
// by npm start and the programs in test/proofs.

import { parseArgs } from "node:util";

/** A wrong call; the message says how to call. */
export class UsageError extends Error {}

type Option = { default: number; min: number; max: number };

/** 128 and the number of the signal, as shells have it. */
const EXIT_INTERRUPTED = 130;

/** Runs `main` with options that are whole numbers; else as `runInterruptible`. */
export async function runProgram<Name extends string>(
  options: Record<Name, Option>,
  main: (option: (name: Name) => number, signal: AbortSignal) => Promise<boolean>,
): Promise<void> {
  await runInterruptible(async (signal) => {
    const values = readOptions(options);
    return await main((name) => values.get(name) ?? options[name].default, signal);
  });
}

/**
 * Runs `main`. The exit code is 0 if it answers true, and 1 if it answers false or throws. A `UsageError` makes it 2.
 * Ctrl-C aborts the signal and waits until `main` has ended what it started.
 */
export async function runInterruptible(main: (signal: AbortSignal) => Promise<boolean>): Promise<void> {
  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => interrupted.abort());
  try {
    process.exitCode = (await main(interrupted.signal)) ? 0 : 1;
  } catch (error) {
    process.exitCode = error instanceof UsageError ? 2 : 1;
    if (!interrupted.signal.aborted) console.error(error instanceof UsageError ? error.message : error);
  }
  if (interrupted.signal.aborted) process.exitCode = EXIT_INTERRUPTED;
}

export type Progress = { tell: (line: string) => void; sometimes: (line: string) => void; seconds: () => number };

/**
 * Writes lines with the seconds since it was made; `sometimes` leaves out what comes within `everyMs` of the line
 * before.
 */
export function progress(everyMs: number, write: (line: string) => void = console.log): Progress {
  const start = performance.now();
  let lastAt = Number.NEGATIVE_INFINITY;
  const seconds = () => (performance.now() - start) / 1_000;
  const tell = (line: string) => {
    lastAt = performance.now();
    write(`${seconds().toFixed(1).padStart(6)} s  ${line}`);
  };
  const sometimes = (line: string) => {
    if (performance.now() - lastAt >= everyMs) tell(line);
  };
  return { tell, sometimes, seconds };
}

function readOptions(options: Record<string, Option>): ReadonlyMap<string, number> {
  const entries = Object.entries(options);
  const usage = `options: ${entries.map(([name, option]) => `[--${name} ${option.default}]`).join(" ")}`;
  let given: Record<string, unknown>;
  try {
    const config = Object.fromEntries(entries.map(([name]) => [name, { type: "string" as const }]));
    given = parseArgs({ options: config, strict: true }).values;
  } catch {
    throw new UsageError(usage);
  }
  return new Map(
    entries.map(([name, { default: fallback, min, max }]) => {
      const text = given[name] ?? String(fallback);
      const value = Number(text);
      if (typeof text === "string" && /^\d+$/.test(text) && value >= min && value <= max) return [name, value];
      throw new UsageError(`--${name} must be a whole number from ${min} to ${max}; ${usage}`);
    }),
  );
}
