// Waits until every job has come to its end, and says what came of each. Called by test/proofs/crash and test/proofs/load; asks the front
// Worker, and judges by effects.ts.

import { setTimeout as pause } from "node:timers/promises";
import { MOST_JOBS_AT_ONCE, type SeenJob, type SeenTotals } from "../workers/front/src/seen.ts";
import { artifactRequests, judge, type Verdict } from "./effects.ts";
import type { System } from "./system.ts";

/** Milliseconds between two counts, and for one question. */
const LOOK_MS = 1_000;
const ANSWER_WITHIN_MS = 20_000;
/** Every so many counts the jobs are looked at in any case: one that will never finish would keep the counts from being full. */
const COUNTS_PER_LOOK = 15;

export type Outcomes = {
  verdicts: ReadonlyMap<string, Verdict>;
  /** Objects and rows beyond one for each job. */
  strays: number;
};

/** @throws when the Workers do not answer, or with other than 200. */
export async function totals({ server, signal }: Asking): Promise<SeenTotals> {
  return await ask<SeenTotals>(`${server.url}/totals`, signal);
}

type Asking = Pick<System, "server"> & { signal: AbortSignal };

/**
 * Ends when all jobs are finished, or after `withinMs`; then what is not finished is in the verdicts as it was seen last.
 * @throws when the Workers no longer answer at the end, or when the signal ends it.
 */
export async function awaitOutcomes(
  { sume, ...asking }: Pick<System, "sume"> & Asking,
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
    seen.push(...(await ask<SeenJob[]>(`${server.url}/jobs?${ids.join("&")}`, signal)));
  }
  return seen;
}

async function ask<T>(url: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
