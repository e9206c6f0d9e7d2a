// The control API of the simulator that runs by itself. One POST makes a job, ends it and sends its webhook. Called by
// people with curl and by scripts, through `serve` of the command line.
// Leaves out authentication: the server listens on loopback only.

import type { IncomingMessage, ServerResponse } from "node:http";
import * as v from "valibot";
import { readBody, sendError, sendJson } from "./http.ts";
import { endState, freshJobId, hasEnded, JOB_STATES } from "./jobs.ts";
import type { Job, JobBook } from "./jobs.ts";
import { SAMPLE_NAMES, sampleEvent, samplePayload } from "./webhooks/payloads.ts";

/** 64 KiB: a request holds a few names, nothing long. */
const MAX_REQUEST_BYTES = 64 * 1024;

const Fields = v.strictObject({
  /** Random when left out; an existing job is replaced, so a running one is ended by a second POST. */
  job_id: v.optional(v.pipe(v.string(), v.nonEmpty())),
  sample: v.optional(v.picklist(SAMPLE_NAMES), "video"),
  /** The sample's own type when left out. */
  event: v.optional(v.string()),
  /** The end that the event type names when left out; a state under way sends nothing. */
  state: v.optional(v.picklist(JOB_STATES)),
  /** False ends the job without its webhook, as if that were lost. */
  deliver: v.optional(v.boolean(), true),
});

const ControlRequest = v.pipe(
  v.string(),
  v.parseJson(),
  // To valibot an empty array is an object without fields.
  v.check((value) => !Array.isArray(value), "expected an object"),
  Fields,
);

/** Answers `POST /control/jobs` with 201 and the job; the webhook follows in the background. */
export async function answerControl(
  jobs: JobBook,
  startDelivery: (job: Job) => boolean,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request, MAX_REQUEST_BYTES);
  if (body === null) return sendError(response, 413, "too_large", `The limit is ${MAX_REQUEST_BYTES} bytes.`);
  const input = v.safeParse(ControlRequest, body.length === 0 ? "{}" : body.toString());
  if (!input.success) {
    const [issue] = input.issues;
    return sendError(response, 400, "invalid_request", `${v.getDotPath(issue) ?? "body"}: ${issue.message}`);
  }
  const { job_id: id = freshJobId(), sample, event = sampleEvent(sample), deliver } = input.output;
  const state = input.output.state ?? endState(event);
  const job = jobs.create({ id, event, state, body: samplePayload(sample, id, event) });
  const delivering = deliver && hasEnded(job) && startDelivery(job);
  sendJson(response, 201, { job_id: job.id, event: job.event, status: job.state, delivering });
}
