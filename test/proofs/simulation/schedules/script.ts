// What happens to one job of a random schedule, decided before it begins: which events come and how often, with which bodies,
// who expects them, who asks for more.

import type { Namespace } from "../parties/workers.ts";
import type { Random } from "../platform/random.ts";
import { RECEIVER, type Simulation } from "../simulation.ts";
import {
  abandon,
  abandonDaily,
  cancelExpectation,
  claimWithOneToken,
  expectEvent,
  ingest,
  reopen,
  runDirectly,
} from "./outsiders.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const EVENT = "job.completed";
const SECOND_EVENT = "job.failed";

export type Scripted = {
  namespace: string;
  jobId: string;
  /** How the work of the job behaves. */
  work: "fine" | "moody" | "poison" | "impossible";
  play(simulation: Simulation): void;
};

export function script(random: Random, namespaces: readonly Namespace[]): Scripted[] {
  return Array.from({ length: random.between(1, 5) }, (_, index) => scriptJob(random, index, random.pick(namespaces)));
}

function scriptJob(random: Random, index: number, { name: namespace, consumers, removed = [] }: Namespace): Scripted {
  const expected = random.chance(0.4);
  // The same id in two namespaces is two jobs; Sume's API knows an id once.
  const jobId = !expected && random.chance(0.2) ? "job-shared" : `job-${index}`;
  const job = { namespace, jobId };
  const endsAt = random.between(0, 20 * MINUTE_MS);
  const happenings: { at: number; happen: (simulation: Simulation) => void | Promise<void> }[] = [];
  const plan = (at: number, happen: (simulation: Simulation) => void | Promise<void>) => {
    happenings.push({ at, happen });
  };
  const deliver = (type: string) => (simulation: Simulation) => void simulation.sume.deliver(job, type);

  if (random.chance(0.05)) {
    // Expected by mistake: no such job was ever started.
    const unheardOf = { namespace, jobId: `job-unheard-of-${index}` };
    plan(0, (simulation) => void expectEvent(simulation, unheardOf, { by: "starter", withinMs: HOUR_MS }));
  }
  if (jobId !== "job-shared") {
    plan(0, ({ sume }) => sume.know({ ...job, status: "running", event: EVENT }));
    plan(endsAt, ({ sume }) => sume.know({ ...job, status: "completed", event: EVENT }));
  }
  if (expected) {
    const withinMs = random.between(1, 90) * MINUTE_MS;
    plan(random.between(0, endsAt), async (simulation) => {
      await expectEvent(simulation, job, { by: "starter", withinMs });
      simulation.owe(job, "was expected, and ended at Sume");
    });
    if (random.chance(0.5)) {
      const other = { by: "other-starter", withinMs: random.between(1, 180) * MINUTE_MS };
      const [from, until] = [random.between(0, endsAt), random.between(0, 2 * HOUR_MS)];
      plan(from, (simulation) => void expectEvent(simulation, job, other));
      if (random.chance(0.5)) {
        plan(from + until, (simulation) => void cancelExpectation(simulation, job, other.by));
      }
    }
  }
  if (!expected || random.chance(0.7)) {
    for (let copy = random.between(1, 3); copy > 0; copy--) plan(endsAt + random.between(0, 200), deliver(EVENT));
  }
  if (random.chance(0.4)) plan(endsAt + random.between(0, 3 * HOUR_MS), deliver(EVENT));
  for (let edition = random.chance(0.4) ? random.between(1, 3) : 0; edition > 0; edition--) {
    // While the first consumers are at work, or hours later.
    const at = endsAt + random.between(0, random.chance(0.5) ? 10_000 : 3 * HOUR_MS);
    plan(at, ({ sume }) => {
      sume.renewMedia(job);
      void sume.deliver(job, EVENT);
    });
  }
  if (random.chance(0.15)) {
    plan(endsAt + random.between(0, HOUR_MS), (simulation) => void ingest(simulation, job, EVENT));
  }
  // Perhaps after the job was forgotten.
  if (random.chance(0.15)) plan(endsAt + random.between(DAY_MS / 2, 35 * DAY_MS), deliver(EVENT));
  if (random.chance(0.2)) plan(endsAt + random.between(0, HOUR_MS), deliver(SECOND_EVENT));
  if (random.chance(0.25)) {
    const consumer = random.pick([...consumers, RECEIVER]);
    const eventType = random.chance(0.3) ? { eventType: SECOND_EVENT } : {};
    const refresh = random.chance(0.3);
    const at = endsAt + random.between(0, 6 * HOUR_MS);
    plan(at, (simulation) => void reopen(simulation, { ...job, consumer, ...eventType, refresh }));
  }
  if (random.chance(0.1)) {
    const consumer = random.pick(consumers);
    plan(endsAt + random.between(0, 3 * HOUR_MS), (simulation) => void abandon(simulation, { ...job, consumer }));
  }
  for (const consumer of removed) plan(0, (simulation) => abandonDaily(simulation, { ...job, consumer }));
  if (random.chance(0.15)) plan(random.between(0, HOUR_MS), (simulation) => void runDirectly(simulation, job));
  if (random.chance(0.1)) plan(random.between(0, HOUR_MS), (simulation) => void claimWithOneToken(simulation, job));
  const work = random.chance(0.75) ? "fine" : random.pick(["moody", "poison", "impossible"] as const);
  return {
    ...job,
    work,
    play: (simulation) => {
      for (const { at, happen } of happenings) {
        simulation.world.scheduler.after(at, () => {
          simulation.world.disturbed();
          void happen(simulation);
        });
      }
    },
  };
}
