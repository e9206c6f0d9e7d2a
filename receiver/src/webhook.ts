// A delivery by HTTP: route, verify, parse, hand on, answer. The signature is checked on the raw bytes before anything
// in them is believed, so a forged delivery never reaches the ledger.

import { errorName, log, MAX_EVENT_BODY_BYTES } from "job-ledger/contract";
import * as answers from "./answers.ts";
import { contentCoding, parseEvent, readBody } from "./body.ts";
import { ANSWER_WITHIN_MS, Deadline } from "./deadline.ts";
import { deliver } from "./delivery.ts";
import { importKey, signedPrefix } from "./hmac.ts";
import { identifyWithin, logDelivery, WORKER } from "./log.ts";
import { readDispatchQueues, readSignatureSettings } from "./settings.ts";
import { checkSignature, type SignatureCheck } from "./signature.ts";

const PATH = "/webhooks/sume";

export async function receive(request: Request, env: ReceiverEnv, ctx: ExecutionContext): Promise<Response> {
  if (new URL(request.url).pathname !== PATH) return answers.notFound();
  if (request.method !== "POST") return answers.methodNotAllowed();
  const deadline = new Deadline(ANSWER_WITHIN_MS);

  let settings: ReturnType<typeof readSignatureSettings>;
  let queues: ReturnType<typeof readDispatchQueues>;
  try {
    settings = readSignatureSettings({ ...env });
    queues = readDispatchQueues({ ...env });
  } catch (error) {
    const detail = error instanceof Error ? error.message : "";
    log({ worker: WORKER, event: "configuration", outcome: errorName(error), detail }, "error");
    return answers.misconfigured();
  }

  const coding = contentCoding(request);
  if (coding !== null) return refused("encoded", answers.encoded(coding));
  const timestamp = request.headers.get("x-sume-webhook-timestamp");
  const signature = request.headers.get("x-sume-webhook-signature");
  const prefix = signedPrefix(timestamp ?? "");
  let signed: Uint8Array | null;
  try {
    signed = await deadline.within(readBody(request, prefix));
  } catch {
    return refused("body_incomplete", answers.bodyIncomplete());
  }
  if (signed === null) return refused("too_large", answers.tooLarge(MAX_EVENT_BODY_BYTES));
  const keys = await Promise.all(settings.secrets.map(importKey));
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const { toleranceSeconds } = settings;
  const check = await checkSignature({ timestamp, signature, signed }, keys, { nowSeconds, toleranceSeconds });
  if (!check.valid && check.outcome === "unauthorized") {
    return refused("unauthorized", answers.unauthorized(check.reason));
  }
  const event = parseEvent(signed.subarray(prefix.length));
  if (!check.valid) return refusedForAge(check, event);
  if ("problem" in event) return refused("bad_event", answers.badEvent(event.problem));

  const { jobId, type } = event;
  const brought = { type, body: event.body, source: "webhook" } as const;
  const identity = identifyWithin(deadline, env.LEDGER);
  const delivery = await deliver(env.LEDGER, queues, { jobId, event: brought }, deadline, ctx);
  // Only the log line needs to know who we are, so the answer does not wait for it.
  ctx.waitUntil(identity.then((who) => logDelivery("delivery", { jobId, type }, who, delivery)));
  return answers.answer(jobId, delivery, Date.now());
}

/** Writes an error line with the job's id: if all of Sume's attempts are refused so, a person must redeliver. */
function refusedForAge(
  { outcome, reason, seconds }: Extract<SignatureCheck, { outcome: "too_old" | "too_early" }>,
  event: ReturnType<typeof parseEvent>,
): Response {
  const response = answers.unauthorized(reason);
  const jobId = "problem" in event ? undefined : event.jobId;
  log({ worker: WORKER, event: "delivery", outcome, status: response.status, jobId, seconds }, "error");
  return response;
}

function refused(outcome: string, response: Response): Response {
  log({ worker: WORKER, event: "delivery", outcome, status: response.status });
  return response;
}
