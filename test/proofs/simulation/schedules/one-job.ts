// The one scenario whose faults are enumerated: one job, two consumers, two copies of the delivery at once.

import { type Crossing, type Fault, NumberedPlan, type Outage } from "../platform/faults.ts";
import { Simulation, type Verdict } from "../simulation.ts";

const JOB = { namespace: "alpha", jobId: "job-1" };
const EVENT = "job.completed";
const LATENCY_MS = 5;
/** Milliseconds; longer than every lease, so that what is late meets the attempt after it. */
const LATENESS_MS = 7 * 60_000;

export async function runOneJob(
  { faults = new Map(), outage }: { faults?: ReadonlyMap<number, Fault>; outage?: Outage | undefined },
  tell?: (line: string) => void,
): Promise<{ verdict: Verdict; crossings: Crossing[] }> {
  const plan = new NumberedPlan(faults, outage);
  const simulation = new Simulation({
    plan,
    latency: () => LATENCY_MS,
    lateness: () => LATENESS_MS,
    namespaces: [{ name: JOB.namespace, consumers: ["archive", "index"] }],
    retentionDays: 30,
    // Only an outage can use the attempts up.
    mayFail: ({ claim }) => outage !== undefined && claim.attempt >= (claim.maxAttempts ?? Infinity),
    ...(tell && { tell }),
  });
  simulation.sume.know({ ...JOB, status: "completed", event: EVENT });
  for (let copy = 0; copy < 2; copy++) void simulation.sume.deliver(JOB, EVENT);
  return { verdict: await simulation.finish(), crossings: plan.crossings };
}
