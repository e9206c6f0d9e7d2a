// Waits until every job has come to its end, and says what came of each. Called by test/proofs/crash and
// test/proofs/load. Asks the front Worker, and judges by effects.ts.

import { setTimeout as pause } from "node:timers/promises";
import { MOST_JOBS_AT_ONCE, type SeenJob, type SeenTotals } from "../../support/workers/front/src/seen.ts";
import { artifactRequests, judge, type Verdict } from "./effects.ts";
import type { DevStack } from "../../support/stack/dev-stack.ts";
import { ask } from "../../support/tools/ask.ts";

/** Milliseconds between two counts, and for one question. */
const LOOK_MS = 1_000;
const ANSWER_WITHIN_MS = 20_000;
/**
 * Every so many counts the jobs are looked at in any case. With one that never finishes, the counts would never be
 * full.
 */
const COUNTS_PER_LOOK = 15;

/** Faults that are told one by one. */
export const MOST_TOLD = 20;

export type Fault = { jobId: string } & Exclude<Verdict, { kind: "finished" }>;

export type Outcomes = {
  verdicts: ReadonlyMap<string, Verdict>;
  /** Objects and rows beyond one for each job. */
  strays: number;
};

/** @throws when the Workers do not answer, or with other than 200. */
export async function totals({ server, signal }: Asking): Promise<SeenTotals> {
  return await ask<SeenTotals>(`${server.url}/totals`, { signal, withinMs: ANSWER_WITHIN_MS });
}

type Asking = Pick<DevStack, "server"> & { signal: AbortSignal };

/**
 * Ends when all jobs are finished, or after `withinMs`. What is not finished by then is in the verdicts as it was seen
 * last.
 * @throws when the Workers no longer answer at the end, or when the signal ends it.
 */
export async function awaitOutcomes(
  { sume, ...asking }: Pick<DevStack, "sume"> & Asking,
  jobIds: readonly string[],
  { withinMs, onProgress }: { withinMs: number; onProgress: (line: string) => void },
): Promise<Outcomes> {
  const verdicts = new Map<string, Verdict>();
  const end = Date.now() + withinMs;
  let open = [...jobIds];
  for (let count = 1; ; count += 1) {
    const last = Date.now() > end;
    try {
      const { objects, rows } = await totals(asking);
      onProgress(`${objects} objects and ${rows} rows of ${jobIds.length}`);
      const full = objects >= jobIds.length && rows >= jobIds.length;
      if (full || last || count % COUNTS_PER_LOOK === 0) {
        const seen = await look(asking, open);
        const requests = artifactRequests(sume);
        for (const job of seen) verdicts.set(job.jobId, judge(job, requests));
        open = open.filter((jobId) => verdicts.get(jobId)?.kind === "unfinished");
        if (open.length === 0 || last) {
          return { verdicts, strays: beyond(await totals(asking), jobIds.length) };
        }
      }
    } catch (error) {
      if (last || asking.signal.aborted) throw error;
    }
    await pause(LOOK_MS, undefined, { signal: asking.signal });
  }
}

function beyond({ objects, rows }: SeenTotals, jobs: number): number {
  return Math.max(objects - jobs, 0) + Math.max(rows - jobs, 0);
}

async function look({ server, signal }: Asking, jobIds: readonly string[]): Promise<SeenJob[]> {
  const seen: SeenJob[] = [];
  for (let from = 0; from < jobIds.length; from += MOST_JOBS_AT_ONCE) {
    const ids = jobIds.slice(from, from + MOST_JOBS_AT_ONCE).map((jobId) => `id=${encodeURIComponent(jobId)}`);
    const url = `${server.url}/jobs?${ids.join("&")}`;
    seen.push(...(await ask<SeenJob[]>(url, { signal, withinMs: ANSWER_WITHIN_MS })));
  }
  return seen;
}

/** Tells what is not as it should be, job by job, and answers all of it. */
export function tellFaults(verdicts: Outcomes["verdicts"], tell: (line: string) => void): Fault[] {
  const faults = [...verdicts].flatMap(([jobId, verdict]) =>
    verdict.kind === "finished" ? [] : [{ jobId, ...verdict }],
  );
  for (const { jobId, kind, what } of faults.slice(0, MOST_TOLD)) tell(`${jobId} is ${kind}: ${what}`);
  return faults;
}
