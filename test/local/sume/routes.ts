// The simulator's HTTP surface: which path is what, who may ask, and the record of who asked.
// Called by the simulator's server for each request.
// Leaves out what the answers are made of: jobs.ts, artifacts.ts, faults.ts and control.ts.

import type { IncomingMessage, ServerResponse } from "node:http";
import { serveArtifact } from "./artifacts.ts";
import { applyFault } from "./faults.ts";
import type { ApiEndpoint, Faults } from "./faults.ts";
import { sendError, sendJson } from "./http.ts";
import { hasEnded, statusAnswer } from "./jobs.ts";
import type { Job, JobBook } from "./jobs.ts";

/** A request that the simulator got, recorded on arrival, whatever the answer was. */
export interface RecordedRequest {
  readonly endpoint: ApiEndpoint | "artifact";
  readonly method: string;
  /** Path and query as on the wire. */
  readonly path: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What the routes need of the simulator. */
export interface Backend {
  readonly origin: string;
  readonly apiKey: string;
  readonly jobs: JobBook;
  readonly faults: Faults;
  readonly requests: RecordedRequest[];
  readonly closing: AbortSignal;
  /** Sends the job's webhook in the background; false when no receiver is set. */
  readonly startDelivery: (job: Job, trigger: "end" | "redeliver") => boolean;
  /** Answers `POST /control/jobs`, where there is a control API. */
  readonly control: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | null;
}

/** Answers one request. Rejects only for a bug, a client that went away, or when the simulator closes. */
export async function route(backend: Backend, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const method = request.method ?? "GET";
  const path = request.url ?? "/";
  const url = URL.parse(backend.origin + path);
  const segments = url === null ? null : decodedSegments(url.pathname);
  if (url === null || segments === null) return sendError(response, 400, "bad_path", "This is not a valid path.");

  const record = (endpoint: RecordedRequest["endpoint"]) =>
    backend.requests.push({ endpoint, method, path, at: Date.now() });
  const [first, second, third = "", ...rest] = segments;

  if (first === "v1" && second === "jobs" && rest.join("/") === "status") {
    record("status");
    if (!allowed(["GET"], method, response)) return;
    return answerApi("status", third, backend, request, response);
  }
  if (first === "v1" && second === "jobs" && rest.join("/") === "webhook/redeliver") {
    record("redeliver");
    if (!allowed(["POST"], method, response)) return;
    return answerApi("redeliver", third, backend, request, response);
  }
  if (backend.control !== null && path === "/control/jobs") {
    if (!allowed(["POST"], method, response)) return;
    return backend.control(request, response);
  }
  if (segments.length === 2 && first !== "v1" && first !== "control") {
    record("artifact");
    if (!allowed(["GET", "HEAD"], method, response)) return;
    return serveArtifact(url, request, response, backend.closing);
  }
  sendError(response, 404, "not_found", "There is nothing at this path.");
}

async function answerApi(
  endpoint: ApiEndpoint,
  jobId: string,
  backend: Backend,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const fault = backend.faults.take(endpoint);
  if (fault !== undefined && (await applyFault(fault, response, backend.closing))) return;

  if (request.headers.authorization !== `Bearer ${backend.apiKey}`) {
    response.setHeader("www-authenticate", "Bearer");
    return sendError(response, 401, "unauthorized", "Send the API key as a bearer token.");
  }
  const job = backend.jobs.find(jobId);
  if (job === undefined) return sendError(response, 404, "job_not_found", "There is no job of this id.");
  if (endpoint === "status") return sendJson(response, 200, statusAnswer(job));

  if (!hasEnded(job)) return sendError(response, 409, "job_not_ended", `The job is ${job.state}.`);
  if (!backend.startDelivery(job, "redeliver")) {
    return sendError(response, 409, "no_webhook_url", "No receiver is configured.");
  }
  sendJson(response, 202, { job_id: job.id, status: job.state, redelivery: "queued" });
}

function allowed(methods: readonly string[], method: string, response: ServerResponse): boolean {
  if (methods.includes(method)) return true;
  response.setHeader("allow", methods.join(", "));
  sendError(response, 405, "method_not_allowed", `Use ${methods.join(" or ")}.`);
  return false;
}

/** The path's segments, decoded, or null when one is not valid percent-encoded UTF-8. */
function decodedSegments(pathname: string): string[] | null {
  try {
    return pathname.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return null;
  }
}
