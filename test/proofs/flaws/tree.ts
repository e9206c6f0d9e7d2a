// A copy of the project in a temporary folder, in which a file may be spoiled and tests run while the project itself stays
// as it is. `node_modules` is the project's own, linked. Called by main.ts only.

import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT, wranglerEnv } from "../../support/tools/wrangler-env.ts";
import type { Report } from "./verdict.ts";

/** Milliseconds, and as many again for each test file; tests that take longer are ended, and tell nothing. */
const LONGEST_RUN_MS = 150_000;

/** The names of the tests to run: not of one that takes as long as all others together, and is there for its load. */
const NAMES = "^(?!1,000 finished jobs)";

/** Tests inside workerd; the others start Workers of their own. */
export function isFast(test: string): boolean {
  return test.startsWith("test/unit/");
}

/** Ends a run at the first failure; slow tests may wait for a minute each. */
const STOP = new URL("stop-at-failure.ts", import.meta.url);

export class Tree {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "job-ledger-flaws-")));

  /** Copies what Git knows or would add, as it is now. The copy is removed when the program ends, however it ends. */
  constructor() {
    process.once("exit", () => rmSync(this.#folder, { recursive: true, force: true }));
    const listed = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`);
    for (const path of listed.stdout.split("\0")) {
      const from = resolve(ROOT, path);
      if (path !== "" && existsSync(from)) cpSync(from, join(this.#folder, path), { recursive: true });
    }
    symlinkSync(realpathSync(resolve(ROOT, "node_modules")), join(this.#folder, "node_modules"), "junction");
  }

  /** Runs the test files with that change made; then the file is as it was. Slow tests end at the first that fails. */
  async runWith(
    { file, find, replace }: { file: string; find: string; replace: string },
    tests: readonly string[],
  ): Promise<Report | null> {
    const path = join(this.#folder, file);
    const sound = readFileSync(path, "utf8");
    try {
      writeFileSync(
        path,
        sound.replace(find, () => replace),
      );
      return await this.run(tests, tests.every(isFast) ? [] : [`--reporter=${fileURLToPath(STOP)}`]);
    } finally {
      writeFileSync(path, sound);
    }
  }

  /** vitest's report, or `null` where the tests did not come to an end. */
  async run(tests: readonly string[], more: readonly string[] = []): Promise<Report | null> {
    const report = join(this.#folder, "report.json");
    rmSync(report, { force: true });
    const vitest = join(this.#folder, "node_modules/vitest/vitest.mjs");
    const projects = tests.every(isFast) ? ["--project=workerd"] : [];
    const options = ["-c", "test/vitest.config.ts", "--reporter=json", `--outputFile=${report}`, "-t", NAMES];
    await ended(
      [vitest, "run", ...options, ...projects, ...more, ...tests],
      this.#folder,
      LONGEST_RUN_MS * (1 + tests.length),
    );
    return existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : null;
  }
}

/** Runs Node with these arguments to its end, or to that time; what it prints is left out. */
function ended(args: readonly string[], cwd: string, ms: number): Promise<void> {
  return new Promise((done, fail) => {
    // A group of its own, for vitest that is ended early would leave its Workers running.
    const child = spawn(process.execPath, args, { cwd, env: wranglerEnv(), stdio: "ignore", detached: true });
    const end = () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    };
    const timer = setTimeout(end, ms);
    process.prependOnceListener("exit", end);
    child.on("error", fail);
    child.on("close", () => {
      clearTimeout(timer);
      process.off("exit", end);
      done();
    });
  });
}
