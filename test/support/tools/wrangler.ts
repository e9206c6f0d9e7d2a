// Wrangler as a program that runs and ends. Called by whatever applies migrations or generates types.
// Leaves out `wrangler dev`, which stays: test/support/stack/dev-server.ts.

import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { ROOT, wranglerEnv } from "./wrangler-env.ts";

/** The program's file, for Node. */
export const WRANGLER = resolve(ROOT, "node_modules/wrangler/bin/wrangler.js");

/** Where it runs, and what it gets over the present environment. */
export type WranglerOptions = { cwd?: string; env?: NodeJS.ProcessEnv };

/** Runs one command of wrangler's to its end, in the project's folder by default. `output` is all that it wrote. */
export function runWrangler(
  args: readonly string[],
  { cwd = ROOT, env = {} }: WranglerOptions = {},
): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [WRANGLER, ...args], {
    cwd,
    env: { ...wranglerEnv(), ...env },
    encoding: "utf8",
  });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}
