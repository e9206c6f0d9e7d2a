// The values that stand in several calls, outcomes and messages: ids, names, events, identities. Each schema is the one check
// of its value, wherever it comes in.

import * as v from "valibot";
import { MAX_EVENT_BODY_BYTES, MAX_EVENT_TYPE_LENGTH, MAX_JOB_ID_BYTES } from "./limits.ts";

/** A JSON value; results are kept as JSON text. Not spelled out recursively: the RPC types unroll every type they carry. */
export type Json = string | number | boolean | null | object;

// A lone surrogate has no UTF-8 form: two different strings would be stored as one.
export const Text = v.pipe(
  v.string(),
  v.minLength(1),
  v.check((value) => value.isWellFormed(), "must be well-formed Unicode"),
);

/** Sume's idempotency key: 1 to 512 bytes of well-formed UTF-8. */
export const JobId = v.pipe(Text, v.maxBytes(MAX_JOB_ID_BYTES));
/** An event type such as `job.completed`: 1 to 128 characters. */
export const EventType = v.pipe(Text, v.maxLength(MAX_EVENT_TYPE_LENGTH));
/** A namespace or consumer name. It holds no colon, so the first colon of an object's name ends the namespace. */
export const Name = v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,64}$/, "must match [a-z0-9-]{1,64}"));

export const EventSource = v.picklist(["webhook", "poll"]);
export const LedgerEvent = v.strictObject({
  type: EventType,
  body: v.pipe(Text, v.maxBytes(MAX_EVENT_BODY_BYTES)),
  source: EventSource,
});

export type EventSource = v.InferOutput<typeof EventSource>;
export type LedgerEvent = v.InferOutput<typeof LedgerEvent>;

/** Who a binding is, from the `props` in its Worker's wrangler config. */
export type Identity = { namespace: string; consumer: string };

/** Some senders begin their JSON with a byte order mark; JSON.parse refuses it. */
export function parseBody(body: string): unknown {
  return JSON.parse(body.startsWith("\uFEFF") ? body.slice(1) : body);
}
