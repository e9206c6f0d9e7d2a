// One run: Sume delivers every job's event several times, so many deliveries at a time. Then all must be finished,
// once. Called by main.ts.
// Leaves out any limit on how long an answer takes, beyond Sume's own 10 s. It would say more of the machine than of
// the Workers.

import type { Attempt } from "../../local/sume/webhooks/deliver.ts";
import { createJob } from "../outcomes/effects.ts";
import { awaitOutcomes, tellFaults, totals } from "../outcomes/outcomes.ts";
import { runOnStack, type RunResult } from "../outcomes/run.ts";
import type { DevStack } from "../../support/stack/dev-stack.ts";
import { atATime } from "../../support/tools/at-a-time.ts";
import type { Progress } from "../../support/tools/program.ts";
import { type Memory, memoryOf, settledMemory } from "./memory.ts";

export type LoadOptions = { jobs: number; copies: number; concurrency: number };

/** Sume's documented policy, its pause of 30 s made thirty times shorter. */
const POLICY = { attempts: 10, delayMs: 1_000, timeoutMs: 10_000 };
/** Milliseconds from the last answer until every job must be finished: a minute, and another for every 500 jobs. */
const finishedWithinMs = (jobs: number): number => 60_000 * (1 + jobs / 500);
/** Deliveries between two looks at the runtime's memory: each reads every file that it holds open. */
const DELIVERIES_PER_LOOK = 100;

/** @throws as `runOnStack`. */
export async function load(options: LoadOptions, out: Progress, signal: AbortSignal): Promise<RunResult> {
  const { jobs, copies } = options;
  return await runOnStack({ policy: POLICY, signal }, out, async (stack) => {
    await totals({ ...stack, signal });
    const before = memory(stack);
    let highest = before;
    const look = () => {
      const now = memory(stack);
      if ((now?.live ?? 0) > (highest?.live ?? 0)) highest = now;
    };
    const jobIds = Array.from({ length: jobs }, (_, index) => `job_${index}`);
    for (const jobId of jobIds) createJob(stack.sume, jobId);

    const answers = await deliverAll(stack, jobIds, { ...options, look }, out, signal);
    out.tell(`all ${jobs * copies} deliveries are answered: ${answers.describe()}`);
    const wait = { withinMs: finishedWithinMs(jobs), onProgress: out.sometimes };
    const { verdicts, strays } = await awaitOutcomes({ ...stack, signal }, jobIds, wait);
    const faults = tellFaults(verdicts, out.tell);
    const once = jobs - faults.length;
    out.tell(`exactly one object and one row: ${once} of ${jobs} jobs; beyond those: ${strays}`);
    out.tell(`slowest answer ${answers.slowestMs} ms`);
    const runtime = stack.server.runtime();
    const settled = runtime === undefined ? null : await settledMemory(runtime, signal);
    out.tell(
      `the runtime's memory: ${describe(before)} at the start, ${describe(highest)} when most lived, ` +
        `${describe(settled)} at last`,
    );
    const ok = faults.length === 0 && strays === 0 && answers.wrong === 0;
    const figures = `${jobs} jobs, ${jobs * copies} deliveries, ${once} once, ${answers.wrong} wrong answers`;
    const kept =
      before === null || settled === null ? "" : `, ${describe(settled)}: ${keptPerJob(before, settled, jobs)}`;
    return { ok, summary: `load: ${figures}, ${out.seconds().toFixed(0)} s${kept}` };
  });
}

/** The copies of a job are started one after the other, so that they meet. */
async function deliverAll(
  { sume }: DevStack,
  jobIds: readonly string[],
  { copies, concurrency, look }: LoadOptions & { look: () => void },
  out: Progress,
  signal: AbortSignal,
): Promise<Answers> {
  const answers = new Answers();
  const total = jobIds.length * copies;
  const deliveries = jobIds.flatMap((jobId) => Array.from({ length: copies }, () => jobId));
  let done = 0;
  await atATime(concurrency, deliveries, async (jobId) => {
    signal.throwIfAborted();
    const { attempts, outcome } = await sume.deliver(jobId, { signal });
    signal.throwIfAborted();
    answers.add(attempts, outcome === "delivered");
    done += 1;
    if (done % DELIVERIES_PER_LOOK === 0) look();
    out.sometimes(`${done} of ${total} deliveries; ${answers.describe()}`);
  });
  return answers;
}

class Answers {
  readonly #byStatus = new Map<string, number>();
  slowestMs = 0;
  /**
   * Attempts without an answer or with one that the receiver should not give here, and deliveries that never succeeded.
   */
  wrong = 0;

  add(attempts: readonly Attempt[], delivered: boolean): void {
    if (!delivered) this.wrong += 1;
    for (const attempt of attempts) {
      const status = attempt.outcome === "answered" ? String(attempt.status) : attempt.error;
      this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
      if (!["202", "200", "503"].includes(status)) this.wrong += 1;
      this.slowestMs = Math.max(this.slowestMs, attempt.ms);
    }
  }

  /** For example `200: 4000, 202: 2000`. */
  describe(): string {
    const sorted = [...this.#byStatus].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([status, count]) => `${status}: ${count}`).join(", ");
  }
}

function memory({ server }: DevStack): Memory | null {
  const runtime = server.runtime();
  return runtime === undefined ? null : memoryOf(runtime);
}

function describe(seen: Memory | null): string {
  return seen === null ? "unknown" : `${seen.mib} MiB with ${seen.live} objects alive`;
}

/** The runtime's allocator gives little back: what is left when no object lives is nobody's, and may be used again. */
function keptPerJob(before: Memory, settled: Memory, jobs: number): string {
  return `${Math.round(((settled.mib - before.mib) * 1_024) / jobs)} KiB a job more than at the start`;
}
