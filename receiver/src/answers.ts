// The receiver's HTTP answers: success as JSON, errors as RFC 9457 problem details. A detail says what to do. Of what
// was sent it repeats nothing but the name of an encoding.

import type { DeliveryOutcome } from "./delivery.ts";

export function problem(status: number, title: string, detail: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ type: "about:blank", title, status, detail }), {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
  });
}

export const notFound = () => problem(404, "Not found", "Sume's webhooks are received at POST /webhooks/sume.");
export const methodNotAllowed = () => problem(405, "Method not allowed", "Send a POST request.", { allow: "POST" });
export const bodyIncomplete = () =>
  problem(408, "Request timeout", "The body did not arrive, or not in time. The delivery can be repeated.");
export const tooLarge = (limit: number) =>
  problem(413, "Content too large", `The body must have at most ${limit} bytes.`);
export const encoded = (coding: string) =>
  problem(
    415,
    "Unsupported media type",
    `Send the body as it is, without the Content-Encoding ${coding}: the signature covers the bytes as they come.`,
    { "accept-encoding": "identity" },
  );
export const unauthorized = (reason: string) => problem(401, "Unauthorized", `${capitalized(reason)}.`);
export const badEvent = (what: string) => problem(400, "Bad event", `${capitalized(what)}.`);
export const misconfigured = () =>
  problem(
    503,
    "Receiver not configured",
    "The receiver lacks a setting; its log names it. The delivery can be repeated.",
  );

/** The answer to Sume for a delivery's outcome: 2xx ends its attempts, 503 brings the next one. */
export function answer(jobId: string, delivery: DeliveryOutcome, now: number): Response {
  switch (delivery.outcome) {
    case "accepted":
      return Response.json({ jobId, outcome: "accepted", dispatchedTo: delivery.dispatchedTo }, { status: 202 });
    case "duplicate":
      return Response.json({ jobId, outcome: "duplicate" });
    case "in_progress": {
      const seconds = Math.max(1, Math.ceil((delivery.retryAt - now) / 1_000));
      const detail = "Another delivery of this event is being worked on; whether it succeeds is not known yet.";
      return problem(503, "In progress", detail, { "retry-after": String(seconds) });
    }
    case "queue_refused":
      return problem(503, "Not dispatched", `No message was taken for: ${delivery.consumers.join(", ")}.`);
    case "ledger_unavailable":
      return problem(503, "Ledger unavailable", `The ledger did not answer (${delivery.during}).`);
    case "unknown":
      // Every delivery brings its event, so the ledger cannot answer this.
      return problem(500, "Internal error", "The ledger does not know the event it was given.");
    default:
      return delivery satisfies never;
  }
}

function capitalized(text: string): string {
  // A field's name keeps its spelling.
  return /^\w+_\w+ |^event /.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
