// `npm run test:flaws`: do the tests notice what they are for? Makes every flaw of flaws.ts, one at a time, in a copy of the
// project, and runs the tests that must fail of it. A line each; the exit code is 1 when one survives, when the tests fail
// without any flaw, or when a flaw no longer fits the code. `--only NAME`: the flaws whose name holds that text.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../support/tools/wrangler-env.ts";
import type { Flaw } from "./flaw.ts";
import { FLAWS } from "./flaws.ts";
import { isFast, Tree } from "./tree.ts";

/** Copies of the project in which flaws are tried at the same time. */
const TREES = 2;

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const only = readOnly();
const flaws = FLAWS.filter(({ name }) => only === undefined || name.includes(only));

const misfits = flaws.filter((flaw) => occurrences(flaw) !== 1);
for (const flaw of misfits) {
  console.log(`${flaw.name}: its text occurs ${occurrences(flaw)} times in ${flaw.file}, not once`);
}
if (flaws.length === 0) console.log(`no flaw has «${only}» in its name`);
process.exitCode = misfits.length === 0 && flaws.length > 0 && (await tryAll()) ? 0 : 1;

function readOnly(): string | undefined {
  try {
    return parseArgs({ options: { only: { type: "string" } } }).values.only;
  } catch {
    console.error("options: [--only NAME]");
    return process.exit(2);
  }
}

function occurrences({ file, find }: Flaw): number {
  return readFileSync(resolve(ROOT, file), "utf8").split(find).length - 1;
}

async function tryAll(): Promise<boolean> {
  const trees = Array.from({ length: TREES }, () => new Tree());
  const [first] = trees;
  // By itself: with another run beside it, a test that fails may only have run out of time.
  const sound = first !== undefined && (await isSound(first));
  let caught = 0;
  // What takes longest comes first, so that both trees end together. Both take from the same list.
  const left = flaws.toSorted(bySlowness).values();
  await Promise.all(
    trees.map(async (tree) => {
      for (const flaw of left) if (await isCaught(tree, flaw)) caught += 1;
    }),
  );
  console.log(`flaws: caught ${caught} / ${flaws.length}`);
  return sound && caught === flaws.length;
}

/** Whether the tests pass where there is no flaw; without that, their failing says nothing. */
async function isSound(tree: Tree): Promise<boolean> {
  const { failed, passed, trouble } = await tree.run([...new Set(flaws.flatMap(({ tests }) => tests))]);
  if (trouble !== undefined) console.log(`without a flaw: ${trouble}`);
  else if (failed.length > 0) console.log(`without a flaw ${failed.length} tests fail: ${failed.join("; ")}`);
  else console.log(`without a flaw: ${passed} tests pass`);
  return trouble === undefined && failed.length === 0;
}

async function isCaught(tree: Tree, flaw: Flaw): Promise<boolean> {
  const { failed, late, passed, trouble } = await tree.runWith(flaw, flaw.tests);
  const told = flaw.hangs === true ? failed : failed.filter((test) => !late.includes(test));
  const atLeast = flaw.tests.every(isFast) ? "" : "at least ";
  const tests = told.length === 1 ? "1 test" : `${told.length} tests`;
  const found =
    trouble !== undefined
      ? `TELLS NOTHING (${trouble})`
      : told.length > 0
        ? `caught by ${atLeast}${tests}`
        : late.length > 0
          ? `TELLS NOTHING (out of time: ${late.join("; ")})`
          : `SURVIVED ${passed} tests`;
  console.log(`${found}: ${flaw.name}${flaw.peer === undefined ? "" : ` [${flaw.peer}]`}`);
  return trouble === undefined && told.length > 0;
}

/** Tests that start Workers of their own take longest. */
function bySlowness(a: Flaw, b: Flaw): number {
  return slowTests(b) - slowTests(a);
}

function slowTests({ tests }: Flaw): number {
  return tests.filter((test) => !isFast(test)).length;
}
