// Small answers and a bounded request body for the simulator's HTTP server.
// Called by the routes, the artifacts and the control API.
// Leaves out everything about jobs.

import type { IncomingMessage, ServerResponse } from "node:http";

/** Answers with JSON: a value, or text that is JSON already. */
export function sendJson(response: ServerResponse, status: number, json: object | string): void {
  const body = typeof json === "string" ? json : JSON.stringify(json);
  response
    .writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
    .end(body);
}

/** Answers with an error: a code for programs and a sentence for people. */
export function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  sendJson(response, status, { error: { code, message } });
}

/** The request's body, or null when it is longer than `limit` bytes. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    const bytes = Buffer.from(part);
    length += bytes.length;
    if (length > limit) return null;
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
