// A schedule made of a seed: several jobs in two namespaces, copies, redeliveries, second event types, reopenings, expected
// events whose webhook never comes, work that fails, clocks that disagree and step back, and faults by chance for a while.

import { RandomPlan } from "../platform/faults.ts";
import { NonRetryableError } from "../platform/production.ts";
import { Random } from "../platform/random.ts";
import type { Machine } from "../platform/scheduler.ts";
import { keyOf, Simulation, type Verdict } from "../simulation.ts";
import { type Scripted, script } from "./script.ts";
import type { Work } from "../parties/workers.ts";

const MINUTE_MS = 60_000;
const NAMESPACES = [
  { name: "alpha", consumers: ["archive", "index"] },
  { name: "beta", consumers: ["index", "mail", "notify"] },
];
const FAULT_RATES = [0, 0.01, 0.03, 0.1, 0.25];
/** Milliseconds by which clocks may differ. */
const SKEW_MS = 1_500;
/** A claim has ten attempts; fewer faults cannot use them up. */
const ATTEMPTS = 10;

export async function runSchedule(seed: number, tell?: (line: string) => void): Promise<Verdict> {
  const random = new Random(seed);
  const faultyUntil = random.between(10, 180) * MINUTE_MS;
  const plan = new RandomPlan(random, random.pick(FAULT_RATES), faultyUntil);
  const jobs = script(random, NAMESPACES);
  const skewed = random.chance(0.5);
  const machines: Machine[] = [];
  const simulation = new Simulation({
    plan,
    latency: () => (random.chance(0.02) ? random.between(100, 6_000) : random.between(1, 60)),
    lateness: () => random.pick([20_000, MINUTE_MS, 6 * MINUTE_MS, 20 * MINUTE_MS]),
    namespaces: NAMESPACES,
    retentionDays: random.pick([1, 30]),
    machine: () => {
      const machine = { skewMs: skewed ? random.between(-SKEW_MS, SKEW_MS) : 0 };
      machines.push(machine);
      return machine;
    },
    work: (write) => misbehaving(write, jobs, random),
    mayFail: (name, attempt, struck) => {
      const work = jobs.find((job) => keyOf(job) === name)?.work;
      return work === "impossible" || (attempt >= ATTEMPTS && (work !== "fine" || struck >= ATTEMPTS));
    },
    ...(tell && { tell }),
  });
  for (const job of jobs) job.play(simulation);
  disturb(simulation, random, faultyUntil, machines);
  return await simulation.finish();
}

/** Instances that are evicted, and clocks that step back. */
function disturb({ world, objects }: Simulation, random: Random, until: number, machines: readonly Machine[]): void {
  for (let count = random.between(0, 6); count > 0; count--) {
    world.scheduler.after(random.between(0, until), () => {
      world.disturbed();
      if (random.chance(0.5) && objects.all.length > 0) random.pick(objects.all).crash();
      else if (machines.length > 0) {
        const machine = random.pick(machines);
        machine.skewMs -= random.between(1, SKEW_MS);
        world.trace(() => "     a clock steps back");
      }
    });
  }
}

function misbehaving(write: Work, jobs: readonly Scripted[], random: Random): Work {
  return async (job, key) => {
    const scripted = jobs.find((candidate) => key.startsWith(`${keyOf(candidate)} `));
    // From a moment to longer than a lease.
    await pause(random.chance(0.1) ? random.between(1, 13) * MINUTE_MS : random.between(0, 5_000), job.signal);
    if (scripted?.work === "impossible") throw new NonRetryableError("cannot be done");
    if (scripted?.work === "poison") throw new Error("always fails");
    if (scripted?.work === "moody" && job.attempt < 4) throw new Error("not yet");
    return await write(job, key);
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("the claim was lost")));
    setTimeout(resolve, ms);
  });
}
