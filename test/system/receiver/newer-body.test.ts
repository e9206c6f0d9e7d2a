// Row 47: a redelivery of the same event with another body, as Sume brings it when media URLs have expired.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack, until } from "../../support/stack/stack.ts";
import { callThrough } from "../controls.ts";
import { event, sendSigned, storedBytes } from "./requests.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
}, 60_000);
afterAll(() => stack.close());

const failing = (jobId: string, failAttempts: number | "always" | "permanently") =>
  event(jobId, `,"script":${JSON.stringify({ failAttempts })}`);
const sound = (jobId: string) => event(jobId, ',"url":"https://media.example/fresh"');

const statusOf = async (jobId: string) => (await stack.claimOf(jobId, "scripted"))?.status;
const untilStatus = (jobId: string, status: string) =>
  until(`${jobId} to be ${status}`, async () => ((await statusOf(jobId)) === status ? true : undefined));

describe.concurrent("#47 another body of the same event", () => {
  it("while a consumer is to try again: its next attempt gets the newest, and the record says so", async () => {
    const jobId = "job-47-unfinished";
    const first = failing(jobId, "always");
    expect((await sendSigned(stack, first)).status).toBe(202);
    await untilStatus(jobId, "released");
    expect((await sendSigned(stack, sound(jobId))).status).toBe(200);
    await untilStatus(jobId, "completed");
    const record = await stack.untilFinished(jobId);
    expect(await storedBytes(stack, jobId)).toEqual(Buffer.from(sound(jobId)));
    expect(record.events).toMatchObject([
      { bytes: sound(jobId).length, replaced: [{ at: expect.any(Number), bytes: first.length }] },
    ]);
    const lines = stack.logs().filter((line) => line.jobId === jobId && line.outcome === "replaced");
    expect(lines).toMatchObject([{ event: "event", bytes: sound(jobId).length, previousBytes: first.length }]);
  });

  it("once all have finished: nothing changes", async () => {
    const jobId = "job-47-finished";
    const first = failing(jobId, 0);
    expect((await sendSigned(stack, first)).status).toBe(202);
    const before = await stack.untilFinished(jobId);
    expect((await sendSigned(stack, sound(jobId))).status).toBe(200);
    expect(await stack.record(jobId)).toEqual(before);
    expect(await storedBytes(stack, jobId)).toEqual(Buffer.from(first));
  });

  it("after a reopening that asks for a fresh event: Sume redelivers, and the next attempt gets what it brought", async () => {
    const jobId = "job-47-refresh";
    stack.sume.createJob({ id: jobId, body: failing(jobId, "permanently"), state: "completed" });
    expect((await stack.sume.deliver(jobId)).outcome).toBe("delivered");
    await untilStatus(jobId, "failed");
    stack.sume.endJob(jobId, { body: sound(jobId) });
    const reopening = { namespace: "default", jobId, actor: "ann", consumer: "scripted", refresh: true };
    const { value } = await callThrough(stack, "ADMIN", "reopen", reopening);
    expect(value).toEqual({ outcome: "reopened" });
    await untilStatus(jobId, "completed");
    expect(await storedBytes(stack, jobId)).toEqual(Buffer.from(sound(jobId)));
    expect((await stack.claimOf(jobId, "scripted"))?.history.map(({ verb, actor }) => [verb, actor])).toEqual([
      ["claim", "scripted"],
      ["release", "scripted"],
      ["reopen", "ann"],
      ["claim", "scripted"],
      ["complete", "scripted"],
    ]);
    // Half a minute for the redelivery, by the queue's own clock.
  }, 90_000);
});
