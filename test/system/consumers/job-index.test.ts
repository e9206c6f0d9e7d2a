// The job index against a real database: a row for every type of event, and claims ordered by their fences.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Stack, startStack } from "../../support/stack/stack.ts";
import { type ProductConsumers, productConsumers } from "./product-consumers.ts";

let stack: Stack;
let consumers: ProductConsumers;

beforeAll(async () => {
  stack = await startStack();
  consumers = productConsumers(stack);
});
afterAll(() => stack.close());

async function index(jobId: string, event: string) {
  await consumers.deliver(JSON.stringify({ event, job_id: jobId }));
  return await consumers.untilEnded("job-index", jobId);
}

const rows = (jobId: string) => consumers.sql("SELECT * FROM jobs WHERE job_id = ?", jobId);

describe.concurrent("the job index", () => {
  test.for(["job.completed", "job.failed", "job.canceled"])(
    "keeps a row of a job that ended with %s",
    async (event) => {
      const { status, result, fence, claimedAt } = await index(`job of ${event}`, event);
      expect({ status, result }).toEqual({ status: "completed", result: { written: true } });
      const indexed_at = expect.any(Number);
      expect(await rows(`job of ${event}`)).toEqual([
        { job_id: `job of ${event}`, event_type: event, source: "webhook", fence, indexed_at },
      ]);
      const [row] = await rows(`job of ${event}`);
      expect(Math.abs(Number(row?.indexed_at) - claimedAt)).toBeLessThan(60_000);
    },
  );

  test("a later claim overwrites the row: here with the other event of a job that had two", async () => {
    const first = await index("job_twice", "job.completed");
    await consumers.deliver(JSON.stringify({ event: "job.failed", job_id: "job_twice" }));
    await consumers.again("job-index", "job_twice", "job.failed");
    const second = await consumers.untilEnded("job-index", "job_twice");
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(second.result).toEqual({ written: true });
    expect(await rows("job_twice")).toMatchObject([{ event_type: "job.failed", fence: second.fence }]);
  });

  test("a claim that is overtaken by a later one leaves the later one's row as it is", async () => {
    await index("job_stale", "job.completed");
    // What a claim yet to come would have written, as this one finds it after a stall.
    await consumers.sql("UPDATE jobs SET event_type = ?, fence = ? WHERE job_id = ?", "later", 4e12, "job_stale");
    const before = await rows("job_stale");
    await consumers.again("job-index", "job_stale");
    const { status, result } = await consumers.untilEnded("job-index", "job_stale");
    expect({ status, result }).toEqual({ status: "completed", result: { written: false } });
    expect(await rows("job_stale")).toEqual(before);
  });

  test("ids are kept as they are, whatever they hold", async () => {
    const ids = [
      "a/b",
      "a",
      "caf\u00e9",
      "cafe\u0301",
      "☕/\u2028",
      "nul\u0000 and more",
      "nul",
      "'; DROP TABLE jobs; --",
    ];
    await Promise.all(ids.map((jobId) => index(jobId, "job.completed")));
    for (const jobId of ids) expect(await rows(jobId)).toMatchObject([{ job_id: jobId }]);
  });
});
