// Calls one job's object. That the runtime repeats calls by itself is not to be counted on, and after an error the stub is
// broken; every call here is safe to repeat, since a claim and a settle carry their token.

import { objectName } from "../job/job-name.ts";
import type { JobLedger } from "../object/job-ledger.ts";

/** Calls in all. An object that moves or is reset is back within a moment; more would use up the caller's patience. */
const TRIES = 3;
/** Milliseconds before the second try; doubled before each further one. */
const FIRST_PAUSE_MS = 20;

/**
 * Runs `call` on the object of that job, again with a fresh stub while the runtime marks the error as retryable. An
 * overloaded object is left alone: another call would be one more to its load.
 * @throws the last error of the object.
 */
export async function callJob<T>(
  jobs: DurableObjectNamespace<JobLedger>,
  { namespace, jobId }: { namespace: string; jobId: string },
  call: (job: DurableObjectStub<JobLedger>) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return copied(await call(jobs.getByName(objectName(namespace, jobId))));
    } catch (error) {
      if (attempt === TRIES || !isRetryable(error)) throw error;
      await new Promise((resume) => setTimeout(resume, FIRST_PAUSE_MS * 2 ** (attempt - 1)));
    }
  }
}

/** A copy of the answer. The runtime wants what an object answers to be disposed of, and our caller would have to do it. */
function copied<T>(answer: T): T {
  return typeof answer === "object" && answer !== null ? { ...answer } : answer;
}

function isRetryable(error: unknown): boolean {
  const says = (property: string) => error instanceof Error && Reflect.get(error, property) === true;
  return (says("retryable") || says("durableObjectReset")) && !says("overloaded");
}
