// Which runs to make: every single fault and every pair of faults of the one-job scenario, and schedules by seed. A share is
// what one of several threads does of them.

import { BOUNDARIES, type Crossing, type Fault } from "./faults.ts";
import { runOneJob } from "./one-job.ts";
import { runSchedule } from "./random-schedule.ts";
import { count, emptyTally, type Tally } from "./tally.ts";

export type Share = { index: number; of: number };
export type Exploration = { singles: boolean; pairs: boolean; firstSeed: number; schedules: number };

/** A run with that many violations behind it shows nothing new. */
const ENOUGH_VIOLATIONS = 5;

export async function explore(what: Exploration, share: Share): Promise<{ enumerated: Tally; random: Tally }> {
  const [enumerated, random] = [emptyTally(), emptyTally()];
  if (what.singles || what.pairs) await enumerate(enumerated, what.pairs, share);
  for (let seed = what.firstSeed + share.index; seed < what.firstSeed + what.schedules; seed += share.of) {
    if (random.violations.length >= ENOUGH_VIOLATIONS) break;
    count(random, await runSchedule(seed), `--seed ${seed}`);
  }
  return { enumerated, random };
}

type Struck = ReadonlyMap<number, Fault>;

async function enumerate(tally: Tally, pairs: boolean, share: Share): Promise<void> {
  const none = await runOneJob(new Map());
  if (share.index === 0) count(tally, none.verdict, "--faults none");
  for (const [position, first] of faultsAfter(none.crossings, new Map()).entries()) {
    if (position % share.of !== share.index) continue;
    if (tally.violations.length >= ENOUGH_VIOLATIONS) return;
    const single = await runOneJob(first);
    count(tally, single.verdict, replayOf(first));
    if (!pairs) continue;
    for (const both of faultsAfter(single.crossings, first)) {
      if (tally.violations.length >= ENOUGH_VIOLATIONS) return;
      count(tally, (await runOneJob(both)).verdict, replayOf(both));
    }
  }
}

/** Each fault that can strike after the given ones, together with them. */
function faultsAfter(crossings: readonly Crossing[], struck: Struck): Struck[] {
  const last = Math.max(-1, ...struck.keys());
  return crossings
    .filter(({ index }) => index > last)
    .flatMap(({ index, boundary }) => BOUNDARIES[boundary].map((fault) => new Map([...struck, [index, fault]])));
}

function replayOf(faults: Struck): string {
  return `--faults ${[...faults].map(([index, fault]) => `${index}:${fault}`).join(",")}`;
}

/** The reverse of what a violation names. @throws on anything else. */
export function parseFaults(text: string): Struck {
  const faults = new Map<number, Fault>();
  const kinds: Fault[] = Object.values(BOUNDARIES).flat();
  for (const part of text === "none" ? [] : text.split(",")) {
    const [index = "", name] = part.split(":");
    const fault = kinds.find((kind) => kind === name);
    if (!/^\d+$/.test(index) || fault === undefined) throw new Error(`not a fault: ${part}`);
    faults.set(Number(index), fault);
  }
  return faults;
}
