// When a call to a job's object is repeated: only while the runtime says that it may be, three times in all, and never on
// an overloaded object.

import { exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { callJob } from "../../../ledger-service/src/entrypoints/call-job.ts";
import { finish, jobObject } from "../object/job-object.ts";

const errorWith = (flags: object) => Object.assign(new Error("from the object"), flags);

/** Calls a job whose first `failures` calls throw that error; tells which objects were called, and by how many stubs. */
async function callFailing(error: unknown, failures: number) {
  const names: (string | undefined)[] = [];
  const stubs = new Set<unknown>();
  try {
    const answer = await callJob(exports.JobLedger, { namespace: "n", jobId: "a:b" }, async (job) => {
      names.push(job.name);
      stubs.add(job);
      if (names.length <= failures) throw error;
      return "answer";
    });
    return { answer, names, stubs: stubs.size };
  } catch (thrown) {
    return { answer: thrown, names, stubs: stubs.size };
  }
}

describe("callJob", () => {
  test("calls the object of that job", async () => {
    expect(await callFailing(undefined, 0)).toEqual({ answer: "answer", names: ["n:a:b"], stubs: 1 });
  });

  test.each([
    ["once, with a retryable error", 1, { retryable: true }],
    ["twice, with a retryable error", 2, { retryable: true }],
    ["for the object was reset", 1, { durableObjectReset: true }],
    ["for the object was reset, not retryable otherwise", 1, { durableObjectReset: true, retryable: false }],
  ])("repeats a call that failed %s, with a fresh stub each time", async (_, failures, flags) => {
    const { answer, names, stubs } = await callFailing(errorWith(flags), failures);
    expect(answer).toBe("answer");
    expect(names).toEqual(Array.from({ length: failures + 1 }, () => "n:a:b"));
    expect(stubs).toBe(failures + 1);
  });

  test("gives up after the third", async () => {
    const error = errorWith({ retryable: true });
    const { answer, names } = await callFailing(error, 3);
    expect(answer).toBe(error);
    expect(names).toHaveLength(3);
  });

  test.each([
    ["an error that does not say so", errorWith({})],
    ["an error that says no", errorWith({ retryable: false })],
    ["an overloaded object", errorWith({ retryable: true, overloaded: true })],
    ["an overloaded object that was reset", errorWith({ durableObjectReset: true, overloaded: true })],
    ["flags that are not `true`", errorWith({ retryable: "true", durableObjectReset: 1 })],
    ["something that is no error", "retryable"],
  ])("does not repeat after %s", async (_, error) => {
    const { answer, names } = await callFailing(error, 1);
    expect(answer).toBe(error);
    expect(names).toHaveLength(1);
  });

  test("hands on a copy of the answer, which the caller need not dispose of", async () => {
    await finish("copied", "index");
    const answer = await jobObject("copied").inspect(false);
    const copy = await callJob(exports.JobLedger, { namespace: "n", jobId: "copied" }, (job) => job.inspect(false));
    expect(copy).toEqual(answer);
    expect([answer, copy].map((each) => each !== null && Symbol.dispose in each)).toEqual([true, false]);
  });
});
