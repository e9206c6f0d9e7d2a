// The client of Sume's API, against an API that misbehaves in every way. Each answer becomes one of a few, and nothing
// throws.

import { describe, expect, inject, test } from "vitest";
import { redeliver, status, type SumeApi } from "../../../consumers/reconciler/src/sume.ts";

const api: SumeApi = { apiUrl: inject("sumeOrigin"), apiKey: "the-key" };
/** Where the time counts; else as much as the product's own. The last has all of its bytes at once, and no end. */
const TIMEOUTS_MS = new Map([
  ["silent.1", 500],
  ["unending.1", 3_000],
]);
const unexpected = (why: string) => ({ kind: "unexpected", why });
const unavailable = (why: string, retryAfterMs = 0) => ({ kind: "unavailable", why, retryAfterMs });

describe("status", () => {
  test.each([
    [
      "completed.1",
      {
        kind: "ended",
        eventType: "job.completed",
        body: '{"job_id":"completed.1","status":"completed","event":"job.completed","n":1}',
      },
    ],
    ["failed.1", { kind: "ended", eventType: "job.failed", body: '{"job_id":"failed.1","status":"failed"}' }],
    ["canceled.1", { kind: "ended", eventType: "job.canceled", body: '{"job_id":"canceled.1","status":"canceled"}' }],
    ["expired.1", { kind: "ended", eventType: "job.expired", body: '{"job_id":"expired.1","status":"expired"}' }],
    [
      "eventless.1",
      {
        kind: "ended",
        eventType: "job.completed",
        body: '{"job_id":"eventless.1","status":"completed","event":null}',
      },
    ],
    ["queued.1", { kind: "not_ended", state: "queued" }],
    ["running.1", { kind: "not_ended", state: "running" }],
    ["processing.1", { kind: "not_ended", state: "processing" }],
    ["paused.1", { kind: "not_ended", state: "paused <script>" }],
    ["unknown.1", { kind: "unknown_job" }],
    ["a/b ?#é☕", { kind: "unknown_job" }],
    ["unauthorized.1", { kind: "forbidden", status: 401 }],
    ["forbidden.1", { kind: "forbidden", status: 403 }],
    ["busy.1", unavailable("answered 429", 120_000)],
    ["busy-somehow.1", unavailable("answered 429")],
    ["broken.1", unavailable("answered 500")],
    ["down.1", unavailable("answered 503", 5_000)],
    ["cut.1", unavailable("no connection")],
    ["short.1", unavailable("no connection")],
    ["silent.1", unavailable("no answer in time")],
    ["teapot.1", unexpected("answered 418")],
    ["astray.1", unexpected("answered 404")],
    ["redirect.1", unexpected("answered 302")],
    ["html.1", unexpected("the status is not JSON")],
    ["empty.1", unexpected("the status is not JSON")],
    ["list.1", unexpected("the status has no usable job_id")],
    ["stateless.1", unexpected("the status has no usable status")],
    ["numbered.1", unexpected("the status has no usable status")],
    ["mistyped.1", unexpected("the status has no usable event")],
    ["other.1", unexpected("the status is of another job")],
    ["huge.1", unexpected("the status is larger than an event may be")],
    ["unending.1", unexpected("the status is larger than an event may be")],
    ["..", unexpected("the job id cannot stand in a URL")],
    [".", unexpected("the job id cannot stand in a URL")],
  ])("of %s", async (jobId, answer) => {
    const timeoutMs = TIMEOUTS_MS.get(jobId) ?? 10_000;
    expect(await status({ ...api, timeoutMs }, jobId)).toEqual(answer);
  });

  test("reads an HTTP date in Retry-After", async () => {
    const answer = await status(api, "busy-until.1");
    expect(answer).toMatchObject({ kind: "unavailable" });
    const ms = answer.kind === "unavailable" ? answer.retryAfterMs : Number.NaN;
    expect(ms).toBeGreaterThan(500_000);
    expect(ms).toBeLessThanOrEqual(600_000);
  });

  test("with a wrong key", async () => {
    expect(await status({ ...api, apiKey: "another" }, "completed.1")).toEqual({ kind: "forbidden", status: 401 });
  });

  test("under a base URL with a slash at its end", async () => {
    expect(await status({ ...api, apiUrl: `${api.apiUrl}/` }, "running.1")).toMatchObject({ kind: "not_ended" });
  });

  test("where nobody listens", async () => {
    expect(await status({ ...api, apiUrl: "http://127.0.0.1:9" }, "completed.1")).toEqual(unavailable("no connection"));
  });
});

describe("redeliver", () => {
  test.each([
    ["completed.1", { kind: "asked" }],
    ["unknown.1", { kind: "unknown_job" }],
    ["teapot.1", unexpected("answered 418")],
    ["busy.1", unavailable("answered 429", 120_000)],
    ["forbidden.1", { kind: "forbidden", status: 403 }],
  ])("of %s", async (jobId, answer) => {
    expect(await redeliver(api, jobId)).toEqual(answer);
  });
});
