// Which runs to make: every single fault, every outage and every pair of faults of the one-job scenario, and schedules by
// seed. A share is what one of several threads does of them.

import { BOUNDARIES, type Boundary, type Crossing, type Fault, type Outage } from "../platform/faults.ts";
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

const isBoundary = (name: string): name is Boundary => name in BOUNDARIES;
const OUTAGES: readonly Outage[] = Object.keys(BOUNDARIES)
  .filter(isBoundary)
  .flatMap((boundary) => BOUNDARIES[boundary].map((fault) => ({ boundary, fault })));

type Struck = ReadonlyMap<number, Fault>;

async function enumerate(tally: Tally, pairs: boolean, share: Share): Promise<void> {
  const none = await runOneJob({});
  if (share.index === 0) count(tally, none.verdict, "--faults none");
  for (const [position, outage] of OUTAGES.entries()) {
    if (position % share.of !== share.index) continue;
    count(tally, (await runOneJob({ outage })).verdict, `--outage ${outage.boundary}:${outage.fault}`);
  }
  for (const [position, first] of faultsAfter(none.crossings, new Map()).entries()) {
    if (position % share.of !== share.index) continue;
    if (tally.violations.length >= ENOUGH_VIOLATIONS) return;
    const single = await runOneJob({ faults: first });
    count(tally, single.verdict, replayOf(first));
    if (!pairs) continue;
    for (const both of faultsAfter(single.crossings, first)) {
      if (tally.violations.length >= ENOUGH_VIOLATIONS) return;
      count(tally, (await runOneJob({ faults: both })).verdict, replayOf(both));
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

/** The same of an outage. */
export function parseOutage(text: string): Outage {
  const outage = OUTAGES.find(({ boundary, fault }) => `${boundary}:${fault}` === text);
  if (outage === undefined) throw new Error(`not an outage: ${text}`);
  return outage;
}
