// One run of a program on a stack of its own: started, told where it is, and ended in any case. Called by
// test/proofs/crash and test/proofs/load.

import { type DevStack, type DevStackOptions, startDevStack } from "../../support/stack/dev-stack.ts";
import { requireLinux } from "../../support/tools/processes.ts";
import type { Progress } from "../../support/tools/program.ts";

export type RunResult = {
  /** Whether nothing was lost, doubled or answered wrongly. */
  ok: boolean;
  /** The run's last line. */
  summary: string;
};

/** @throws on other systems than Linux, when the Workers cannot be run, or when the signal ends the run. */
export async function runOnStack(
  options: DevStackOptions,
  out: Progress,
  play: (stack: DevStack) => Promise<RunResult>,
): Promise<RunResult> {
  requireLinux();
  const stack = await startDevStack(options);
  try {
    out.tell(`the Workers run at ${stack.server.url}`);
    return await play(stack);
  } catch (error) {
    if (!options.signal.aborted) out.tell(`wrangler said last:\n${stack.server.lastLines()}`);
    throw error;
  } finally {
    await stack.close();
  }
}
