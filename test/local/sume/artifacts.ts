// The files that a job made, as an HTTP endpoint. Any path of two segments has bytes, always the same ones. Called by
// the routes; tests compare what a consumer stored with `artifactBytes`.
// Leaves out range requests and caching headers.

import { createCipheriv, createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import { sendError } from "./http.ts";

const CHUNK_BYTES = 64 * 1024;

/** Keeps a mistyped `bytes` from running for hours: 1 GiB. */
const MAX_BYTES = 1024 ** 3;

/** Keeps `delay` within what a test would wait for: 10 minutes. */
const MAX_DELAY_MS = 600_000;

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  ["mp4", "video/mp4"],
  ["webm", "video/webm"],
  ["mp3", "audio/mpeg"],
  ["wav", "audio/wav"],
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["webp", "image/webp"],
  ["json", "application/json"],
  ["txt", "text/plain; charset=utf-8"],
]);

/** The length of an artifact without `?bytes=`: 1 to 9 KiB, set by its path. */
function naturalLength(path: string): number {
  return 1024 + (createHash("sha256").update(path).digest().readUInt16BE(30) % 8192);
}

/** The artifact's bytes, a chunk at a time. They are a cipher's key stream, keyed by the path: any length is cheap. */
function* chunks(path: string, length: number): Generator<Uint8Array> {
  const key = createHash("sha256").update(path).digest().subarray(0, 16);
  const stream = createCipheriv("aes-128-ctr", key, Buffer.alloc(16));
  for (let left = length; left > 0; left -= CHUNK_BYTES) {
    yield stream.update(Buffer.alloc(Math.min(left, CHUNK_BYTES)));
  }
}

/**
 * What the simulator serves at a path.
 *
 * @param path the URL's path as it is on the wire, percent-encoded, without query.
 * @param length bytes, as in `?bytes=`; a shorter artifact is a prefix of a longer one.
 */
export function artifactBytes(path: string, length: number = naturalLength(path)): Uint8Array {
  return Uint8Array.from(Buffer.concat([...chunks(path, length)]));
}

/**
 * Answers a request for an artifact. The query bends the answer:
 *
 * - `delay`: milliseconds before anything else
 * - `redirect`: a 302 to that URL
 * - `status`: that status, 200 to 599, with a short text
 * - `bytes`: the length
 * - `chunked=1`: no content-length
 */
export async function serveArtifact(
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
  closing: AbortSignal,
): Promise<void> {
  const knobs = readKnobs(url.searchParams);
  if (typeof knobs === "string") return sendError(response, 400, "invalid_query", knobs);
  if (knobs.delay > 0) await wait(knobs.delay, undefined, { signal: closing });
  if (knobs.redirect !== null) {
    response.writeHead(302, { location: knobs.redirect }).end();
    return;
  }
  if (knobs.status !== null) {
    response.writeHead(knobs.status, { "content-type": "text/plain" }).end(`status ${knobs.status}, as asked\n`);
    return;
  }
  const length = knobs.bytes ?? naturalLength(url.pathname);
  response.statusCode = 200;
  response.setHeader("content-type", contentType(url.pathname));
  if (knobs.chunked) response.setHeader("transfer-encoding", "chunked");
  else response.setHeader("content-length", length);
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  await pipeline(Readable.from(chunks(url.pathname, length)), response);
}

function contentType(path: string): string {
  return CONTENT_TYPES.get(path.slice(path.lastIndexOf(".") + 1).toLowerCase()) ?? "application/octet-stream";
}

interface Knobs {
  readonly delay: number;
  readonly redirect: string | null;
  readonly status: number | null;
  readonly bytes: number | null;
  readonly chunked: boolean;
}

/** The knobs, or the sentence to refuse them with. */
function readKnobs(query: URLSearchParams): Knobs | string {
  const delay = wholeNumber(query, "delay", 0, MAX_DELAY_MS);
  if (typeof delay === "string") return delay;
  const status = wholeNumber(query, "status", 200, 599);
  if (typeof status === "string") return status;
  const bytes = wholeNumber(query, "bytes", 0, MAX_BYTES);
  if (typeof bytes === "string") return bytes;
  return { delay: delay ?? 0, redirect: query.get("redirect"), status, bytes, chunked: query.get("chunked") === "1" };
}

/** The number, null where the query has none, or the sentence to refuse it with. */
function wholeNumber(query: URLSearchParams, name: string, min: number, max: number): number | null | string {
  const text = query.get(name);
  if (text === null) return null;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  return `${name} must be a whole number from ${min} to ${max}`;
}
