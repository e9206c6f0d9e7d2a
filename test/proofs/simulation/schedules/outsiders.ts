// Callers of the ledger that have no queue: whoever started a job and expects its event, operators, a Worker run by a schedule,
// and one that claims with the same token for ever. Each asks until it has an answer.

import { runOnce } from "../platform/production.ts";
import { serveIn } from "../platform/transport.ts";
import { keyOf, type Simulation } from "../simulation.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Milliseconds until somebody outside who got no answer asks again. */
const ASK_AGAIN_MS = MINUTE_MS;
/** Milliseconds between two claims with one token; longer than its lease. */
const CLAIM_AGAIN_MS = 2 * MINUTE_MS;
/** Milliseconds from which on nobody asks any more for a job that the ledger does not know. */
const PATIENCE_MS = DAY_MS / 4;
/** Days on which an operator looks for jobs that wait for a consumer that was removed: longer than any event comes. */
const WATCHFUL_DAYS = 45;
/** Attempts that `stubborn` allows itself. */
const STUBBORN_ATTEMPTS = 3;

export type JobKey = { namespace: string; jobId: string };

/** Consumers without a queue. */
export const [DIRECT, STUBBORN] = ["direct", "stubborn"];

/** Whoever started the job; only once it has an answer it may count on the ledger. */
export async function expectEvent(
  simulation: Simulation,
  job: JobKey,
  { by, withinMs }: { by: string; withinMs: number },
): Promise<void> {
  const ledger = simulation.workers.ledger({ namespace: job.namespace, consumer: by });
  await asked(simulation, () => ledger.expectEvent?.({ jobId: job.jobId, withinMs }));
}

export async function cancelExpectation(simulation: Simulation, job: JobKey, by: string): Promise<void> {
  const ledger = simulation.workers.ledger({ namespace: job.namespace, consumer: by });
  await asked(simulation, () => ledger.cancelExpectation?.({ jobId: job.jobId }));
}

export async function reopen(
  simulation: Simulation,
  args: JobKey & { consumer: string; eventType?: string; refresh?: boolean },
): Promise<void> {
  const admin = simulation.workers.ledger();
  await asked(simulation, () => admin.reopen?.({ ...args, actor: "operator" }));
}

export async function abandon(simulation: Simulation, args: JobKey & { consumer: string }): Promise<void> {
  const admin = simulation.workers.ledger();
  const answer = await asked(simulation, () => admin.abandon?.({ ...args, actor: "operator" }));
  if (outcomeOf(answer) === "abandoned") simulation.world.disturbed();
}

/** A Worker that has asked Sume by itself. */
export async function ingest(simulation: Simulation, job: JobKey, eventType: string): Promise<void> {
  const event = simulation.sume.ended(job, eventType);
  await asked(simulation, () => simulation.workers.intake(job.namespace).ingest?.({ ...job, event }));
}

/** Once a day abandons a consumer that was removed, wherever a job waits for it: `reopen` and late events make it wait again. */
export function abandonDaily(simulation: Simulation, args: JobKey & { consumer: string }): void {
  for (let day = 1; day <= WATCHFUL_DAYS; day++) {
    simulation.world.scheduler.after(day * DAY_MS, () => void abandon(simulation, args));
  }
}

/** A Worker without a queue, such as one run by a schedule: tries every half hour until the job is done with. */
export async function runDirectly({ world, workers }: Simulation, job: JobKey): Promise<void> {
  const machine = { skewMs: 0 };
  const { namespace, jobId } = job;
  for (let round = 0; round < 1_000; round++) {
    const process = world.spawn(`${namespace}/${DIRECT}`, machine);
    const tooLong = world.scheduler.after(15 * MINUTE_MS, () => process.die());
    const ledger = workers.ledger({ namespace, consumer: DIRECT });
    const ran = await serveIn(process, () =>
      runOnce(ledger, { jobId, leaseMs: MINUTE_MS }, (work) => workers.work(work, `${keyOf(job)} ${DIRECT}`)),
    );
    tooLong();
    process.die();
    if ("value" in ran && ["done", "completed", "failed", "gave_up"].includes(ran.value.outcome)) return;
    if (world.scheduler.now > PATIENCE_MS && "value" in ran && ran.value.outcome === "unknown") return;
    await pause({ world }, 30 * MINUTE_MS);
  }
}

/** Claims and never settles, as a caller that crashes does, each time with the token that it began with. */
export async function claimWithOneToken(simulation: Simulation, { namespace, jobId }: JobKey): Promise<void> {
  const ledger = simulation.workers.ledger({ namespace, consumer: STUBBORN });
  const args = { jobId, token: `${STUBBORN}-${jobId}`, leaseMs: MINUTE_MS, maxAttempts: STUBBORN_ATTEMPTS };
  for (;;) {
    const outcome = outcomeOf(await asked(simulation, () => ledger.claim?.(args)));
    if (outcome === "failed") return;
    if (outcome === "unknown" && simulation.world.scheduler.now > PATIENCE_MS) return;
    await pause(simulation, CLAIM_AGAIN_MS);
  }
}

/** The first answer that gets through. */
async function asked({ world }: Pick<Simulation, "world">, ask: () => Promise<unknown> | undefined): Promise<unknown> {
  for (;;) {
    const answer = await new Promise<{ value: unknown } | null>((resolve) => {
      world.scheduler.after(ASK_AGAIN_MS, () => resolve(null));
      ask()?.then(
        (value) => resolve({ value }),
        () => resolve(null),
      );
    });
    if (answer !== null) return answer.value;
  }
}

function pause({ world }: Pick<Simulation, "world">, ms: number): Promise<void> {
  return new Promise((resume) => {
    world.scheduler.after(ms, resume);
  });
}

function outcomeOf(answer: unknown): unknown {
  return typeof answer === "object" && answer !== null && "outcome" in answer ? answer.outcome : undefined;
}
