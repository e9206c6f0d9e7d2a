// Reading a request's body as bytes, up to a limit, and what it says as a Sume event.

import * as v from "valibot";
import { describeIssue, EventType, JobId, MAX_EVENT_BODY_BYTES, parseBody } from "job-ledger/contract";

/** Bytes that are held for a body before the first has come; then four times as many as have. 1 MiB that is only announced costs no more. */
const FIRST_BYTES = 64 * 1_024;
const GROWTH = 4;

/**
 * `before` and after it the body, in one buffer: to put them together later would take a large body as long as to sign it. `null`
 * if the body is longer than the ledger stores; no more than that is ever held.
 */
export async function readBody(request: Request, before: Uint8Array): Promise<Uint8Array | null> {
  const declared = request.headers.get("content-length");
  // Over HTTP the runtime holds a sender to the length it declares, so only an undeclared one must be counted.
  if (declared === null || !/^\d+$/.test(declared)) return await readCounted(request, before);
  const length = Number(declared);
  if (length > MAX_EVENT_BODY_BYTES) return null;
  return request.body === null || length === 0 ? before : await readDeclared(request.body, length, before);
}

async function readDeclared(body: ReadableStream, length: number, before: Uint8Array): Promise<Uint8Array> {
  const reader = body.getReader({ mode: "byob" });
  let filled = before.length;
  for (let room = Math.min(length, FIRST_BYTES), start = before; ; room = Math.min(length, GROWTH * room)) {
    const buffer = joined([start], before.length + room);
    // Reading takes the buffer over, and hands it back with what was read.
    const { value } = await reader.readAtLeast(buffer.length - filled, buffer.subarray(filled));
    if (value === undefined) return start;
    filled += value.length;
    start = new Uint8Array(value.buffer, 0, filled);
    if (room === length || filled < before.length + room) return start;
  }
}

async function readCounted(request: Request, before: Uint8Array): Promise<Uint8Array | null> {
  const chunks = [before];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > MAX_EVENT_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return joined(chunks, before.length + length);
}

/** The chunks, and zeros after them. */
function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
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
