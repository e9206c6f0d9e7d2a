// What the system tests send and look at: requests as bytes, signed or not, and the test Workers' controls.

import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { SECRET, type Stack } from "../../support/stack/stack.ts";
import { sign, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../../local/sume/webhooks/sign.ts";

/** An entry of the right form that matches nothing. */
export const FORGED = `sume-v1=${"0".repeat(64)}`;

export type Answer = { status: number | undefined; headers: IncomingHttpHeaders; text: string };
export type RequestOptions = {
  method?: string;
  /** `/webhooks/sume` when left out. */
  path?: string;
  /** A character above 0x7f in a value is sent as that byte. */
  headers?: OutgoingHttpHeaders;
  /** Send the body in chunks of that many bytes, without a content-length. */
  chunks?: number;
  /** Send the last byte when this has happened. */
  lastByteAfter?: Promise<unknown>;
};

/** The current unix second. */
export function now(): number {
  return Math.floor(Date.now() / 1_000);
}

/** A minimal event as JSON text; `rest` is put before its end, beginning with a comma. */
export function event(jobId: string, rest = "", type = "job.completed"): string {
  return `{"job_id":${JSON.stringify(jobId)},"event":${JSON.stringify(type)}${rest}}`;
}

/** Sends the request exactly so, on a connection of its own. `fetch` would refuse some headers and follow redirects. */
export function send(
  stack: Stack,
  body: string | Uint8Array,
  { method = "POST", path, headers = {}, chunks, lastByteAfter }: RequestOptions = {},
): Promise<Answer> {
  const url = new URL(stack.webhookUrl);
  const bytes = Buffer.from(body);
  const length = chunks === undefined && bytes.length > 0 ? { "content-length": bytes.length } : {};
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: url.hostname, port: url.port, path: path ?? url.pathname, method, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => (text += part));
        response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    for (const [name, value] of Object.entries({ ...length, ...headers })) {
      if (value !== undefined) sent.setHeader(name, value);
    }
    if (chunks !== undefined) {
      for (let start = 0; start < bytes.length; start += chunks) sent.write(bytes.subarray(start, start + chunks));
      sent.end();
    } else if (lastByteAfter !== undefined) {
      sent.write(bytes.subarray(0, -1));
      lastByteAfter.then(() => sent.end(bytes.subarray(-1)), reject);
    } else {
      sent.end(bytes);
    }
  });
}

/** The two headers, signed over the bytes as they are. */
export function signature(
  body: string | Uint8Array,
  { secret = SECRET, timestamp = now() }: { secret?: string; timestamp?: number | string } = {},
): { [TIMESTAMP_HEADER]: string; [SIGNATURE_HEADER]: string } {
  return { [TIMESTAMP_HEADER]: String(timestamp), [SIGNATURE_HEADER]: sign(secret, timestamp, body) };
}

/** Sends the body signed with the current secret, now. */
export function sendSigned(
  stack: Stack,
  body: string | Uint8Array,
  { headers = {}, ...options }: RequestOptions = {},
): Promise<Answer> {
  return send(stack, body, { ...options, headers: { ...headers, ...signature(body) } });
}

/** The bytes that the ledger holds for the job's first event. */
export async function storedBytes(stack: Stack, jobId: string): Promise<Buffer | undefined> {
  const body = (await stack.recordWithBodies(jobId))?.events[0]?.body;
  return body === undefined ? undefined : Buffer.from(body);
}

/**
 * Every job object there is, by id: the whole ledger, whatever a delivery named. An object exists from the first call
 * to it. So an unchanged list says that the ledger was not asked. The tests' own look at an unknown job adds to it.
 */
export async function jobObjects(stack: Stack): Promise<string[]> {
  return (await stack.harness.getWorker("ledger-service").listDurableObjectIds("JobLedger")).toSorted();
}
