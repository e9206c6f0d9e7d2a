// A reporter for vitest that ends the run at the first failure which tells something. Not `--bail`: with it each test that
// fails cancels the run, and a second cancellation kills the worker before it has sent what failed. So of several tests that
// fail at once none may be in the report.

import type { Reporter, TestCase, Vitest } from "vitest/node";
import { isLate } from "./verdict.ts";

export default class StopAtFailure implements Reporter {
  #vitest: Vitest | null = null;
  #isStopping = false;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    if (this.#isStopping || state !== "failed" || isLate(errors.map(({ message }) => message))) return;
    this.#isStopping = true;
    // Not awaited: it ends with the run, and the run with this.
    void this.#vitest?.cancelCurrentRun("test-failure");
  }
}
