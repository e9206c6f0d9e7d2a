// Jobs that arrive while what one of two consumers needs is down for hours; all else works. Afterwards everything must
// complete without a person, and the waiting must not multiply the messages.

import { configuredQueue } from "../platform/queue-settings.ts";
import { Random } from "../platform/random.ts";
import { keyOf, Simulation } from "../simulation.ts";
import type { OutageFigures, OutageOptions } from "./outage-verdict.ts";
import { Dependencies, pause } from "./work.ts";

const HOUR_MS = 60 * 60_000;
const NAMESPACE = "default";
/** The consumer whose dependency is down, and one that works. */
const STRICKEN = "artifact-archive";
const CONSUMERS = [STRICKEN, "job-index"];
const EVENT = "job.completed";
/** Per job, and per hour of the outage besides; many times what an attempt every few minutes takes. */
const MOST_EVENTS = 1_000;

export async function runOutage({ hours, jobs }: OutageOptions, tell: (line: string) => void): Promise<OutageFigures> {
  const random = new Random(hours);
  const endsAt = hours * HOUR_MS;
  const dependencies = new Dependencies(
    [{ concerns: isOfStricken, from: 0, until: endsAt }],
    () => simulation.world.scheduler.now,
  );
  const simulation: Simulation = new Simulation({
    plan: { at: () => null },
    latency: () => random.between(2, 50),
    lateness: () => 0,
    random,
    namespaces: [
      {
        name: NAMESPACE,
        consumers: CONSUMERS,
        queues: new Map(CONSUMERS.map((consumer) => [consumer, configuredQueue(consumer)])),
      },
    ],
    retentionDays: 30,
    work: (write) => async (job, key) => {
      await pause(random.between(100, 2_000), job.signal);
      dependencies.use(key);
      return await write(job, key);
    },
    // It is judged by the figures.
    mayFail: () => true,
    mostEvents: jobs * (1 + hours) * MOST_EVENTS,
  });
  const { scheduler } = simulation.world;
  const jobIds = Array.from({ length: jobs }, (_, index) => ({ namespace: NAMESPACE, jobId: `job-${index}` }));
  for (const [index, job] of jobIds.entries()) {
    scheduler.after((index * endsAt) / jobs, () => void simulation.sume.deliver(job, EVENT));
  }
  scheduler.after(endsAt, () => simulation.world.disturbed());

  const bySecond = new Map<number, number>();
  simulation.onAttempt = (_job, consumer) => {
    if (consumer !== STRICKEN || scheduler.now < endsAt) return;
    const second = Math.floor(scheduler.now / 1_000);
    bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
  };
  const traffic = () => {
    const each = jobIds.map((job) => simulation.trafficOf(keyOf(job), STRICKEN));
    return {
      deliveries: each.reduce((total, { deliveries }) => total + deliveries, 0),
      attempts: each.reduce((total, { attempts }) => total + attempts, 0),
    };
  };
  const progress = (hour: number) => {
    const { deliveries, attempts } = traffic();
    tell(`${hour} h: ${simulation.finishedAt.size} jobs finished, ${deliveries} deliveries, ${attempts} attempts`);
    if (hour < hours || simulation.finishedAt.size < jobs) scheduler.after(HOUR_MS, () => progress(hour + 1));
  };
  scheduler.after(HOUR_MS, () => progress(1));
  const { violations, finished, failed, alerts } = await simulation.finish();
  return {
    violations,
    completed: finished,
    failed,
    ...traffic(),
    alerts,
    lastMs: Math.max(...simulation.finishedAt.values()) - endsAt,
    peak: Math.max(0, ...bySecond.values()),
  };
}

function isOfStricken(key: string): boolean {
  return key.endsWith(` ${STRICKEN}`);
}
