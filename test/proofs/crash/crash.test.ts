// The short form of `npm run crash`, as a child process, like a person runs it. Held are its last line, its exit code,
// and that it leaves nothing behind, also when it is interrupted.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "vitest";
import { descendants, isAlive, type Process, processOf } from "../../support/tools/processes.ts";

const MAIN = resolve(import.meta.dirname, "main.ts");
/** Milliseconds; on a machine with nothing else to do it takes a seventh of it. */
const TIMEOUT_MS = 150_000;

/**
 * Runs it to its end; `onLine` may interrupt it. `left` names what is left of it: files, and processes that it had
 * then.
 */
async function run(args: string[], onLine: (line: string, interrupt: () => void) => void = () => undefined) {
  // In place of the system's folder for temporary files, so that what is left in it is this program's.
  const folder = await mkdtemp(join(tmpdir(), "crash-test-"));
  const program = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: TIMEOUT_MS,
  });
  const lines: string[] = [];
  const below: Process[] = [];
  const interrupt = () => {
    const own = program.pid === undefined ? null : processOf(program.pid);
    if (own !== null) below.push(...descendants(own));
    program.kill("SIGINT");
  };
  createInterface({ input: program.stdout }).on("line", (line) => {
    lines.push(line);
    onLine(line, interrupt);
  });
  const code = await new Promise((done) => program.once("close", done));
  const left = [...(await readdir(folder)), ...below.filter(isAlive).map(({ pid }) => `process ${pid}`)];
  await rm(folder, { recursive: true });
  return { code, lines, left };
}

describe.skipIf(process.platform !== "linux").concurrent("npm run crash", { timeout: TIMEOUT_MS }, () => {
  test("after a kill every acknowledged job is finished, once", async ({ expect }) => {
    const { code, lines, left } = await run(["--jobs", "20", "--kills", "1", "--seed", "8"]);
    expect(lines.at(-1)).toMatch(/^crash: 20 jobs, 1 kills, 0 lost, 0 double, \d+ s$/);
    expect([code, left]).toEqual([0, []]);
  });

  test("interrupted, it ends what it started and removes what it wrote", async ({ expect }) => {
    const { code, left } = await run(["--jobs", "5", "--kills", "1"], (line, interrupt) => {
      if (line.includes("the Workers run at")) interrupt();
    });
    expect([code, left]).toEqual([130, []]);
  });

  test("a wrong call is refused", async ({ expect }) => {
    const { code, lines, left } = await run(["--jobs", "none"]);
    expect([code, lines, left]).toEqual([2, [], []]);
  });
});
