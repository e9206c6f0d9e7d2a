// One run. Sume delivers jobs at random moments while the runtime is killed at others. Then everything is left alone
// until all is finished. A kill loses what the queues held (they live in memory here) and cuts off whatever was under
// way. Sume's retries bring back what was not acknowledged, the ledger's watch and the reconciler what was. Called by
// main.ts.

import { setTimeout as pause } from "node:timers/promises";
import type { Delivery } from "../../local/sume/webhooks/deliver.ts";
import { createJob } from "../outcomes/effects.ts";
import { awaitOutcomes, MOST_TOLD, type Outcomes, tellFaults } from "../outcomes/outcomes.ts";
import { runOnStack, type RunResult } from "../outcomes/run.ts";
import type { DevStack, DevStackOptions } from "../../support/stack/dev-stack.ts";
import { atATime } from "../../support/tools/at-a-time.ts";
import type { Progress } from "../../support/tools/program.ts";
import { killAtRandom } from "./kills.ts";
import { plan, type PlanOptions } from "./plan.ts";

/** Sume's documented policy, its pause of 30 s made ten times shorter. */
const POLICY = { attempts: 10, delayMs: 3_000, timeoutMs: 10_000 };
/**
 * Deliveries at a time, retries included. A slow machine is killed at the same pace, and must not get more than it can
 * take.
 */
const AT_A_TIME = 60;
/** Minutes: 9 s. A ring that a kill lost comes again after 9, 18, 36 … s. */
const WATCH_AFTER_MINUTES = "0.15";
/** The leases here are of seconds, and so is what is waited after them. */
const WATCH_GRACE_MINUTES = "0.1";
/** Milliseconds from the last delivery's end until every job must be finished. */
const FINISHED_WITHIN_MS = 300_000;

/** @throws as `runOnStack`. */
export async function crash(options: PlanOptions, out: Progress, signal: AbortSignal): Promise<RunResult> {
  const { jobs, kills } = options;
  const redispatched = new Set<string>();
  const stackOptions = {
    policy: POLICY,
    vars: { "ledger-service": { WATCH_AFTER_MINUTES, WATCH_GRACE_MINUTES } },
    shortLeases: true,
    onLog: ({ worker, outcome, jobId }) => {
      if (worker === "reconciler" && outcome === "redispatched") redispatched.add(String(jobId));
    },
    signal,
  } satisfies DevStackOptions;
  return await runOnStack(stackOptions, out, async (stack) => {
    const { deliveries, kills: moments } = plan(options);
    const jobIds = [...deliveries.keys()];
    for (const jobId of jobIds) createJob(stack.sume, jobId);

    const acknowledged = new Set<string>();
    const killing = killAtRandom(stack, moments, { acknowledged, jobs, out, signal });
    const onAcknowledged = (jobId: string) => {
      acknowledged.add(jobId);
      out.sometimes(`${acknowledged.size} of ${jobs} jobs acknowledged`);
    };
    const delivering = deliverAll(stack, deliveries, onAcknowledged, signal);
    const [delivered] = await Promise.all([delivering, killing]);
    const gaveUp = jobIds.filter((jobId) => !acknowledged.has(jobId));
    const retried = delivered.filter(({ attempts }) => attempts.length > 1).length;
    out.tell(`Sume is done: ${acknowledged.size} jobs acknowledged, ${retried} of them not at the first attempt`);
    for (const jobId of gaveUp.slice(0, MOST_TOLD)) out.tell(`Sume gave up on ${jobId}`);

    const wait = { withinMs: FINISHED_WITHIN_MS, onProgress: out.sometimes };
    const outcomes = await awaitOutcomes({ ...stack, signal }, [...acknowledged], wait);
    const { lost, double } = count(outcomes, gaveUp.length, out);
    out.tell(tellRecovery(outcomes, redispatched));
    const ok = lost === 0 && double === 0 && gaveUp.length === 0;
    const givenUp = gaveUp.length === 0 ? "" : `, ${gaveUp.length} given up by Sume`;
    const figures = `${jobs} jobs, ${kills} kills, ${lost} lost, ${double} double${givenUp}`;
    return { ok, summary: `crash: ${figures}, ${out.seconds().toFixed(0)} s` };
  });
}

/** Each at its moment, or as soon after it as Sume has a hand free. */
async function deliverAll(
  { sume }: DevStack,
  moments: ReadonlyMap<string, number>,
  onAcknowledged: (jobId: string) => void,
  signal: AbortSignal,
): Promise<Delivery[]> {
  const start = performance.now();
  const inOrder = [...moments].toSorted(([, a], [, b]) => a - b);
  const delivered: Delivery[] = [];
  await atATime(AT_A_TIME, inOrder, async ([jobId, at]) => {
    await pause(Math.max(at - (performance.now() - start), 0), undefined, { signal });
    const delivery = await sume.deliver(jobId, { signal });
    signal.throwIfAborted();
    if (delivery.outcome === "delivered") onAcknowledged(jobId);
    delivered.push(delivery);
  });
  return delivered;
}

/** What Sume gave up on may have left an object and a row all the same. Beyond that each is one too many. */
function count({ verdicts, strays }: Outcomes, gaveUp: number, out: Progress): { lost: number; double: number } {
  const faults = tellFaults(verdicts, out.tell);
  const extra = Math.max(strays - 2 * gaveUp, 0);
  if (extra > 0) out.tell(`${extra} objects or rows are nobody's`);
  const double = faults.filter(({ kind }) => kind === "double").length;
  return { lost: faults.length - double, double: double + extra };
}

function tellRecovery({ verdicts }: Outcomes, redispatched: ReadonlySet<string>): string {
  const takenOver = [...verdicts.values()].filter((verdict) => verdict.kind === "finished" && verdict.attempts > 1);
  return `${redispatched.size} jobs were sent again by the watch, the claims of ${takenOver.length} were taken over`;
}
