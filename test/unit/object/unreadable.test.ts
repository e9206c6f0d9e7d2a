// What must not happen to an object: an entry in its storage that cannot be read, and a call by its id. It answers all the same.

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import { claimOf, EVENT, evict, finish, jobObject, ledger, spoil } from "./job-object.ts";

const index = ledger("index");
const admin = exports.LedgerAdmin({});
const who = (jobId: string) => ({ namespace: "n", jobId, actor: "ann", consumer: "index" });

let errors: MockInstance<typeof console.error>;
beforeEach(() => {
  errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Puts something in the place of one stored entry, behind the back of the instance, which then is evicted. */
async function put(jobId: string, key: string, value: unknown): Promise<void> {
  await runInDurableObject(jobObject(jobId), (_, { storage: { kv } }) => kv.put(key, value));
  await evict(jobId);
}

describe("a claim that cannot be read", () => {
  test.each([
    ["text", "canary-7f3a"],
    ["nothing", null],
    ["a state of another time", { status: "paused", consumer: "index" }],
  ])("(%s) is failed, and can be reopened and done again with a higher fence", async (what, value) => {
    const jobId = `claim ${what}`;
    const first = await index.claim({ jobId, event: EVENT, token: "t" });
    await put(jobId, "claim:index", value);
    expect(await index.claim({ jobId, event: EVENT })).toMatchObject({
      outcome: "failed",
      error: expect.stringContaining("reopen"),
    });
    expect(await index.complete({ jobId, token: "t" })).toEqual({ outcome: "stale", reason: "no_claim" });
    expect(await index.inspect({ jobId })).toMatchObject({ claims: [{ consumer: "index", status: "failed" }] });
    expect(await admin.reopen(who(jobId))).toEqual({ outcome: "reopened" });
    const again = await index.claim({ jobId });
    expect(again).toMatchObject({ outcome: "claimed", attempt: 1, event: EVENT });
    expect("fence" in again && "fence" in first && again.fence >= first.fence).toBe(true);
    const lines = errors.mock.calls.map(([line]) => String(line));
    expect(lines[0]).toContain('"event":"record","outcome":"unreadable"');
    expect(lines.join()).not.toContain("canary");
  });
});

test("a result that is not JSON is shown as none, and the job stays readable", async () => {
  const jobId = "bad result";
  await finish(jobId, "index");
  const entry = await runInDurableObject(jobObject(jobId), (_, { storage: { kv } }) => kv.get<object>("claim:index"));
  await put(jobId, "claim:index", { ...entry, result: "{" });
  expect(await index.claim({ jobId })).toMatchObject({ outcome: "completed", result: null });
  expect(await index.inspect({ jobId })).toMatchObject({ claims: [{ status: "completed", result: null }] });
});

test("an event that cannot be read is not held any more: the job is unknown until it comes again", async () => {
  const jobId = "bad event";
  await finish(jobId, "receiver");
  await put(jobId, "event:job.completed", { type: "job.completed" });
  expect(await index.claim({ jobId })).toEqual({ outcome: "unknown" });
  expect(await index.inspect({ jobId })).toMatchObject({ events: [], claims: [{ consumer: "receiver" }] });
  expect(await index.claim({ jobId, event: EVENT })).toMatchObject({ outcome: "claimed", event: EVENT });
});

test("a watch that cannot be read begins anew", async () => {
  const jobId = "bad watch";
  await index.expectEvent({ jobId, withinMs: 60_000 });
  await index.claim({ jobId, event: EVENT, token: "t" });
  await put(jobId, "watch", []);
  expect(await index.inspect({ jobId })).toMatchObject({ expectations: [], watch: { rings: 0 } });
});

test("a job of which nothing can be read answers every call", async () => {
  const jobId = "all bad";
  await finish(jobId, "index");
  await spoil(jobId);
  expect(await index.inspect({ jobId })).toMatchObject({ events: [], claims: [{ status: "failed" }] });
  await runDurableObjectAlarm(jobObject(jobId)); // it is not cleaned up
  expect(await index.claim({ jobId })).toEqual({ outcome: "unknown" });
  expect(await admin.reopen(who(jobId))).toEqual({ outcome: "unknown", missing: "event" });
  expect(await index.claim({ jobId, event: EVENT })).toMatchObject({ outcome: "failed" });
  expect(await admin.reopen(who(jobId))).toEqual({ outcome: "reopened" });
  expect(await index.claim({ jobId })).toMatchObject({ outcome: "claimed", event: EVENT });
});

test("an object that is reached by its id refuses every call, and writes nothing", async () => {
  const object = exports.JobLedger.get(exports.JobLedger.newUniqueId());
  const settle = { consumer: "c", token: "t" };
  const answers = await runInDurableObject(object, async (job: JobLedger, { storage }) => {
    const told: unknown[] = [
      await job.claim(claimOf("t"), EVENT, 0),
      job.complete({ ...settle, result: null, dispatchedTo: null }),
      job.release({ ...settle, error: null, retryAfterMs: 0, permanent: false }),
      job.renew({ ...settle, leaseMs: 1_000 }),
      job.reopen({ actor: "ann", consumer: "c", eventType: null, refresh: false }),
      job.abandon({ actor: "ann", consumer: "c" }),
      job.expectEvent({ consumer: "c", withinMs: 1_000 }),
      job.cancelExpectation({ consumer: "c", actor: "c" }),
      job.inspect(true),
    ];
    await job.alarm();
    return { told, stored: [...storage.kv.list()], alarm: await storage.getAlarm() };
  });
  const noClaim = { outcome: "stale", reason: "no_claim" };
  expect(answers.told).toEqual([
    { outcome: "unknown" },
    noClaim,
    noClaim,
    noClaim,
    { outcome: "unknown", missing: "claim" },
    { outcome: "unknown" },
    { outcome: "unknown" },
    { outcome: "none" },
    null,
  ]);
  expect([answers.stored, answers.alarm]).toEqual([[], null]);
  expect(await runDurableObjectAlarm(object)).toBe(false);
});
