// What many runs came to, in a form that can be added up and sent between threads.

import type { Verdict } from "../simulation.ts";

/** `replay`: the arguments of `npm run simulate --` that run it again with its trace. */
export type Violation = { replay: string; what: string[] };

export type Tally = {
  runs: number;
  events: number;
  injected: Map<string, number>;
  violations: Violation[];
  slowest: { ms: number; replay: string };
  completed: number;
  failed: number;
  /** Messages handed to consumers, and the attempts that their claims were granted. */
  deliveries: number;
  attempts: number;
};

export function emptyTally(): Tally {
  return {
    runs: 0,
    events: 0,
    injected: new Map(),
    violations: [],
    slowest: { ms: 0, replay: "" },
    completed: 0,
    failed: 0,
    deliveries: 0,
    attempts: 0,
  };
}

export function count(tally: Tally, verdict: Verdict, replay: string): void {
  const { violations, recoveryMs, alerts: _alerts, finished: _finished, ...sums } = verdict;
  add(tally, {
    ...sums,
    runs: 1,
    injected: new Map(sums.injected),
    violations: violations.length === 0 ? [] : [{ replay, what: violations }],
    slowest: { ms: recoveryMs, replay },
  });
}

export function add(tally: Tally, more: Tally): void {
  tally.runs += more.runs;
  tally.events += more.events;
  tally.completed += more.completed;
  tally.failed += more.failed;
  tally.deliveries += more.deliveries;
  tally.attempts += more.attempts;
  tally.violations.push(...more.violations);
  for (const [fault, times] of more.injected) tally.injected.set(fault, (tally.injected.get(fault) ?? 0) + times);
  if (more.slowest.ms > tally.slowest.ms) tally.slowest = more.slowest;
}
