// What the simulation prints: sums, violations with the way to replay them, and the trace of a replayed run.

import { print } from "./platform/globals.ts";
import type { Verdict } from "./simulation.ts";
import type { Tally } from "./schedules/tally.ts";

export function printTally(title: string, tally: Tally): void {
  const faults = sum(tally.injected.values());
  print(`${title}: ${tally.runs} schedules, ${faults} faults, ${tally.events} events`);
  print(`  consumers' claims: ${tally.completed} completed, ${tally.failed} visibly failed`);
  print(`  ${perAttempt(tally)}`);
  print(`  slowest recovery: ${tally.slowest.ms / 1_000} simulated seconds (${tally.slowest.replay})`);
  for (const [boundary, kinds] of grouped(tally.injected)) print(`  ${boundary.padEnd(9)} ${kinds.join(", ")}`);
}

export function printViolations(tally: Tally): void {
  for (const { replay, what } of tally.violations) {
    print(`VIOLATION  npm run simulate -- ${replay}`);
    for (const line of what) print(`  ${line}`);
  }
}

export function printReplay({ violations, recoveryMs, completed, failed, ...traffic }: Verdict): void {
  for (const violation of violations) print(`VIOLATION ${violation}`);
  print(perAttempt(traffic));
  print(
    `${violations.length} violations, ${completed} claims completed, ${failed} failed, recovery ${recoveryMs / 1_000} s`,
  );
}

/** How many messages it took for an attempt: what is delivered and finds nothing to do was sent in vain. */
export function perAttempt({ deliveries, attempts }: { deliveries: number; attempts: number }): string {
  return `${deliveries} deliveries, ${attempts} attempts, ${ratio(deliveries, attempts).toFixed(2)} deliveries per attempt`;
}

export function ratio(many: number, few: number): number {
  return few === 0 ? 0 : many / few;
}

export function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}

/** `boundary fault` counts by boundary. */
function grouped(injected: ReadonlyMap<string, number>): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [name, times] of [...injected].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const [boundary = "", fault = ""] = name.split(" ");
    groups.set(boundary, [...(groups.get(boundary) ?? []), `${fault} ${times}`]);
  }
  return groups;
}
