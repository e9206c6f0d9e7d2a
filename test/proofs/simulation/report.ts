// What the simulation prints: sums, violations with the way to replay them, and the trace of a replayed run.

import { print } from "./platform/globals.ts";
import type { Verdict } from "./simulation.ts";
import type { OutageFigures, OutageOptions } from "./schedules/outage-verdict.ts";
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
  for (const violation of tally.violations) printViolation(violation);
}

function printViolation({ replay, what }: { replay: string; what: readonly string[] }): void {
  print(`VIOLATION  npm run simulate -- ${replay}`);
  for (const line of what) print(`  ${line}`);
}

export function printReplay({ violations, recoveryMs, completed, failed, ...traffic }: Verdict): void {
  for (const violation of violations) print(`VIOLATION ${violation}`);
  print(perAttempt(traffic));
  print(
    `${violations.length} violations, ${completed} claims completed, ${failed} failed, recovery ${recoveryMs / 1_000} s`,
  );
}

/** The last line says it all. */
export function printOutage({ hours, jobs }: OutageOptions, figures: OutageFigures, missed: readonly string[]): void {
  const { completed, failed, deliveries, attempts, alerts, lastMs, peak } = figures;
  if (missed.length > 0) printViolation({ replay: `--outage-hours ${hours} --jobs ${jobs}`, what: missed });
  print(
    `outage ${hours} h: ${said(jobs)} jobs, ${said(completed)} completed, ${said(failed)} failed, ` +
      `${said(deliveries)} deliveries, ${said(attempts)} attempts, ` +
      `${ratio(deliveries, attempts).toFixed(2)} deliveries per attempt, ` +
      `${said(alerts)} alerts (${ratio(alerts, jobs).toFixed(2)} per job), ` +
      `at most ${peak} attempts a second after the end, last completed ${Math.ceil(lastMs / 60_000)} min after the end`,
  );
}

/** Thousands are set apart from 10,000 on. */
function said(count: number): string {
  return count.toLocaleString("en-US", { useGrouping: "min2" });
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
