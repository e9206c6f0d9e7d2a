// A short simulation: every single fault and outage, and a hundred schedules; that a seed replays; and a dependency that is
// down for six hours. In processes of their own, since the simulation replaces the globals of the process it runs in.

import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { misses, type OutageFigures } from "./schedules/outage-verdict.ts";

const MAIN = resolve(import.meta.dirname, "main.ts");
/** Milliseconds; it takes a tenth of that on a machine that is not busy. */
const TIMEOUT_MS = 90_000;
const LONGEST_OUTPUT = { maxBuffer: 64 * 1_024 * 1_024 };
/** What it prints, whatever its exit code. */
const simulate = (...args: string[]) =>
  new Promise<string>((done) => {
    execFile(process.execPath, [MAIN, ...args], LONGEST_OUTPUT, (_error, stdout) => done(stdout));
  });

test("no single fault and no random schedule breaks a promise", { timeout: TIMEOUT_MS }, async () => {
  expect(await simulate("--no-pairs", "--schedules", "100")).toContain(" 0 violations");
});

test("a seed replays the same run", { timeout: TIMEOUT_MS }, async () => {
  const first = await simulate("--seed", "17");
  expect(first).toContain("0 violations");
  expect(await simulate("--seed", "17")).toBe(first);
});

test(
  "jobs that came while a dependency was down for six hours complete by themselves",
  { timeout: TIMEOUT_MS },
  async () => {
    expect(await simulate("--outage-hours", "6", "--jobs", "20")).toContain("20 jobs, 20 completed, 0 failed");
  },
);

const GOOD: OutageFigures = {
  violations: [],
  completed: 20,
  failed: 0,
  deliveries: 150,
  attempts: 100,
  alerts: 0,
  lastMs: 0,
  peak: 1,
};

test.each([
  ["all that is asked for", {}, []],
  ["a message too many", { deliveries: 151 }, ["151 deliveries for 100 attempts"]],
  ["a job that is not completed", { completed: 19 }, ["19 of 20 jobs completed"]],
  ["a claim that failed", { failed: 1 }, ["1 claims failed"]],
  ["an alert", { alerts: 1 }, ["1 alerts"]],
  ["a promise that is broken", { violations: ["forgotten"] }, ["forgotten"]],
])("what an outage with %s misses", (_, figures, missed) => {
  expect(misses({ hours: 6, jobs: 20 }, { ...GOOD, ...figures })).toEqual(missed);
});
