// Reading a request's body as bytes, up to a limit, and what it says as a Sume event.

import * as v from "valibot";
import { describeIssue, EventType, JobId, MAX_EVENT_BODY_BYTES, parseBody } from "job-ledger/client";

/** The body, or `null` if it is longer than the ledger stores; no more than that is ever held. */
export async function readBody(request: Request): Promise<Uint8Array | null> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > MAX_EVENT_BODY_BYTES) return null;
  // The runtime holds a sender to the length it declares, so only an undeclared one must be counted.
  if (declared !== null) return await request.bytes();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > MAX_EVENT_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  const body = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}

/** `body` is the text of exactly the bytes received: nothing mended, no byte order mark stripped. */
export type SumeEvent = { jobId: string; type: string; body: string };

const Payload = v.looseObject({ job_id: JobId, event: EventType });

/** The event in a verified body, or what is wrong with it, naming the field. */
export function parseEvent(bytes: Uint8Array): SumeEvent | { problem: string } {
  let body: string;
  let payload: unknown;
  try {
    body = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { problem: "the body is not UTF-8" };
  }
  try {
    payload = parseBody(body);
  } catch {
    return { problem: "the body is not JSON" };
  }
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    return { problem: "the body is not a JSON object" };
  }
  const parsed = v.safeParse(Payload, payload);
  if (parsed.success) return { jobId: parsed.output.job_id, type: parsed.output.event, body };
  const [issue] = parsed.issues;
  return { problem: `${v.getDotPath(issue) ?? "the body"} ${describeIssue(issue)}` };
}
