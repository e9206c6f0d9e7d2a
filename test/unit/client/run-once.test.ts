// `runOnce` where nothing goes wrong: what work is given, what is kept of what it returns, and the answers that mean
// there is no claim to be had.

import { describe, expect, test, vi } from "vitest";
import {
  NonRetryableError,
  type Job,
  type RunOutcome,
  runOnce,
  type Work,
} from "../../../ledger-service/client/index.ts";
import { arrived, claimOf, clockTo, ledger, record, rival, steps, T0, useClock, watched } from "./support.ts";

useClock();

describe("a claim to be had", () => {
  test("the work is done once, and its result is kept", async () => {
    const jobId = await arrived("job-done");
    const work = vi.fn<Work>(async () => ({ keys: ["job-done/0"] }));
    expect(await runOnce(ledger, { jobId }, work)).toEqual({
      outcome: "done",
      attempt: 1,
      fence: T0,
      result: { keys: ["job-done/0"] },
    });
    expect(work).toHaveBeenCalledTimes(1);
    expect(await claimOf(jobId)).toMatchObject({
      status: "completed",
      attempt: 1,
      fence: T0,
      endedAt: T0,
      result: { keys: ["job-done/0"] },
    });
    expect(await steps(jobId)).toEqual(["claim 1", "complete 1"]);
  });

  test("the work is given the job, its event and a live signal", async () => {
    const jobId = await arrived("job-given", '{"job_id":"job-given"}');
    let given: Job | undefined;
    await runOnce(ledger, { jobId }, async (job) => {
      given = job;
    });
    expect(given).toMatchObject({
      jobId: "job-given",
      event: { type: "job.completed", body: '{"job_id":"job-given"}', source: "webhook" },
      attempt: 1,
      fence: T0,
    });
    expect(given?.payload()).toEqual({ job_id: "job-given" });
    expect(given?.signal.aborted).toBe(false);
  });

  test("an event that the claim brings is recorded and handed to the work", async () => {
    const event = { type: "job.failed", body: '{"n":1}', source: "poll" } as const;
    const ran = await runOnce(ledger, { jobId: "job-brought", event }, async (job) => job.payload() ?? null);
    expect(ran).toMatchObject({ outcome: "done", result: { n: 1 } });
    expect((await record("job-brought"))?.events).toEqual([
      { type: "job.failed", source: "poll", bytes: 7, receivedAt: T0, replaced: [] },
    ]);
  });

  test.each([
    { name: "by default", id: "default", options: {}, leaseExpiresAt: T0 + 240_000, maxAttempts: 60 },
    {
      name: "as asked",
      id: "asked",
      options: { leaseMs: 900_000, maxAttempts: 3 },
      leaseExpiresAt: T0 + 900_000,
      maxAttempts: 3,
    },
    {
      name: "without limit",
      id: "no-limit",
      options: { leaseMs: 1_000, maxAttempts: null },
      leaseExpiresAt: T0 + 1_000,
      maxAttempts: null,
    },
  ])("lease and attempts $name", async ({ id, options, leaseExpiresAt, maxAttempts }) => {
    const jobId = await arrived(`job-lease-${id}`);
    const ran = await runOnce(ledger, { jobId, ...options }, () => claimOf(jobId));
    expect(ran).toMatchObject({ outcome: "done", result: { status: "claimed", leaseExpiresAt, maxAttempts } });
  });

  test("a wait for the holder is asked of the ledger", async () => {
    const jobId = await arrived("job-wait");
    const binding = watched();
    await runOnce(binding, { jobId, waitMs: 8_000 }, async () => {});
    expect(binding.calls[0]).toMatchObject({ verb: "claim", args: { jobId: "job-wait", waitMs: 8_000 } });
  });

  test("a claim that was released is taken again when it is due, under a higher fence", async () => {
    const jobId = await arrived("job-due");
    const token = await rival(jobId);
    await ledger.release({ jobId, token, retryAfterMs: 30_000 });
    await clockTo(30_000);
    const ran = await runOnce(ledger, { jobId }, async () => "second");
    expect(ran).toEqual({ outcome: "done", attempt: 2, fence: T0 + 30_000, result: "second" });
  });

  test("a claim whose holder died is taken again when its lease has run out", async () => {
    const jobId = await arrived("job-died");
    await rival(jobId, { leaseMs: 60_000 });
    await clockTo(60_000);
    const ran = await runOnce(ledger, { jobId }, async () => "second");
    expect(ran).toEqual({ outcome: "done", attempt: 2, fence: T0 + 60_000, result: "second" });
  });
});

describe("the result that is kept", () => {
  test.each([
    { name: "nothing", returned: undefined, kept: null },
    { name: "null", returned: null, kept: null },
    { name: "zero", returned: 0, kept: 0 },
    { name: "false", returned: false, kept: false },
    { name: "an empty text", returned: "", kept: "" },
    { name: "an array", returned: [1, "two", null], kept: [1, "two", null] },
    { name: "an object", returned: { keys: { a: [] } }, kept: { keys: { a: [] } } },
    { name: "16 KiB of JSON", returned: "x".repeat(16_382), kept: "x".repeat(16_382) },
  ])("$name", async ({ name, returned, kept }) => {
    const jobId = await arrived(`job-result-${name}`);
    const ran = await runOnce(ledger, { jobId }, async () => returned);
    expect(ran).toEqual({ outcome: "done", attempt: 1, fence: T0, result: kept });
    expect((await claimOf(jobId)).result).toEqual(kept);
  });
});

describe("the event's body is handed over exactly as it was sent", () => {
  test.each([
    { name: "byte order mark", body: '\uFEFF{"a":1}', payload: { a: 1 } },
    { name: "line ends and spaces", body: '{\r\n  "a": 1\r\n}\n', payload: { a: 1 } },
    {
      name: "long numbers",
      body: '{"a":12345678901234567890,"b":1e20}',
      payload: { a: 12345678901234567000, b: 1e20 },
    },
    { name: "a key twice", body: '{"a":1,"a":2}', payload: { a: 2 } },
    { name: "emoji and U+2028", body: '{"a":"🎬\u2028é"}', payload: { a: "🎬\u2028é" } },
    { name: "a mark inside", body: '{"a":"\uFEFF"}', payload: { a: "\uFEFF" } },
  ])("$name", async ({ name, body, payload }) => {
    const jobId = await arrived(`job-body-${name}`, body);
    let given: Job | undefined;
    await runOnce(ledger, { jobId }, async (job) => {
      given = job;
    });
    expect(given?.event.body).toBe(body);
    expect(given?.payload()).toEqual(payload);
  });
});

describe("no claim to be had: the work is not run, and nothing is changed", () => {
  const cases: { name: string; before: (jobId: string) => Promise<unknown>; outcome: RunOutcome }[] = [
    {
      name: "completed",
      before: (jobId) => runOnce(ledger, { jobId }, async () => ({ rows: 7 })),
      outcome: { outcome: "completed", attempt: 1, fence: T0, completedAt: T0, result: { rows: 7 }, dispatchedTo: [] },
    },
    {
      name: "failed",
      before: (jobId) => runOnce(ledger, { jobId }, () => Promise.reject(new NonRetryableError("no such codec"))),
      outcome: { outcome: "failed", attempt: 1, fence: T0, failedAt: T0, error: "NonRetryableError: no such codec" },
    },
    {
      name: "in_progress",
      before: (jobId) => rival(jobId, { leaseMs: 60_000 }),
      outcome: { outcome: "in_progress", attempt: 1, fence: T0, retryAt: T0 + 60_000 },
    },
    {
      name: "deferred",
      before: async (jobId) => ledger.release({ jobId, token: await rival(jobId), retryAfterMs: 5_000 }),
      outcome: { outcome: "deferred", attempt: 1, fence: T0, retryAt: T0 + 5_000 },
    },
  ];
  test.each(cases)("$name", async ({ name, before, outcome }) => {
    const jobId = await arrived(`job-none-${name}`);
    await before(jobId);
    const found = await record(jobId);
    const work = vi.fn<Work>(async () => {});
    const binding = watched();
    expect(await runOnce(binding, { jobId }, work)).toEqual(outcome);
    expect(work).not.toHaveBeenCalled();
    expect(binding.calls.map(({ verb }) => verb)).toEqual(["claim"]);
    expect(await record(jobId)).toEqual(found);
  });

  test("unknown", async () => {
    const work = vi.fn<Work>(async () => {});
    expect(await runOnce(ledger, { jobId: "job-never-came" }, work)).toEqual({ outcome: "unknown" });
    expect(work).not.toHaveBeenCalled();
    expect(await record("job-never-came")).toBeNull();
  });
});

describe("arguments that the ledger refuses: the call fails as it is, once, and the work is not run", () => {
  test.each([
    { name: "no job id", options: { jobId: "" }, code: "invalid_argument" },
    { name: "a job id of 513 bytes", options: { jobId: "j".repeat(513) }, code: "too_large" },
    { name: "a lease under 1 s", options: { jobId: "job-refused", leaseMs: 999 }, code: "invalid_argument" },
    { name: "a wait over 8 s", options: { jobId: "job-refused", waitMs: 8_001 }, code: "invalid_argument" },
  ])("$name", async ({ options, code }) => {
    const work = vi.fn<Work>(async () => {});
    const binding = watched();
    await expect(runOnce(binding, options, work)).rejects.toMatchObject({ name: "LedgerError", code });
    expect(binding.count("claim")).toBe(1);
    expect(work).not.toHaveBeenCalled();
  });
});
