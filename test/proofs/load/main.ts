// `npm run load`: many jobs, each delivered several times at once, over real HTTP, queues and product consumers. Prints
// the answers by status, what came of every job, the slowest answer and the runtime's memory with the
// objects alive in it: at the start, when most lived, and when all have ended. Options: --jobs, --copies
// (deliveries of each), --concurrency (deliveries at a time). The exit code is 1 if a job is unfinished or has not
// exactly one effect in each store. It is 1 as well after an answer other than 202, 200, or 503 with a later success.

import { progress, runProgram } from "../../support/tools/program.ts";
import { load } from "./load.ts";

/** Milliseconds between two lines of progress. */
const TELL_EVERY_MS = 5_000;

const OPTIONS = {
  jobs: { default: 2_000, min: 1, max: 100_000 },
  copies: { default: 3, min: 1, max: 100 },
  concurrency: { default: 50, min: 1, max: 1_000 },
};

await runProgram(OPTIONS, async (option, signal) => {
  const options = { jobs: option("jobs"), copies: option("copies"), concurrency: option("concurrency") };
  const { ok, summary } = await load(options, progress(TELL_EVERY_MS), signal);
  console.log(summary);
  return ok;
});
