// When a call to a job's object is repeated: only while the runtime says that it may be, three times in all, and never on
// an overloaded object.

import { exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { callJob } from "../../../ledger-service/src/call-job.ts";

const errorWith = (flags: object) => Object.assign(new Error("from the object"), flags);

/** Calls a job whose first `failures` calls throw that error; tells how many calls there were. */
async function callFailing(error: unknown, failures: number) {
  const names: (string | undefined)[] = [];
  try {
    const answer = await callJob(exports.JobLedger, { namespace: "n", jobId: "a:b" }, async (job) => {
      names.push(job.name);
      if (names.length <= failures) throw error;
      return "answer";
    });
    return { answer, names };
  } catch (thrown) {
    return { answer: thrown, names };
  }
}

describe("callJob", () => {
  test("calls the object of that job", async () => {
    expect(await callFailing(undefined, 0)).toEqual({ answer: "answer", names: ["n:a:b"] });
  });

  test.each([1, 2])("repeats a call that failed %i times with a retryable error", async (failures) => {
    const { answer, names } = await callFailing(errorWith({ retryable: true }), failures);
    expect(answer).toBe("answer");
    expect(names).toHaveLength(failures + 1);
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
    ["something that is no error", "retryable"],
  ])("does not repeat after %s", async (_, error) => {
    const { answer, names } = await callFailing(error, 1);
    expect(answer).toBe(error);
    expect(names).toHaveLength(1);
  });
});
