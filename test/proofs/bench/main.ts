// `npm run bench`: how close the ledger is to the platform's floor and to what one would write otherwise. It also makes
// the bill. It shows ratios only, of figures taken in turn in one workerd. Options: --quick (under a minute), --json
// (one document on stdout, progress on stderr), --only (one part). The exit code is 1 if something that was counted is
// wrong: rows, a second «first», an answer. Missed targets are told, and change nothing.

import { parseArgs } from "node:util";
import { progress, runInterruptible, UsageError } from "../../support/tools/program.ts";
import { bench, type BenchOptions, isPartName, PART_NAMES } from "./bench.ts";
import { renderPart } from "./measure/table.ts";

/** Milliseconds between two lines of progress. */
const TELL_EVERY_MS = 2_000;

await runInterruptible(async (signal) => {
  const { json, ...options } = readOptions();
  const report = await bench(options, progress(TELL_EVERY_MS, console.error), signal);
  if (json) {
    console.log(JSON.stringify(report, null, 2));
    return report.ok;
  }
  console.log(
    "Each line compares two things that run in turn: «0.57 × its rate» is 57 calls in the time of 100, «× its time» is better below 1.",
  );
  for (const part of Object.values(report.parts)) console.log(["", ...renderPart(part)].join("\n"));
  const { met, missed } = report.targets;
  console.log(`\nbench: ${met.length} targets met, ${missed.length} missed (which fails nothing), ${report.seconds} s`);
  for (const target of missed) console.log(`  missed: ${target}`);
  if (!report.ok) console.log("  something that was counted is not as it should be: see above");
  return report.ok;
});

function readOptions(): BenchOptions & { json: boolean } {
  const usage = `options: [--quick] [--json] [--only ${PART_NAMES.join("|")}]`;
  let values: { quick: boolean; json: boolean; only?: string | undefined };
  try {
    const flag = { type: "boolean", default: false } as const;
    ({ values } = parseArgs({ options: { quick: flag, json: flag, only: { type: "string" } }, strict: true }));
  } catch {
    throw new UsageError(usage);
  }
  const { quick, json, only } = values;
  if (only === undefined) return { quick, json, only: PART_NAMES };
  if (!isPartName(only)) throw new UsageError(usage);
  return { quick, json, only: [only] };
}
