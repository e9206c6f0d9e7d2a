// A schedule made of a seed: several jobs in two namespaces, copies, redeliveries with other bodies, second event types,
// reopenings, consumers that were removed, expected events whose webhook never comes, work that fails, dependencies that are
// down for hours, clocks that disagree and step back, and faults by chance for a while.

import type { Namespace } from "../parties/workers.ts";
import { RandomPlan } from "../platform/faults.ts";
import { Random } from "../platform/random.ts";
import type { Machine } from "../platform/scheduler.ts";
import { keyOf, Simulation, type Verdict } from "../simulation.ts";
import { STUBBORN } from "./outsiders.ts";
import { script } from "./script.ts";
import { Dependencies, type Downtime, misbehaving } from "./work.ts";

const MINUTE_MS = 60_000;
const NAMESPACES = [
  { name: "alpha", consumers: ["archive", "index"] },
  { name: "beta", consumers: ["index", "mail", "notify"] },
];
const FAULT_RATES = [0, 0.01, 0.03, 0.1, 0.25];
/** Milliseconds by which clocks may differ. */
const SKEW_MS = 1_500;
/** Minutes that a dependency is down at most: a day. Attempts must outlast it where nothing else uses them up. */
const LONGEST_DOWNTIME_MINUTES = 24 * 60;

export async function runSchedule(seed: number, tell?: (line: string) => void): Promise<Verdict> {
  const random = new Random(seed);
  const faultyUntil = random.between(10, 180) * MINUTE_MS;
  const plan = new RandomPlan(random, random.pick(FAULT_RATES), faultyUntil);
  const namespaces = withoutSome(random);
  const jobs = script(random, namespaces);
  const downtimes = random.chance(0.3) ? [downtime(random)] : [];
  const dependencies = new Dependencies(downtimes, () => simulation.world.scheduler.now);
  const skewed = random.chance(0.5);
  const machines: Machine[] = [];
  const simulation = new Simulation({
    plan,
    random,
    latency: () => (random.chance(0.02) ? random.between(100, 6_000) : random.between(1, 60)),
    lateness: () => random.pick([20_000, MINUTE_MS, 6 * MINUTE_MS, 20 * MINUTE_MS]),
    namespaces,
    retentionDays: random.pick([1, 30]),
    machine: () => {
      const machine = { skewMs: skewed ? random.between(-SKEW_MS, SKEW_MS) : 0 };
      machines.push(machine);
      return machine;
    },
    work: (write) => misbehaving(write, jobs, { random, dependencies }),
    mayFail: ({ name, consumer, claim, faults }) => {
      const work = jobs.find((job) => keyOf(job) === name)?.work;
      if (work === "impossible") return true;
      if (claim.attempt < (claim.maxAttempts ?? Infinity)) return false;
      // That a dependency is down must not use the attempts up; together with faults it may.
      const causes = faults === 0 ? 0 : faults + dependencies.refusedOf(`${name} ${consumer}`);
      return consumer === STUBBORN || work !== "fine" || causes >= claim.attempt;
    },
    ...(tell && { tell }),
  });
  for (const job of jobs) job.play(simulation);
  for (const { until } of downtimes) simulation.world.scheduler.after(until, () => simulation.world.disturbed());
  disturb(simulation, random, faultyUntil, machines);
  return await simulation.finish();
}

/** The namespaces, perhaps with a consumer whose Worker was removed. */
function withoutSome(random: Random): Namespace[] {
  return NAMESPACES.map((namespace) =>
    random.chance(0.05) ? { ...namespace, removed: [random.pick(namespace.consumers)] } : namespace,
  );
}

/** What one consumer of a namespace needs, down from some moment on. */
function downtime(random: Random): Downtime {
  const { name, consumers } = random.pick(NAMESPACES);
  const consumer = random.pick(consumers);
  const from = random.between(0, 60) * MINUTE_MS;
  return {
    concerns: (key) => key.startsWith(`${name}:`) && key.endsWith(` ${consumer}`),
    from,
    until: from + random.between(30, LONGEST_DOWNTIME_MINUTES) * MINUTE_MS,
  };
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
