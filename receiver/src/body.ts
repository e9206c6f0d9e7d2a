// Reads a request's body as bytes, up to a limit, and the Sume event in it.

import * as v from "valibot";
import { describeIssue, EventType, JobId, MAX_EVENT_BODY_BYTES, parseBody } from "job-ledger/contract";

/**
 * Bytes of the buffers for a body: it moves to the next when it has filled one. So a megabyte that is only announced
 * costs 64 KiB. The byte over the limit shows that a body of unknown length is too long.
 */
const BUFFERS = [64 * 1_024, 256 * 1_024, MAX_EVENT_BODY_BYTES + 1] as const;

/**
 * Reads the body behind `prefix`, in one buffer, because joining the two later would take as long as signing them. Each
 * piece is read into that buffer, so that small pieces cost no more than large ones. `null`: the ledger stores no body
 * so long.
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
    // The read takes the buffer away, and gives it back filled.
    const { value } = await reader.readAtLeast(buffer.length - read.length, buffer.subarray(read.length));
    if (value === undefined) return read;
    read = new Uint8Array(value.buffer, 0, read.length + value.length);
    const hasEnded = read.length < prefix.length + room || room === declared;
    if (hasEnded) return read;
  }
  return null;
}

/**
 * The first coding in `Content-Encoding` that changes the bytes, by its name if an answer may repeat it; `null`: none
 * does.
 */
export function contentCoding({ headers }: Request): string | null {
  const codings = (headers.get("content-encoding") ?? "").split(",").map((coding) => coding.trim().toLowerCase());
  const first = codings.find((coding) => coding !== "" && coding !== "identity");
  if (first === undefined) return null;
  return /^[\w-]{1,32}$/.test(first) ? first : "that was sent";
}

/** The `content-length`; `null` if it is missing or malformed. Over HTTP the runtime holds the sender to it. */
function declaredLength({ headers }: Request): number | null {
  const text = headers.get("content-length");
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}

/** `body` is the text of exactly the bytes that came: nothing is mended, a byte order mark stays. */
export type SumeEvent = { jobId: string; type: string; body: string };

const Payload = v.looseObject({ job_id: JobId, event: EventType });

/** The event in a verified body, or what is wrong with it, with the field's name. */
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
