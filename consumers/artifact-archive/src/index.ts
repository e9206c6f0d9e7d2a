// A consumer of the job ledger: copies to R2 what a completed job made, once. A key is made of the job and the
// artifact's place in the event. It fetches from listed origins only. The README says what is tried again and what is
// given up.

import { consume, type Job, type JobMessage, NonRetryableError } from "job-ledger/client";

/** Milliseconds for a job. A stalled download must end as a recorded error, so less than an invocation's 15 minutes. */
const JOB_TIMEOUT_MS = 10 * 60_000;
/** Bytes that are held of a body without a length: R2's smallest part, for ten jobs at once fit into 128 MB. */
const PART_BYTES = 5 * 1024 * 1024;

export default {
  queue: (batch, env) => consume(batch, env.LEDGER, (job) => archive(job, env)),
} satisfies ExportedHandler<ArtifactArchiveEnv, JobMessage>;

async function archive(job: Job, { ARTIFACTS, ARTIFACT_ORIGINS, MAX_ARTIFACT_BYTES }: ArtifactArchiveEnv) {
  if (job.event.type !== "job.completed") return { count: 0 };
  const [origins, limit] = [ARTIFACT_ORIGINS.split(/\s*,\s*/), Number(MAX_ARTIFACT_BYTES)];
  if (origins.some((text) => URL.parse(text)?.origin !== text)) throw new Error("ARTIFACT_ORIGINS must be origins");
  if (!(limit > 0)) throw new Error("MAX_ARTIFACT_BYTES must be a number of bytes");
  // Escaped, because R2 takes equivalent Unicode texts for one key. An id too long for a key of 1,024 bytes is encoded.
  const [escaped, bytes] = [encodeURIComponent(job.jobId), new TextEncoder().encode(job.jobId)];
  const prefix = escaped.length <= 1_000 ? `${escaped}/` : `=${bytes.toBase64({ alphabet: "base64url" })}/`;
  const signal = AbortSignal.any([job.signal, AbortSignal.timeout(JOB_TIMEOUT_MS)]);
  let count = 0;
  for (const [position, url] of urlsIn(job.payload()).entries()) {
    if (!origins.includes(URL.parse(url)?.origin ?? "")) continue;
    await store(ARTIFACTS, `${prefix}${position}`, await open(new URL(url), origins, signal), limit);
    count += 1;
  }
  return { prefix, count };
}

/** Every string at a key `url` or `…_url`, in the event's order. */
function urlsIn(value: unknown, key = ""): string[] {
  if (typeof value === "string") return /(^|_)url$/.test(key) ? [value] : [];
  return value instanceof Object ? Object.entries(value).flatMap(([name, inner]) => urlsIn(inner, name)) : [];
}

/** Follows a few redirects by hand, for each must be to a listed origin. Only a 200 is a whole artifact. */
async function open(url: URL, origins: string[], signal: AbortSignal, redirects = 3): Promise<Response> {
  if (!origins.includes(url.origin)) throw new NonRetryableError(`redirected to ${url.origin}, which is not listed`);
  const response = await fetch(url, { redirect: "manual", signal });
  if (response.status === 200) return response;
  await response.body?.cancel();
  const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get("location") : null;
  if (location === null || redirects === 0) throw new Error(`${url.host}${url.pathname} answered ${response.status}`);
  return await open(new URL(location, url), origins, signal, redirects - 1);
}

async function store(bucket: R2Bucket, key: string, { headers, body }: Response, limit: number): Promise<R2Object> {
  const options = { httpMetadata: { contentType: headers.get("content-type") ?? "application/octet-stream" } };
  // An encoded body arrives decoded; its content-length counts other bytes.
  const length = headers.has("content-encoding") ? null : headers.get("content-length");
  try {
    if (Number(length) > limit) throw tooLarge(key);
    if (length !== null || body === null) return await bucket.put(key, body, options);
    return await storeInParts(await bucket.createMultipartUpload(key, options), body, limit);
  } catch (error) {
    await body?.cancel().catch(() => undefined); // a body that is not read keeps its connection
    throw error;
  }
}

async function storeInParts(upload: R2MultipartUpload, body: ReadableStream, limit: number): Promise<R2Object> {
  const reader = body.getReader({ mode: "byob" });
  try {
    const parts: R2UploadedPart[] = [];
    for (let full = true; full;) {
      const { value: part = new Uint8Array() } = await reader.readAtLeast(PART_BYTES, new Uint8Array(PART_BYTES));
      full = part.length === PART_BYTES;
      if (parts.length * PART_BYTES + part.length > limit) throw tooLarge(upload.key);
      if (part.length > 0 || parts.length === 0) parts.push(await upload.uploadPart(parts.length + 1, part));
    }
    return await upload.complete(parts);
  } catch (error) {
    reader.releaseLock();
    await upload.abort().catch(() => undefined); // R2 would keep its parts for a week, and charge for them
    throw error;
  }
}

const tooLarge = (key: string) => new NonRetryableError(`${key} is larger than MAX_ARTIFACT_BYTES`);
