// `npm run simulate`: the production code of all Workers under a scheduler that owns time, chance, transport and queues, and
// lets faults strike at every boundary. Ends with 0 when no promise of the ledger was broken, 1 when one was, 2 for a wrong
// option.

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { tryBreakages } from "./breakages/break.ts";
import { explore, type Exploration } from "./schedules/explore.ts";
import { print } from "./platform/globals.ts";
import { runOutage } from "./schedules/outage.ts";
import { misses } from "./schedules/outage-verdict.ts";
import { runOneJob } from "./schedules/one-job.ts";
import { type Command, readCommand, USAGE } from "./options.ts";
import { runSchedule } from "./schedules/random-schedule.ts";
import { printOutage, printReplay, printTally, printViolations, ratio, sum } from "./report.ts";
import { add, emptyTally } from "./schedules/tally.ts";

type Explored = Awaited<ReturnType<typeof explore>>;

process.exitCode = await run(process.argv.slice(2));

async function run(args: string[]): Promise<number> {
  let command: Command;
  try {
    command = readCommand(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
    return 2;
  }
  switch (command.command) {
    case "help":
      print(USAGE);
      return 0;
    case "breakages":
      return (await tryBreakages()) ? 0 : 1;
    case "outage": {
      const figures = await runOutage(command.options, print);
      const missed = misses(command.options, figures);
      printOutage(command.options, figures, missed);
      return missed.length === 0 ? 0 : 1;
    }
    case "seed":
    case "one-job": {
      const verdict =
        command.command === "seed" ? await runSchedule(command.seed, print) : (await runOneJob(command, print)).verdict;
      printReplay(verdict);
      return verdict.violations.length === 0 ? 0 : 1;
    }
    case "explore":
      return await runExploration(command.what, command.threads ?? availableParallelism());
    default:
      return command satisfies never;
  }
}

async function runExploration(what: Exploration, threads: number): Promise<number> {
  const began = performance.now();
  const [enumerated, random] = [emptyTally(), emptyTally()];
  const shares = await Promise.all(
    Array.from({ length: threads }, (_, index) => inThread(what, { index, of: threads })),
  );
  for (const share of shares) {
    add(enumerated, share.enumerated);
    add(random, share.random);
  }
  const seconds = (performance.now() - began) / 1_000;
  if (what.singles) {
    printTally(`one job, every fault, outage${what.pairs ? " and pair of faults" : ""}`, enumerated);
  }
  if (what.schedules > 0) printTally(`random, seeds from ${what.firstSeed}`, random);
  printViolations(enumerated);
  printViolations(random);
  const violations = enumerated.violations.length + random.violations.length;
  const faults = sum([...enumerated.injected.values(), ...random.injected.values()]);
  const slowest = Math.max(enumerated.slowest.ms, random.slowest.ms) / 1_000;
  print(
    `${enumerated.runs + random.runs} schedules, ${faults} faults, ${violations} violations, ` +
      `${ratio(random.deliveries, random.attempts).toFixed(2)} deliveries per attempt, ` +
      `slowest recovery ${slowest} simulated s, ${seconds.toFixed(1)} s`,
  );
  return violations === 0 ? 0 : 1;
}

function inThread(what: Exploration, share: { index: number; of: number }): Promise<Explored> {
  if (share.of === 1) return explore(what, share);
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("worker.ts", import.meta.url), { workerData: { what, share } });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`a thread ended with ${code}`)));
  });
}
