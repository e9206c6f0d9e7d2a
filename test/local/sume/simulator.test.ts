import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { JOB_STATES, statusAnswer } from "./jobs.ts";
import { samplePayload } from "./webhooks/payloads.ts";
import { startReceiver } from "./webhooks/scripted-receiver.ts";
import { SIGNATURE_HEADER, signatureHeader, TIMESTAMP_HEADER } from "./webhooks/sign.ts";
import { DEVELOPMENT_API_KEY, startSume } from "./simulator.ts";
import type { Sume } from "./simulator.ts";

const BEARER = { authorization: `Bearer ${DEVELOPMENT_API_KEY}` };
/** How a test polls for what happens in the background. */
const SOON = { timeout: 4_000, interval: 5 };

let sume: Sume;
beforeEach(async () => {
  sume = await startSume({ policy: { delayMs: 1 } });
});
afterEach(() => sume.close());

const status = (jobId: string, init: RequestInit = { headers: BEARER }) =>
  fetch(`${sume.origin}/v1/jobs/${jobId}/status`, init);
const redeliver = (jobId: string, init: RequestInit = { headers: BEARER }) =>
  fetch(`${sume.origin}/v1/jobs/${jobId}/webhook/redeliver`, { method: "POST", ...init });

describe("jobs", () => {
  it("run when created, and end as their event type says", () => {
    expect(sume.createJob({ id: "job_a" })).toMatchObject({ id: "job_a", event: "job.completed", state: "running" });
    expect(sume.endJob("job_a")).toMatchObject({ event: "job.completed", state: "completed" });
    expect(sume.endJob("job_a", { event: "job.failed" })).toMatchObject({ event: "job.failed", state: "failed" });
    expect(sume.endJob("job_a", { event: "job.other" })).toMatchObject({ state: "completed" });
    expect(sume.endJob("job_a", { state: "expired" })).toMatchObject({ event: "job.other", state: "expired" });
  });

  it("carry the simulator's origin in their body", () => {
    const { body } = sume.createJob({ id: "job_a", body: samplePayload("video", "job_a") });
    expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({
      result: { video_url: `${sume.origin}/job_a/cut.mp4` },
    });
  });

  it("are named freshly when no id is given", () => {
    const [a, b] = [sume.createJob(), sume.createJob()];
    expect(a.id).toMatch(/^job_[0-9a-f]{20}$/);
    expect(a.id).not.toBe(b.id);
  });
});

describe("GET status", () => {
  it.each([
    ["no key", {}],
    ["another key", { authorization: "Bearer other" }],
    ["no scheme", { authorization: DEVELOPMENT_API_KEY }],
  ])("answers 401 with %s, also for an unknown job", async (_, headers) => {
    const response = await status("job_none", { headers });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  });

  it("answers 404 for an unknown job and 405 for another method", async () => {
    expect((await status("job_none")).status).toBe(404);
    const post = await status("job_none", { method: "POST", headers: BEARER });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET"]);
  });

  it.each(JOB_STATES)("tells the state %s", async (state) => {
    sume.createJob({ id: "job_a", state });
    const response = await status("job_a");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await response.json()).toMatchObject({ job_id: "job_a", status: state });
  });

  it("gives no event before the end", async () => {
    sume.createJob({ id: "job_a", body: samplePayload("video", "job_a") });
    expect(await (await status("job_a")).text()).toBe('{"job_id":"job_a","status":"running"}');
  });

  it("finds ids that need encoding", async () => {
    sume.createJob({ id: "a/b c", state: "completed" });
    expect(await (await status("a%2Fb%20c")).json()).toMatchObject({ job_id: "a/b c" });
  });

  it.each([
    [
      "adds the state after the body's own text",
      '{"event":"job.completed","job_id":"j","n":1e20}\r\n',
      '{"event":"job.completed","job_id":"j","n":1e20,"status":"completed"}',
    ],
    [
      "keeps a body that has it already",
      '{"job_id":"j", "status":"completed"}',
      '{"job_id":"j", "status":"completed"}',
    ],
    ["lets the state win over another in the body", '{"status":"done"}', '{"status":"done","status":"completed"}'],
    ["fills an empty object", "{}", '{"status":"completed"}'],
    ["drops a BOM", "\ufeff{}", '{"status":"completed"}'],
    ["stands in for a body that is no object", "[1]", '{"job_id":"j","event":"job.completed","status":"completed"}'],
    ["stands in for a body that is no JSON", "{", '{"job_id":"j","event":"job.completed","status":"completed"}'],
  ])("%s", (_, body, answer) => {
    expect(statusAnswer(sume.createJob({ id: "j", body, state: "completed" }))).toBe(answer);
  });
});

describe("deliveries", () => {
  it("follow the policy and are recorded", async () => {
    await using receiver = await startReceiver(503, 202);
    sume.setReceiver(receiver.url);
    const job = sume.createJob({ id: "job_a", body: samplePayload("nested", "job_a"), state: "completed" });
    expect((await sume.deliver("job_a")).outcome).toBe("delivered");
    expect(sume.deliveries).toMatchObject([
      { jobId: "job_a", trigger: "end", outcome: "delivered", attempts: [{}, {}] },
    ]);
    expect(receiver.received.map(({ body }) => body.equals(job.body))).toEqual([true, true]);
  });

  it("need an ended job and a receiver", async () => {
    sume.createJob({ id: "job_a" });
    await expect(sume.deliver("job_none")).rejects.toThrow("there is no job job_none");
    await expect(sume.deliver("job_a")).rejects.toThrow("job_a is running: end it first");
    sume.endJob("job_a");
    await expect(sume.deliver("job_a")).rejects.toThrow("no receiver");
    expect(() => sume.setReceiver("nowhere")).toThrow(TypeError);
  });

  it("are signed with all live secrets, newest first", async () => {
    await using receiver = await startReceiver(200);
    sume.setReceiver(receiver.url);
    const { body } = sume.createJob({ id: "job_a", state: "completed" });
    await sume.deliver("job_a", { timestamp: 1 });
    sume.rotate("newer");
    await sume.redeliver("job_a", { timestamp: 2 });
    sume.retire();
    await sume.redeliver("job_a", { timestamp: 3 });
    expect(receiver.received.map(({ headers }) => [headers[TIMESTAMP_HEADER], headers[SIGNATURE_HEADER]])).toEqual([
      ["1", signatureHeader(["sume-dev-secret"], 1, body)],
      ["2", signatureHeader(["newer", "sume-dev-secret"], 2, body)],
      ["3", signatureHeader(["newer"], 3, body)],
    ]);
  });

  it("end with the simulator", async () => {
    await using receiver = await startReceiver(503);
    const own = await startSume({ receiverUrl: receiver.url });
    own.createJob({ id: "job_a", state: "completed" });
    const delivery = own.deliver("job_a");
    await vi.waitFor(() => expect(own.deliveries[0]?.attempts).toHaveLength(1), SOON);
    await own.close();
    expect((await delivery).outcome).toBe("aborted");
    await own.close();
  });
});

describe("POST redeliver", () => {
  it("answers 401, 404, 405, 409", async () => {
    sume.createJob({ id: "job_a" });
    expect((await redeliver("job_a", {})).status).toBe(401);
    expect((await redeliver("job_none")).status).toBe(404);
    expect((await redeliver("job_a", { method: "GET", headers: BEARER })).status).toBe(405);
    expect((await redeliver("job_a")).status).toBe(409);
    sume.endJob("job_a");
    expect(await (await redeliver("job_a")).json()).toMatchObject({ error: { code: "no_webhook_url" } });
  });

  it("answers 202 and delivers the same bytes in the background", async () => {
    await using receiver = await startReceiver(200);
    sume.setReceiver(receiver.url);
    const job = sume.createJob({ id: "job_a", state: "completed" });
    await sume.deliver("job_a", { timestamp: 1 });
    expect((await redeliver("job_a")).status).toBe(202);
    const redelivered = { trigger: "redeliver", outcome: "delivered" };
    await vi.waitFor(() => expect(sume.deliveries[1]).toMatchObject(redelivered), SOON);
    expect(receiver.received.map(({ body }) => body.equals(job.body))).toEqual([true, true]);
    expect(Number(receiver.received[1]?.headers[TIMESTAMP_HEADER])).toBeGreaterThan(1_700_000_000);
  });
});

describe("misbehaviour", () => {
  beforeEach(() => sume.createJob({ id: "job_a", state: "completed" }));

  it("overrides the status, with Retry-After, as often as asked", async () => {
    sume.misbehave("status", { kind: "status", status: 429, retryAfter: "7" }, 2);
    const answers = [await status("job_a"), await status("job_a"), await status("job_a")];
    expect(answers.map((answer) => answer.status)).toEqual([429, 429, 200]);
    expect(answers.map((answer) => answer.headers.get("retry-after"))).toEqual(["7", "7", null]);
  });

  it("sends a page, nothing, or any JSON", async () => {
    sume.misbehave("status", { kind: "html", status: 502 });
    const html = await status("job_a");
    expect([html.status, html.headers.get("content-type")]).toEqual([502, "text/html; charset=utf-8"]);
    sume.misbehave("status", { kind: "empty", status: 200 });
    expect(await (await status("job_a")).text()).toBe("");
    sume.misbehave("status", { kind: "json", status: 200, body: '{"status":"paused"}' });
    expect(await (await status("job_a")).json()).toEqual({ status: "paused" });
    sume.behave();
    expect((await status("job_a")).status).toBe(200);
  });

  it("is slow, silent, or cuts the connection, and leaves the other endpoint alone", async () => {
    sume.misbehave("redeliver", { kind: "slow", ms: 20 });
    const started = performance.now();
    expect((await redeliver("job_a")).status).toBe(409);
    expect(performance.now() - started).toBeGreaterThan(15);
    sume.misbehave("redeliver", { kind: "hang" });
    await expect(redeliver("job_a", { headers: BEARER, signal: AbortSignal.timeout(50) })).rejects.toThrow("timeout");
    sume.misbehave("redeliver", { kind: "reset" });
    await expect(redeliver("job_a")).rejects.toThrow("fetch failed");
    expect((await status("job_a")).status).toBe(200);
  });

  it("does not hold up the end", async () => {
    sume.misbehave("status", { kind: "hang" });
    sume.misbehave("redeliver", { kind: "slow", ms: 60_000 });
    const pending = Promise.allSettled([status("job_a"), redeliver("job_a")]);
    await vi.waitFor(() => expect(sume.requests).toHaveLength(2), SOON);
    await sume.close();
    expect((await pending).map((result) => result.status)).toEqual(["rejected", "rejected"]);
  });
});

describe("requests", () => {
  it("are recorded in order, refused ones too", async () => {
    await status("job_none", {});
    await redeliver("job_none");
    await fetch(`${sume.origin}/job_a/x.png?bytes=3`);
    await fetch(`${sume.origin}/elsewhere`);
    expect(sume.requests.map(({ endpoint, method, path }) => [endpoint, method, path])).toEqual([
      ["status", "GET", "/v1/jobs/job_none/status"],
      ["redeliver", "POST", "/v1/jobs/job_none/webhook/redeliver"],
      ["artifact", "GET", "/job_a/x.png?bytes=3"],
    ]);
    expect(sume.requests.every(({ at }) => Math.abs(at - Date.now()) < 60_000)).toBe(true);
  });

  it.each(["/", "/a/b/c", "/v1/jobs", "/v1/jobs/a/other", "/control/jobs"])("%s is no endpoint", async (path) => {
    expect((await fetch(sume.origin + path)).status).toBe(404);
  });

  it("with a broken path are refused", async () => {
    expect((await fetch(`${sume.origin}/job_a/%ff`)).status).toBe(400);
  });
});
