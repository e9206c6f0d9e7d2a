// A client for the two endpoints of Sume's API that the backup needs: one tells a job's status, one sends its webhook
// again. Whatever Sume does becomes one of a few answers; nothing here throws, retries or logs.

import { EventType, MAX_EVENT_BODY_BYTES, parseBody } from "job-ledger/contract";
import * as v from "valibot";

const DEFAULT_TIMEOUT_MS = 10_000;

export type SumeApi = {
  apiUrl: string;
  apiKey: string;
  /** Milliseconds for a call, until its answer is read; 10 s by default. */
  timeoutMs?: number;
};

/** What went wrong with either call. */
export type SumeTrouble =
  /** 401 or 403: the key is wrong, or may not do this. */
  | { kind: "forbidden"; status: number }
  /** 429, 5xx, or no answer in time: try again, after `retryAfterMs` if Sume named a time. */
  | { kind: "unavailable"; why: string; retryAfterMs: number }
  /** The answer is none that the API documents. */
  | { kind: "unexpected"; why: string };

export type StatusAnswer =
  /** `body` is the answer's text as it came; it becomes the event's. */
  | { kind: "ended"; eventType: string; body: string }
  | { kind: "not_ended"; state: string }
  | { kind: "unknown_job" }
  | SumeTrouble;

export type RedeliverAnswer = { kind: "asked" } | { kind: "unknown_job" } | SumeTrouble;

/** The states in which a job has ended. Any other one, also an unknown one, is «not ended»: the alert comes again. */
const ENDED = new Set(["completed", "failed", "canceled", "expired"]);

const Status = v.looseObject({ job_id: v.string(), status: v.string(), event: v.nullish(EventType) });

/** `GET /v1/jobs/{job_id}/status` */
export async function status(api: SumeApi, jobId: string): Promise<StatusAnswer> {
  const answer = await call(api, "GET", jobId, "status");
  if ("kind" in answer) return answer;
  if (answer.body === null) return { kind: "unexpected", why: "the status is larger than an event may be" };
  let parsed: unknown;
  try {
    parsed = parseBody(answer.body);
  } catch {
    return { kind: "unexpected", why: "the status is not JSON" };
  }
  const checked = v.safeParse(Status, parsed);
  if (!checked.success) {
    return { kind: "unexpected", why: `the status has no usable ${v.getDotPath(checked.issues[0]) ?? "fields"}` };
  }
  const { job_id, status: state, event } = checked.output;
  if (job_id !== jobId) return { kind: "unexpected", why: "the status is of another job" };
  if (!ENDED.has(state)) return { kind: "not_ended", state };
  return { kind: "ended", eventType: event ?? `job.${state}`, body: answer.body };
}

/** `POST /v1/jobs/{job_id}/webhook/redeliver` */
export async function redeliver(api: SumeApi, jobId: string): Promise<RedeliverAnswer> {
  const answer = await call(api, "POST", jobId, "webhook/redeliver");
  return "kind" in answer ? answer : { kind: "asked" };
}

/** `body` is `null` if it is longer than an event may be. */
async function call(
  { apiUrl, apiKey, timeoutMs = DEFAULT_TIMEOUT_MS }: SumeApi,
  method: string,
  jobId: string,
  endpoint: string,
): Promise<{ body: string | null } | { kind: "unknown_job" } | SumeTrouble> {
  const path = `/v1/jobs/${encodeURIComponent(jobId)}/${endpoint}`;
  const url = new URL(`${apiUrl.replace(/\/+$/, "")}${path}`);
  // A URL takes a job id of dots for a step up its path.
  if (!url.pathname.endsWith(path)) return { kind: "unexpected", why: "the job id cannot stand in a URL" };
  let response: Response;
  let body: string | null;
  try {
    // No redirect is followed, because the key is for this origin only.
    const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json" };
    response = await fetch(url, { method, headers, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
    body = await readText(response);
  } catch (error) {
    const late = error instanceof Error && error.name === "TimeoutError";
    return { kind: "unavailable", why: late ? "no answer in time" : "no connection", retryAfterMs: 0 };
  }
  if (response.ok) return { body };
  const { status: code } = response;
  if (code === 401 || code === 403) return { kind: "forbidden", status: code };
  // A 404 with JSON is the API's, and is about the job. Any other comes from a wrong address.
  if (code === 404 && body !== null && isJson(body)) return { kind: "unknown_job" };
  if (code === 429 || code >= 500) {
    return { kind: "unavailable", why: `answered ${code}`, retryAfterMs: retryAfterMs(response) };
  }
  return { kind: "unexpected", why: `answered ${code}` };
}

/** `null` if it is longer than an event may be; then the rest is not read. */
async function readText({ body }: Response): Promise<string | null> {
  if (body === null) return "";
  const reader = body.getReader({ mode: "byob" });
  const most = MAX_EVENT_BODY_BYTES + 1;
  const { value: bytes = new Uint8Array() } = await reader.readAtLeast(most, new Uint8Array(most));
  if (bytes.length < most) return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
  await reader.cancel().catch(() => undefined);
  return null;
}

/** RFC 9110: seconds or an HTTP date. */
function retryAfterMs(response: Response): number {
  const value = response.headers.get("retry-after") ?? "";
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
