// A Sume API that misbehaves as the job's id says, for the reconciler's tests. It is started before the workerd
// project, which gets its origin as `sumeOrigin`. The whole simulator, with jobs and webhooks, is test/local/sume.

import { createServer, type ServerResponse } from "node:http";
import type { TestProject } from "vitest/node";
import { closeServer, listen } from "../tools/listen.ts";

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

/** By the part of the job's id before the first dot. */
const ANSWERS: Record<string, (response: ServerResponse, jobId: string) => unknown> = {
  completed: (r, job_id) => json(r, 200, { job_id, status: "completed", event: "job.completed", n: 1 }),
  failed: (r, job_id) => json(r, 200, { job_id, status: "failed" }),
  canceled: (r, job_id) => json(r, 200, { job_id, status: "canceled" }),
  expired: (r, job_id) => json(r, 200, { job_id, status: "expired" }),
  eventless: (r, job_id) => json(r, 200, { job_id, status: "completed", event: null }),
  mistyped: (r, job_id) => json(r, 200, { job_id, status: "completed", event: 7 }),
  queued: (r, job_id) => json(r, 200, { job_id, status: "queued" }),
  running: (r, job_id) => json(r, 200, { job_id, status: "running" }),
  processing: (r, job_id) => json(r, 200, { job_id, status: "processing" }),
  paused: (r, job_id) => json(r, 200, { job_id, status: "paused <script>" }),
  other: (r) => json(r, 200, { job_id: "another", status: "completed" }),
  stateless: (r, job_id) => json(r, 200, { job_id }),
  numbered: (r, job_id) => json(r, 200, { job_id, status: 7 }),
  list: (r) => json(r, 200, []),
  html: (r) => r.writeHead(200, { "content-type": "text/html" }).end("<h1>Maintenance</h1>"),
  empty: (r) => r.writeHead(200).end(),
  huge: (r, job_id) => json(r, 200, { job_id, status: "completed", pad: "x".repeat(1_048_576) }),
  /** Longer than it may be already, and never at its end. */
  unending: (r, job_id) => {
    r.writeHead(200, { "content-type": "application/json" });
    r.write(`{"job_id":${JSON.stringify(job_id)},"status":"completed","pad":"${"x".repeat(1_048_576)}`);
  },
  unauthorized: (r) => json(r, 401, {}),
  forbidden: (r) => json(r, 403, {}),
  unknown: (r) => json(r, 404, {}),
  astray: (r) => r.writeHead(404, { "content-type": "text/html" }).end("<h1>Not found</h1>"),
  teapot: (r) => json(r, 418, {}),
  busy: (r) => json(r, 429, {}, { "retry-after": "120" }),
  "busy-until": (r) => json(r, 429, {}, { "retry-after": new Date(Date.now() + 600_000).toUTCString() }),
  "busy-somehow": (r) => json(r, 429, {}, { "retry-after": "soon" }),
  broken: (r) => r.writeHead(500, { "content-type": "text/html" }).end("<h1>Oops</h1>"),
  down: (r) => json(r, 503, {}, { "retry-after": "5" }),
  redirect: (r) => r.writeHead(302, { location: "https://elsewhere.example/" }).end(),
  cut: (r) => r.destroy(),
  short: (r) => {
    r.writeHead(200, { "content-length": "100" });
    r.write("{");
    r.destroy();
  },
  silent: () => undefined,
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    const jobId = decodeURIComponent(request.url?.split("/")[3] ?? "");
    const [behaviour = ""] = jobId.split(".");
    const authorized = request.headers.authorization === "Bearer the-key";
    if (!authorized) json(response, 401, {});
    else if (request.method === "POST" && behaviour === "completed") json(response, 202, {});
    else if (request.method === "POST" && behaviour === "failed") json(response, 404, {});
    else (ANSWERS[behaviour] ?? ANSWERS["unknown"])?.(response, jobId);
  });
  project.provide("sumeOrigin", `http://127.0.0.1:${await listen(server)}`);
  return () => closeServer(server);
}
