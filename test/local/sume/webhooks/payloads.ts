// Sample event bodies, one for each shape that Sume's webhooks are known to take.
// Called by the command line, the control API and tests.
// Leaves out byte-level variants (BOM, CRLF, invalid UTF-8): a test that wants one makes it from these.

/** Stands in a body for the origin that serves the artifacts. */
const ORIGIN_MARK = "%ORIGIN%";

interface Sample {
  /** The event type that belongs to this shape. */
  readonly event: string;
  /** The other fields, as JSON text: text, because a round trip through `JSON.parse` would change large numbers. */
  readonly rest: (job: { readonly id: string; readonly path: string }) => string;
}

const SAMPLES = {
  /** Two artifacts at different keys, and a URL elsewhere that is not an artifact. */
  video: {
    event: "job.completed",
    rest: ({ path }) =>
      `"type":"video_generation","status":"completed","created_at":"2026-10-05T08:15:00Z",` +
      `"result":{"video_url":"${ORIGIN_MARK}/${path}/cut.mp4","thumbnail_url":"${ORIGIN_MARK}/${path}/poster.jpg",` +
      `"duration_seconds":7.25},"status_url":"https://sume.invalid/v1/jobs/${path}/status"`,
  },
  /** Artifacts in a list. */
  images: {
    event: "job.completed",
    rest: ({ path }) =>
      `"type":"image_generation","result":{"images":[` +
      [0, 1, 2].map((i) => `{"index":${i},"url":"${ORIGIN_MARK}/${path}/${i}.png","width":768}`).join(",") +
      `]},"credits":6`,
  },
  /** Deeply placed artifact; numbers and characters that do not survive parsing and serialising again. */
  nested: {
    event: "job.completed",
    rest: ({ id, path }) =>
      `"data":{"object":{"id":${JSON.stringify(`clip of ${id}`)},"kind":"talking_head",` +
      `"video_url":"${ORIGIN_MARK}/${path}/talk.mp4","seed":12345678901234567890,"scale":1e20,` +
      `"note":"déjà vu 🎬","escaped":"a\\u2028b","raw":"a\u2028b"}}`,
  },
  /** A result without any artifact. */
  analysis: {
    event: "job.completed",
    rest: () =>
      `"type":"reference_analysis","result":{"summary":"one speaker outdoors","scores":{"hook":0.5,"pace":0.75}}`,
  },
  failed: {
    event: "job.failed",
    rest: () =>
      `"type":"video_generation","status":"failed","error":{"code":"input_unreadable","message":"The source image could not be read."}`,
  },
  /** The two documented fields and nothing else. */
  minimal: { event: "job.completed", rest: () => "" },
} satisfies Record<string, Sample>;

export type SampleName = keyof typeof SAMPLES;

export function isSampleName(name: string): name is SampleName {
  return Object.hasOwn(SAMPLES, name);
}

export const SAMPLE_NAMES: readonly SampleName[] = Object.keys(SAMPLES).filter(isSampleName);

/** The event type that a sample has when the caller names none. */
export function sampleEvent(name: SampleName): string {
  return SAMPLES[name].event;
}

/**
 * A sample's body as JSON text, still with `%ORIGIN%` in it. The same arguments give the same text.
 *
 * @param jobId any text; escaped as JSON and, in URLs, as one path segment.
 */
export function samplePayload(name: SampleName, jobId: string, event: string = sampleEvent(name)): string {
  const sample: Sample = SAMPLES[name];
  const rest = sample.rest({ id: jobId, path: encodeURIComponent(jobId.toWellFormed()) });
  return `{"event":${JSON.stringify(event)},"job_id":${JSON.stringify(jobId)}${rest === "" ? "" : `,${rest}`}}`;
}

/** The body's bytes with every `%ORIGIN%` replaced; all other bytes stay, also those that are not UTF-8. */
export function withOrigin(body: Uint8Array | string, origin: string): Uint8Array {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  // Latin-1 maps each byte to one character and back, so it is safe for any bytes.
  const text = Buffer.from(bytes).toString("latin1").replaceAll(ORIGIN_MARK, origin);
  return Uint8Array.from(Buffer.from(text, "latin1"));
}
