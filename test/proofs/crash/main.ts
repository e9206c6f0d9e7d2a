// `npm run crash`: jobs are delivered while the runtime is killed again and again. Afterwards every job that was
// acknowledged must be finished, once. Options: --jobs, --kills, --seed (the same moments and order again), --runs (in
// a row, each with the next seed). The last line sums up; the exit code is 1 if a job was lost, doubled or given up.

import { progress, runProgram } from "../../support/tools/program.ts";
import { crash } from "./crash.ts";

/** Milliseconds between two lines of progress. */
const TELL_EVERY_MS = 5_000;

const OPTIONS = {
  jobs: { default: 500, min: 1, max: 10_000 },
  kills: { default: 5, min: 0, max: 100 },
  seed: { default: 1, min: 0, max: 2 ** 31 },
  runs: { default: 1, min: 1, max: 100 },
};

await runProgram(OPTIONS, async (option, signal) => {
  let failed = 0;
  for (let run = 0; run < option("runs"); run += 1) {
    const seed = option("seed") + run;
    const out = progress(TELL_EVERY_MS);
    out.tell(`run ${run + 1} of ${option("runs")}, --seed ${seed}`);
    const { ok, summary } = await crash({ jobs: option("jobs"), kills: option("kills"), seed }, out, signal);
    console.log(summary);
    if (!ok) failed += 1;
  }
  if (option("runs") > 1) console.log(`crash: ${option("runs")} runs, ${failed} failed`);
  return failed === 0;
});
