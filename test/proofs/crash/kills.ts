// `kill -9` for the runtime, again and again, each time once it has lived a while since its last start. Called by
// crash.ts.

import { setTimeout as pause } from "node:timers/promises";
import type { DevStack } from "../../support/stack/dev-stack.ts";
import { isAlive, type Process } from "../../support/tools/processes.ts";
import type { Progress } from "../../support/tools/program.ts";

/** Milliseconds until a killed runtime must answer again. It takes a second, but much more on a busy machine. */
const RESTARTED_WITHIN_MS = 180_000;
const ANSWER_WITHIN_MS = 10_000;
const LOOK_MS = 100;

type Context = { acknowledged: ReadonlySet<string>; jobs: number; out: Progress; signal: AbortSignal };

/** @throws when the runtime does not come back. */
export async function killAtRandom(
  stack: Pick<DevStack, "server">,
  lives: readonly number[],
  { acknowledged, jobs, out, signal }: Context,
): Promise<void> {
  let killed: Process | undefined;
  for (const [index, life] of lives.entries()) {
    const runtime = await answering(stack, killed, signal);
    await pause(life, undefined, { signal });
    stack.server.killRuntime(runtime);
    killed = runtime;
    const done = `${acknowledged.size} of ${jobs} jobs acknowledged`;
    out.tell(`kill ${index + 1} of ${lives.length}: workerd ${runtime.pid} after ${life} ms; ${done}`);
  }
  await answering(stack, killed, signal);
}

/** The runtime, once it answers and is another than the killed one. */
async function answering(
  stack: Pick<DevStack, "server">,
  killed: Process | undefined,
  signal: AbortSignal,
): Promise<Process> {
  const end = Date.now() + RESTARTED_WITHIN_MS;
  let trouble: unknown = "there is no workerd";
  for (; Date.now() < end; await pause(LOOK_MS, undefined, { signal })) {
    try {
      const response = await fetch(stack.server.url, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
      });
      await response.body?.cancel();
      const runtime = stack.server.runtime();
      trouble = `it answers ${response.status}, and its workerd is ${runtime?.pid ?? "not to be found"}`;
      // The receiver's answer for a path that it does not serve.
      if (response.status !== 404) continue;
      if (runtime !== undefined && runtime.pid !== killed?.pid && isAlive(runtime)) return runtime;
    } catch (error) {
      signal.throwIfAborted();
      trouble = error;
    }
  }
  throw new Error("the runtime did not come back", { cause: trouble });
}
