// What happens to one job of a random schedule, decided before it begins: which events come and how often, who expects them,
// who asks for more.

import { runOnce } from "../platform/production.ts";
import type { Random } from "../platform/random.ts";
import type { Simulation } from "../simulation.ts";
import { serveIn } from "../platform/transport.ts";
import type { Namespace } from "../parties/workers.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Milliseconds until somebody outside who got no answer asks again. */
const ASK_AGAIN_MS = 60_000;
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

function scriptJob(random: Random, index: number, { name: namespace, consumers }: Namespace): Scripted {
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
    plan(0, (simulation) => void expectEvent(simulation, unheardOf, HOUR_MS));
  }
  if (jobId !== "job-shared") {
    plan(0, ({ sume }) => sume.know({ ...job, status: "running", event: EVENT }));
    plan(endsAt, ({ sume }) => sume.know({ ...job, status: "completed", event: EVENT }));
  }
  if (expected) {
    const withinMs = random.between(1, 90) * MINUTE_MS;
    plan(random.between(0, endsAt), async (simulation) => {
      await expectEvent(simulation, job, withinMs);
      simulation.owe(job, "was expected, and ended at Sume");
    });
  }
  if (!expected || random.chance(0.7)) {
    for (let copy = random.between(1, 3); copy > 0; copy--) plan(endsAt + random.between(0, 200), deliver(EVENT));
  }
  if (random.chance(0.4)) plan(endsAt + random.between(0, 3 * HOUR_MS), deliver(EVENT));
  // Perhaps after the job was forgotten.
  if (random.chance(0.15)) plan(endsAt + random.between(DAY_MS / 2, 35 * DAY_MS), deliver(EVENT));
  if (random.chance(0.2)) plan(endsAt + random.between(0, HOUR_MS), deliver(SECOND_EVENT));
  if (random.chance(0.25)) {
    const consumer = random.pick([...consumers, "receiver"]);
    const eventType = random.chance(0.3) ? { eventType: SECOND_EVENT } : {};
    const at = endsAt + random.between(0, 6 * HOUR_MS);
    plan(at, (simulation) => void reopen(simulation, { ...job, actor: "operator", consumer, ...eventType }));
  }
  if (random.chance(0.15)) plan(random.between(0, HOUR_MS), (simulation) => void runDirectly(simulation, job));
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

type JobKey = { namespace: string; jobId: string };

/** Whoever started the job; asks until it has an answer, for only then it may count on the ledger. */
async function expectEvent(simulation: Simulation, job: JobKey, withinMs: number): Promise<void> {
  const ledger = simulation.workers.ledger({ namespace: job.namespace, consumer: "starter" });
  await asked(simulation, () => ledger.expectEvent?.({ jobId: job.jobId, withinMs }));
}

async function reopen(
  { workers, ...simulation }: Simulation,
  args: JobKey & { actor: string; consumer: string; eventType?: string },
): Promise<void> {
  const admin = workers.ledger();
  await asked(simulation, () => admin.reopen?.(args));
}

async function asked({ world }: Pick<Simulation, "world">, ask: () => Promise<unknown> | undefined): Promise<void> {
  for (;;) {
    const answered = await new Promise<boolean>((resolve) => {
      world.scheduler.after(ASK_AGAIN_MS, () => resolve(false));
      ask()?.then(
        () => resolve(true),
        () => resolve(false),
      );
    });
    if (answered) return;
  }
}

/** A Worker without a queue, such as one run by a schedule: tries every half hour until the job is done with. */
async function runDirectly({ world, workers }: Simulation, { namespace, jobId }: JobKey): Promise<void> {
  const machine = { skewMs: 0 };
  for (let round = 0; round < 1_000; round++) {
    const process = world.spawn(`${namespace}/direct`, machine);
    const tooLong = world.scheduler.after(15 * MINUTE_MS, () => process.die());
    const ledger = workers.ledger({ namespace, consumer: "direct" });
    const ran = await serveIn(process, () =>
      runOnce(ledger, { jobId, leaseMs: MINUTE_MS }, (job) => workers.work(job, `${namespace}:${jobId} direct`)),
    );
    tooLong();
    process.die();
    if ("value" in ran && ["done", "completed", "failed", "gave_up"].includes(ran.value.outcome)) return;
    if (world.scheduler.now > DAY_MS / 4 && "value" in ran && ran.value.outcome === "unknown") return;
    await new Promise<void>((resume) => {
      world.scheduler.after(30 * MINUTE_MS, resume);
    });
  }
}
