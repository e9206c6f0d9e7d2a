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
import { residentMiB } from "../../support/tools/processes.ts";
import type { Progress } from "../../support/tools/program.ts";

export type LoadOptions = { jobs: number; copies: number; concurrency: number };

/** Sume's documented policy, its pause of 30 s made thirty times shorter. */
const POLICY = { attempts: 10, delayMs: 1_000, timeoutMs: 10_000 };
/** Milliseconds from the last answer until every job must be finished: a minute, and another for every 500 jobs. */
const finishedWithinMs = (jobs: number): number => 60_000 * (1 + jobs / 500);

/** @throws as `runOnStack`. */
export async function load(options: LoadOptions, out: Progress, signal: AbortSignal): Promise<RunResult> {
  const { jobs, copies } = options;
  return await runOnStack({ policy: POLICY, signal }, out, async (stack) => {
    await totals({ ...stack, signal });
    const before = memory(stack);
    const jobIds = Array.from({ length: jobs }, (_, index) => `job_${index}`);
    for (const jobId of jobIds) createJob(stack.sume, jobId);

    const answers = await deliverAll(stack, jobIds, options, out, signal);
    out.tell(`all ${jobs * copies} deliveries are answered: ${answers.describe()}`);
    const wait = { withinMs: finishedWithinMs(jobs), onProgress: out.sometimes };
    const { verdicts, strays } = await awaitOutcomes({ ...stack, signal }, jobIds, wait);
    const faults = tellFaults(verdicts, out.tell);
    const once = jobs - faults.length;
    out.tell(`exactly one object and one row: ${once} of ${jobs} jobs; beyond those: ${strays}`);
    out.tell(
      `slowest answer ${answers.slowestMs} ms; the runtime's memory ${before} at the start, ${memory(stack)} now`,
    );
    const ok = faults.length === 0 && strays === 0 && answers.wrong === 0;
    const figures = `${jobs} jobs, ${jobs * copies} deliveries, ${once} once, ${answers.wrong} wrong answers`;
    return { ok, summary: `load: ${figures}, ${out.seconds().toFixed(0)} s` };
  });
}

/** The copies of a job are started one after the other, so that they meet. */
async function deliverAll(
  { sume }: DevStack,
  jobIds: readonly string[],
  { copies, concurrency }: LoadOptions,
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

function memory({ server }: DevStack): string {
  const runtime = server.runtime();
  const resident = runtime === undefined ? null : residentMiB(runtime);
  return resident === null ? "unknown" : `${resident} MiB`;
}
