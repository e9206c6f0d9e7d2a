// What the report of a run says of a flaw: the same whenever it is read, and nothing where only luck spoke.

import { expect, test } from "vitest";
import { type Report, type Verdict, verdictOf } from "./verdict.ts";

type Test = Report["testResults"][number]["assertionResults"][number];
const PASSED: Test = { fullName: "a sound test", status: "passed", failureMessages: [] };
const FAILED: Test = { fullName: "a failing test", status: "failed", failureMessages: ["expected 202 to be 503"] };
const LATE: Test = { fullName: "a late test", status: "failed", failureMessages: ["Test timed out in 90000ms."] };
const IN_VAIN: Test = {
  fullName: "a test that waits",
  status: "failed",
  failureMessages: ["waited 60 s in vain for x"],
};
const SKIPPED: Test = { fullName: "a skipped test", status: "skipped", failureMessages: [] };
const PENDING: Test = { fullName: "a running test", status: "pending", failureMessages: [] };

function report(tests: Test[], { status = "failed", message = "" } = {}): Report {
  const numPassedTests = tests.filter((one) => one.status === "passed").length;
  const assertionResults = tests;
  return {
    success: status === "passed",
    numPassedTests,
    testResults: [{ name: "x.test.ts", status, message, assertionResults }],
  };
}

const failed = (...names: string[]): Verdict => ({ kind: "failed", names });
const nothing = (why: string): Verdict => ({ kind: "nothing", why });
const HOOK = "a hook of x.test.ts";

test.each<[string, Report | null, Verdict]>([
  ["tests pass", report([PASSED, PASSED], { status: "passed" }), { kind: "passed", passed: 2 }],
  ["a test fails", report([PASSED, FAILED]), failed("a failing test")],
  ["a test fails, and the rest is left out", report([FAILED, SKIPPED]), failed("a failing test")],
  ["a test fails, and another was running", report([FAILED, PENDING]), failed("a failing test")],
  ["a test fails, and another is out of time", report([FAILED, LATE]), failed("a failing test")],
  [
    "tests are out of time",
    report([LATE, IN_VAIN]),
    nothing("out of time: a late test; out of time: a test that waits"),
  ],
  ["a hook fails", report([SKIPPED], { message: "expected null not to be null" }), failed(HOOK)],
  [
    "a hook is out of time",
    report([SKIPPED], { message: "Hook timed out in 60000ms." }),
    nothing(`out of time: ${HOOK}`),
  ],
  [
    "a file cannot be loaded",
    report([], { message: "Unexpected token" }),
    nothing("x.test.ts could not be loaded: Unexpected token"),
  ],
  [
    "the worker ended before it told what failed",
    report([PENDING, PENDING]),
    nothing("x.test.ts was cut short: 2 tests have no result"),
  ],
  ["a file failed, and nothing says why", report([PASSED, SKIPPED]), nothing("no test failed, but the run did")],
  ["no test ran", report([SKIPPED], { status: "passed" }), nothing("no test ran")],
  ["there is no report", null, nothing("the tests did not come to an end")],
])("%s", (_, found, verdict) => {
  expect(verdictOf(found)).toEqual(verdict);
});

test("where something that does not come is the sign, tests and hooks whose time is up count", () => {
  expect(verdictOf(report([LATE]), { hangs: true })).toEqual(failed("a late test"));
  expect(verdictOf(report([SKIPPED], { message: "Hook timed out in 60000ms." }), { hangs: true })).toEqual(
    failed(HOOK),
  );
});

test("what fails without the flaw as well does not count", () => {
  const anyway = ["a failing test"];
  expect(verdictOf(report([FAILED, PASSED]), { anyway })).toEqual({ kind: "passed", passed: 1 });
  expect(verdictOf(report([FAILED, { ...FAILED, fullName: "another" }]), { anyway })).toEqual(failed("another"));
});
