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
import { ROOT, wranglerEnv } from "../../support/tools/wrangler-env.ts";

/** Milliseconds, and as many again for each test file; tests that take longer are ended, and tell nothing. */
const LONGEST_RUN_MS = 150_000;

/**
 * `failed`: the names of the tests that failed; `late`: of those of them whose time was up, which says little on a busy
 * machine. `trouble`: why the run tells nothing, as tests that could not be loaded.
 */
export type Run = { failed: string[]; late: string[]; passed: number; trouble?: string };

/** The names of the tests to run: not of one that takes as long as all others together, and is there for its load. */
const NAMES = "^(?!1,000 finished jobs)";

/** What vitest, and the tests' own waiting, say when the time is up. */
const LATE = /\btimed out in \d+ ?ms\b|\bwaited [\d.]+ s in vain\b/;

/** Tests inside workerd; the others start Workers of their own. */
export function isFast(test: string): boolean {
  return test.startsWith("test/unit/");
}

type Report = {
  success: boolean;
  numPassedTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] | null }[];
  }[];
};

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
  async runWith({ file, find, replace }: { file: string; find: string; replace: string }, tests: readonly string[]) {
    const path = join(this.#folder, file);
    const sound = readFileSync(path, "utf8");
    try {
      writeFileSync(
        path,
        sound.replace(find, () => replace),
      );
      return await this.run(tests, tests.every(isFast) ? [] : ["--bail=1"]);
    } finally {
      writeFileSync(path, sound);
    }
  }

  async run(tests: readonly string[], more: readonly string[] = []): Promise<Run> {
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
    const nothing = { failed: [], late: [], passed: 0 };
    if (!existsSync(report)) return { ...nothing, trouble: "the tests did not come to an end" };
    const { success, numPassedTests: passed, testResults }: Report = JSON.parse(readFileSync(report, "utf8"));
    const failed = testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === "failed");
    const late = failed.filter(({ failureMessages }) => failureMessages?.every((message) => LATE.test(message)));
    if (failed.length > 0 || (success && passed > 0)) {
      return { failed: failed.map(nameOf), late: late.map(nameOf), passed };
    }
    const messages = testResults.filter(({ status }) => status === "failed").map(({ message }) => message);
    return { ...nothing, trouble: `no test failed, but the run did: ${messages.join("\n")}` };
  }
}

function nameOf({ fullName }: { fullName: string }): string {
  return fullName;
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
