import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startReceiver } from "./webhooks/scripted-receiver.ts";
import { startSume } from "./simulator.ts";
import type { Sume } from "./simulator.ts";

let sume: Sume;
beforeEach(async () => {
  sume = await startSume({ control: true });
});
afterEach(() => sume.close());

const post = (body: string) => fetch(`${sume.origin}/control/jobs`, { method: "POST", body });

describe("POST /control/jobs", () => {
  it("makes, ends and delivers a job", async () => {
    await using receiver = await startReceiver(202);
    sume.setReceiver(receiver.url);
    const response = await post('{"job_id":"job_a","sample":"failed"}');
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ job_id: "job_a", event: "job.failed", status: "failed", delivering: true });
    const delivered = [{ jobId: "job_a", outcome: "delivered" }];
    await vi.waitFor(() => expect(sume.deliveries).toMatchObject(delivered), { timeout: 4_000, interval: 5 });
    expect(JSON.parse(String(receiver.received[0]?.body))).toMatchObject({ job_id: "job_a", event: "job.failed" });
  });

  it.each([
    ["nothing", "", { event: "job.completed", status: "completed", delivering: false }],
    ["an event type", '{"event":"job.expired"}', { event: "job.expired", status: "expired" }],
    ["a state under way", '{"state":"queued"}', { status: "queued", delivering: false }],
  ])("takes %s", async (_, body, answer) => {
    expect(await (await post(body)).json()).toMatchObject(answer);
  });

  it("can lose the webhook", async () => {
    await using receiver = await startReceiver(202);
    sume.setReceiver(receiver.url);
    expect(await (await post('{"deliver":false}')).json()).toMatchObject({ status: "completed", delivering: false });
    expect(sume.deliveries).toEqual([]);
  });

  it.each([
    ["{", "body"],
    ["[]", "body"],
    ['{"job_id":""}', "job_id"],
    ['{"sample":"none"}', "sample"],
    ['{"state":"paused"}', "state"],
    ['{"stat":"queued"}', "stat"],
  ])("refuses %s and names the field", async (body, field) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`"message":"${field}: `);
  });

  it("has a limit", async () => {
    const atLimit = `{"event":"${"x".repeat(64 * 1024 - 12)}"}`;
    expect((await post(atLimit)).status).toBe(201);
    expect((await post(`${atLimit} `)).status).toBe(413);
  });

  it("takes no other method", async () => {
    expect((await fetch(`${sume.origin}/control/jobs`)).status).toBe(405);
  });
});
