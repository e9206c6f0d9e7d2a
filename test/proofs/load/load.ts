// One run: Sume delivers every job's event several times, so many deliveries at a time; then all must be finished, once. Called
// by main.ts.
// Leaves out any limit on how long an answer takes, beyond Sume's own 10 s: it says more of the machine than of the Workers.

import type { Attempt } from "../../local/sume/webhooks/deliver.ts";
import { createJob } from "../../support/stack/effects.ts";
import { awaitOutcomes, totals } from "../../support/stack/outcomes.ts";
import type { Progress } from "../../support/stack/program.ts";
import { residentMiB } from "../../support/stack/processes.ts";
import { startSystem, type System } from "../../support/stack/system.ts";

export type LoadOptions = { jobs: number; copies: number; concurrency: number };

/** Sume's documented policy, its pause of 30 s made thirty times shorter. */
const POLICY = { attempts: 10, delayMs: 1_000, timeoutMs: 10_000 };
/** Milliseconds from the last answer until every job must be finished: a minute, and as long again for every 500 jobs. */
const finishedWithinMs = (jobs: number): number => 60_000 * (1 + jobs / 500);
/** Faults that are told one by one. */
const MOST_TOLD = 20;

/** @throws when the Workers cannot be run, or when the signal ends the run. */
export async function load(
  options: LoadOptions,
  out: Progress,
  signal: AbortSignal,
): Promise<{ ok: boolean; summary: string }> {
  const { jobs, copies } = options;
  const system = await startSystem({ policy: POLICY, signal });
  try {
    out.tell(`the Workers run at ${system.server.url}`);
    await totals({ ...system, signal });
    const before = memory(system);
    const jobIds = Array.from({ length: jobs }, (_, index) => `job_${index}`);
    for (const jobId of jobIds) createJob(system.sume, jobId);

    const answers = await deliverAll(system, jobIds, options, out, signal);
    out.tell(`all ${jobs * copies} deliveries are answered: ${answers.describe()}`);
    const wait = { withinMs: finishedWithinMs(jobs), onProgress: out.sometimes };
    const { verdicts, strays } = await awaitOutcomes({ ...system, signal }, jobIds, wait);
    const faults = [...verdicts].flatMap(([jobId, verdict]) =>
      verdict.kind === "finished" ? [] : [{ jobId, ...verdict }],
    );
    for (const { jobId, kind, what } of faults.slice(0, MOST_TOLD)) out.tell(`${jobId} is ${kind}: ${what}`);
    const once = jobs - faults.length;
    out.tell(`exactly one object and one row: ${once} of ${jobs} jobs; beyond those: ${strays}`);
    out.tell(
      `slowest answer ${answers.slowestMs} ms; the runtime's memory ${before} at the start, ${memory(system)} now`,
    );
    const ok = faults.length === 0 && strays === 0 && answers.wrong === 0;
    const figures = `${jobs} jobs, ${jobs * copies} deliveries, ${once} once, ${answers.wrong} wrong answers`;
    return { ok, summary: `load: ${figures}, ${out.seconds().toFixed(0)} s` };
  } catch (error) {
    if (!signal.aborted) out.tell(`wrangler said last:\n${system.server.lastLines()}`);
    throw error;
  } finally {
    await system.close();
  }
}

/** The copies of a job are started one after the other, so that they meet. */
async function deliverAll(
  { sume }: System,
  jobIds: readonly string[],
  { copies, concurrency }: LoadOptions,
  out: Progress,
  signal: AbortSignal,
): Promise<Answers> {
  const answers = new Answers();
  const total = jobIds.length * copies;
  const waiting = jobIds.flatMap((jobId) => Array.from({ length: copies }, () => jobId)).values();
  let done = 0;
  const deliverInTurn = async () => {
    for (const jobId of waiting) {
      signal.throwIfAborted();
      const { attempts, outcome } = await sume.deliver(jobId, { signal });
      signal.throwIfAborted();
      answers.add(attempts, outcome === "delivered");
      done += 1;
      out.sometimes(`${done} of ${total} deliveries; ${answers.describe()}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, deliverInTurn));
  return answers;
}

class Answers {
  readonly #byStatus = new Map<string, number>();
  slowestMs = 0;
  /** Attempts without an answer or with one that the receiver should not give here, and deliveries that never succeeded. */
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

function memory({ server }: System): string {
  const runtime = server.runtime();
  const resident = runtime === undefined ? null : residentMiB(runtime);
  return resident === null ? "unknown" : `${resident} MiB`;
}
