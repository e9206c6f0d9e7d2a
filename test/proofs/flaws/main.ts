// `npm run test:flaws`: do the tests notice what they are for? Makes every flaw of flaws.ts, one at a time, in a copy of the
// project, and runs the tests that must fail of it. A line each; of what tells nothing a second one, from a run by itself. The
// exit code is 1 when one survives, when the tests fail without any flaw, or when a flaw no longer fits the code.
// `--only NAME`: the flaws whose name holds that text.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../support/tools/wrangler-env.ts";
import type { Flaw } from "./flaw.ts";
import { FLAWS } from "./flaws.ts";
import { isFast, Tree } from "./tree.ts";
import { type Verdict, verdictOf } from "./verdict.ts";

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
  if (first === undefined) return false;
  // By itself: with another run beside it, a test that fails may only have run out of time.
  const sound = await runSound(first);
  const anyway = sound.kind === "failed" ? sound.names : [];
  let caught = 0;
  const again: Flaw[] = [];
  // What takes longest comes first, so that both trees end together. Both take from the same list.
  const left = flaws.toSorted(bySlowness).values();
  await Promise.all(
    trees.map(async (tree) => {
      for (const flaw of left) {
        const verdict = await tryFlaw(tree, flaw, anyway);
        if (verdict.kind === "failed") caught += 1;
        if (verdict.kind === "nothing") again.push(flaw);
      }
    }),
  );
  if (again.length > 0) console.log(`again, each by itself: ${again.length} of which nothing was told`);
  for (const flaw of again) if ((await tryFlaw(first, flaw, anyway)).kind === "failed") caught += 1;
  console.log(`flaws: caught ${caught} / ${flaws.length}`);
  return sound.kind === "passed" && caught === flaws.length;
}

/** Whether the tests pass where there is no flaw; without that, their failing says nothing. On a busy machine one may be late. */
async function runSound(tree: Tree): Promise<Verdict> {
  const verdict = await runSoundOnce(tree);
  if (verdict.kind === "passed") return verdict;
  console.log("without a flaw, once more:");
  return await runSoundOnce(tree);
}

async function runSoundOnce(tree: Tree): Promise<Verdict> {
  const verdict = verdictOf(await tree.run([...new Set(flaws.flatMap(({ tests }) => tests))]), { hangs: true });
  switch (verdict.kind) {
    case "failed":
      console.log(`without a flaw ${verdict.names.length} tests fail: ${verdict.names.join("; ")}`);
      break;
    case "passed":
      console.log(`without a flaw: ${verdict.passed} tests pass`);
      break;
    case "nothing":
      console.log(`without a flaw: ${verdict.why}`);
      break;
    default:
      verdict satisfies never;
  }
  return verdict;
}

async function tryFlaw(tree: Tree, flaw: Flaw, anyway: readonly string[]): Promise<Verdict> {
  const verdict = verdictOf(await tree.runWith(flaw, flaw.tests), { hangs: flaw.hangs === true, anyway });
  console.log(`${told(verdict, flaw)}: ${flaw.name}${flaw.peer === undefined ? "" : ` [${flaw.peer}]`}`);
  return verdict;
}

function told(verdict: Verdict, { tests }: Flaw): string {
  switch (verdict.kind) {
    case "failed": {
      const atLeast = tests.every(isFast) ? "" : "at least ";
      return `caught by ${atLeast}${verdict.names.length === 1 ? "1 test" : `${verdict.names.length} tests`}`;
    }
    case "passed":
      return `SURVIVED ${verdict.passed} tests`;
    case "nothing":
      return `TELLS NOTHING (${verdict.why})`;
    default:
      return verdict satisfies never;
  }
}

/** Tests that start Workers of their own take longest. */
function bySlowness(a: Flaw, b: Flaw): number {
  return slowTests(b) - slowTests(a);
}

function slowTests({ tests }: Flaw): number {
  return tests.filter((test) => !isFast(test)).length;
}
