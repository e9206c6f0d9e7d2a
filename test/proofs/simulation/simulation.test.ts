// A short simulation: every single fault and outage, and a hundred schedules; and that a seed replays. In processes of their own,
// since the simulation replaces the globals of the process it runs in.

import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MAIN = resolve(import.meta.dirname, "main.ts");
/** Milliseconds; it takes a tenth of that on a machine that is not busy. */
const TIMEOUT_MS = 90_000;
const simulate = async (...args: string[]) =>
  (await promisify(execFile)(process.execPath, [MAIN, ...args], { maxBuffer: 64 * 1_024 * 1_024 })).stdout;

test("no single fault and no random schedule breaks a promise", { timeout: TIMEOUT_MS }, async () => {
  expect(await simulate("--no-pairs", "--schedules", "100")).toContain(" 0 violations");
});

test("a seed replays the same run", { timeout: TIMEOUT_MS }, async () => {
  const first = await simulate("--seed", "17");
  expect(first).toContain("0 violations");
  expect(await simulate("--seed", "17")).toBe(first);
});
