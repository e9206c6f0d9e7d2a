// `npm test`: runs vitest, and fails as well when the Workers runtime complained of anything but what the tests
// provoke. The runtime reports every exception that crosses RPC, also one that a test waits for. Those are listed here,
// each with the test that means it to happen. Arguments are vitest's.
//
// What the tests store, thousands of small databases, is kept in memory where the system has a folder for that. On a
// disk each of them waits for its first writes to get there. A runtime that is killed loses neither.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { ROOT, wranglerEnv } from "../tools/wrangler-env.ts";

const ALLOWED = [
  // Refused arguments: the client and the entrypoint are tested with bad ones.
  /^uncaught exception; source = Uncaught \(in promise\); stack = LedgerError: \w+: /,
  // test/unit/entrypoints/ledger.test.ts: a connection to the object.
  /^uncaught exception; source = Uncaught \(in promise\); stack = Error: lost by the test$/,
  // test/unit/object: a renewal, and an alarm, of an object whose values the test has spoiled.
  /^uncaught exception; source = Uncaught \(in promise\); stack = ValiError: .* received "canary-7f3a"$/,
  // test/unit/reconciler/sume.test.ts: an API that cuts connections, and one that nobody serves.
  /^uncaught exception; .*Network connection lost\.$/,
  /^exception = .*: disconnected: (client error \(SendRequest\)|Connection refused .*)$/,
];
/** What may follow one of the above. */
const FOLLOWING = /^ {4}at |^stack: |^\s*$/;
const COMPLAINT = /^(uncaught )?exception\b|\bwarn(ing)?\b|not disposed/i;

/** Of Linux; in a container it may be too small for a run, which needs about 60 MB. */
const IN_MEMORY = "/dev/shm";
const ENOUGH_BYTES = 512 * 1024 ** 2;

const folder = mkdtempSync(join(hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir(), "job-ledger-tests-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const vitest = resolve(ROOT, "node_modules/vitest/vitest.mjs");
const args = [vitest, "run", "-c", "test/vitest.config.ts", ...process.argv.slice(2)];
const colors = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
const child = spawn(process.execPath, args, {
  cwd: ROOT,
  env: { ...wranglerEnv(), ...colors, TMPDIR: folder },
  stdio: ["ignore", "pipe", "pipe"],
});

// Interrupted, vitest ends what it started, and this program after it; else the folder would stay.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => child.kill(name));

/**
 * Milliseconds without a line after which the run is taken to hang. Each test has a limit of its own, well below this.
 */
const SILENCE_MS = 6 * 60_000;
const giveUp = () => {
  console.error(`No test has said anything for ${SILENCE_MS / 60_000} minutes: the run is ended.`);
  child.kill("SIGKILL");
};
let silence = setTimeout(giveUp, SILENCE_MS);

const complaints: string[] = [];
/** Within a complaint that is allowed: its stack follows. */
let following = false;
for (const [input, output] of [
  [child.stdout, process.stdout],
  [child.stderr, process.stderr],
] as const) {
  createInterface({ input }).on("line", (line) => {
    clearTimeout(silence);
    silence = setTimeout(giveUp, SILENCE_MS);
    const allowed = ALLOWED.some((pattern) => pattern.test(line));
    if (allowed || (following && FOLLOWING.test(line))) {
      following = true;
      return;
    }
    following = false;
    if (COMPLAINT.test(line)) complaints.push(line);
    output.write(`${line}\n`);
  });
}
child.on("close", (code) => {
  clearTimeout(silence);
  if (code === 0 && complaints.length > 0) {
    console.error(
      `The tests passed, but the runtime complained of ${complaints.length} things that no test means to happen.`,
    );
  }
  process.exitCode = code === 0 && complaints.length > 0 ? 1 : (code ?? 1);
});

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= ENOUGH_BYTES;
  } catch {
    return false;
  }
}
