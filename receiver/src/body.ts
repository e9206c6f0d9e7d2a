// Reading a request's body as bytes, up to a limit, and what it says as a Sume event.

import * as v from "valibot";
import { describeIssue, EventType, JobId, MAX_EVENT_BODY_BYTES, parseBody } from "job-ledger/contract";

/**
 * Bytes of the buffers that a body is read into, the next one when it has filled the last: a megabyte that is only announced
 * costs no more than the first. The byte over the limit tells that a body of unknown length is too long.
 */
const BUFFERS = [64 * 1_024, 256 * 1_024, MAX_EVENT_BODY_BYTES + 1] as const;

/**
 * Reads the body behind `prefix`, in one buffer: to join the two later would take as long as to sign them. Each piece is read
 * into that buffer, so that small pieces cost no more than large ones. `null`: it is longer than the ledger stores.
 */
export async function readBody(request: Request, prefix: Uint8Array): Promise<Uint8Array | null> {
  const declared = declaredLength(request);
  if (declared !== null && declared > MAX_EVENT_BODY_BYTES) return null;
  if (request.body === null || declared === 0) return prefix;
  const reader = request.body.getReader({ mode: "byob" });
  let read = prefix;
  for (const bytes of BUFFERS) {
    const room = Math.min(bytes, declared ?? bytes);
    const buffer = new Uint8Array(prefix.length + room);
    buffer.set(read);
    // Reading takes the buffer over, and hands it back with what was read.
    const { value } = await reader.readAtLeast(buffer.length - read.length, buffer.subarray(read.length));
    if (value === undefined) return read;
    read = new Uint8Array(value.buffer, 0, read.length + value.length);
    const hasEnded = read.length < prefix.length + room || room === declared;
    if (hasEnded) return read;
  }
  return null;
}

/** The first coding in `Content-Encoding` that changes the bytes, shortened to what may be repeated; `null`: none does. */
export function contentCoding({ headers }: Request): string | null {
  const codings = (headers.get("content-encoding") ?? "").split(",").map((coding) => coding.trim().toLowerCase());
  const first = codings.find((coding) => coding !== "" && coding !== "identity");
  if (first === undefined) return null;
  return /^[\w-]{1,32}$/.test(first) ? first : "that was sent";
}

/** `null`: none, or not a length. Over HTTP the runtime holds a sender to the length that it declares. */
function declaredLength({ headers }: Request): number | null {
  const text = headers.get("content-length");
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
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
