// Random deliveries for the fuzz test. They are descriptions that fast-check can shrink and print, and become bytes and
// headers when they are sent. With each stands what the documentation says of it. That judgement is written anew and
// shares no code with the receiver.

import * as fc from "fast-check";
import { SECRET } from "../../support/stack/stack.ts";
import { sign, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../../local/sume/webhooks/sign.ts";
import { event, now } from "../receiver/requests.ts";

const MIB = 1_048_576;
const PATH = "/webhooks/sume";

/** A position, as a share of the whole. */
const share = fc.double({ min: 0, max: 1, noNaN: true });
const characterOf = (text: string) => fc.constantFrom(...text.split(""));
const jsonText = fc.jsonValue().map((value) => JSON.stringify(value));

/** Each a change of bytes that begin as a valid event. */
const change = fc.oneof(
  fc.record({ to: fc.constant("flip"), at: share, bit: fc.nat(7) }),
  fc.record({ to: fc.constant("cut"), at: share }),
  fc.record({ to: fc.constant("insert"), at: share, bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }) }),
  fc.record({ to: fc.constant("prepend"), text: fc.constantFrom("\ufeff", "\ufeff\ufeff", " \r\n", "[", "\u00a0") }),
  fc.record({ to: fc.constant("append"), text: fc.constantFrom("\n", "\0", "}", "{}", ",", "\ufeff", "//") }),
  fc.record({ to: fc.constant("key"), key: fc.constantFrom("job_id", "event", "a"), json: jsonText }),
  fc.record({ to: fc.constant("nest"), depth: fc.nat(20_000), closed: fc.boolean() }),
  fc.record({
    to: fc.constant("key"),
    key: fc.constant("n"),
    json: fc.constantFrom("1e999", "9".repeat(400), "01", "NaN"),
  }),
  fc.record({ to: fc.constant("pad"), length: fc.integer({ min: MIB - 2, max: MIB + 2 }) }),
  fc.record({ to: fc.constant("replace"), bytes: fc.uint8Array({ maxLength: 64 }) }),
);
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never;

const junk = fc.string({ unit: characterOf('sume-v1=0123456789abcdefABCDEF,; "%\u00e9\u00ff'), maxLength: 90 });
const timestamp = fc.oneof(junk, fc.constantFrom("0", "1e9", "NaN", "-1", "1.5", "9".repeat(13), "1".repeat(400)));
const junkList = fc.array(junk, { maxLength: 3 });

const signing = fc.oneof(
  { weight: 8, arbitrary: fc.record({ by: fc.constant("the secret") }) },
  fc.record({ by: fc.constant("another secret"), secret: fc.string({ minLength: 1, maxLength: 40 }) }),
  // Not within seconds of the edge: the time passes between the signing and the check.
  fc.record({ by: fc.constant("another time"), seconds: fc.constantFrom(-86_400, -620, -580, 280, 320, 86_400) }),
  fc.record({ by: fc.constant("another timestamp"), timestamp }),
  fc.record({ by: fc.constant("another body"), change }),
  fc.record({ by: fc.constant("many entries"), before: junkList, after: junkList }),
  fc.record({ by: fc.constant("spoiled digits"), at: share, digit: characterOf("0fFg \u00e9") }),
  fc.record({ by: fc.constant("nothing"), timestamp: fc.option(timestamp), signature: fc.option(junk) }),
);

const method = fc.constantFrom("POST", "GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "PROPFIND");
const path = fc.constantFrom(
  PATH,
  `${PATH}?${PATH}`,
  `${PATH}/`,
  `/${PATH}`,
  "/",
  "/webhooks/%73ume",
  "/WEBHOOKS/sume",
);
const contentType = fc.option(fc.oneof(junk, fc.constantFrom("application/json", "text/plain; charset=utf-16")));

export const deliveries = fc.record({
  jobId: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 2 ** 31 }).map((n) => `fuzz-${n}`) },
    fc.nat(5).map((n) => `fuzz-again-${n}`),
    fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    fc.constantFrom(512, 513).map((length) => "j".repeat(length)),
  ),
  type: fc.oneof(
    { weight: 4, arbitrary: fc.constant("job.completed") },
    fc.string({ unit: "grapheme", maxLength: 130 }),
  ),
  rest: fc.oneof(
    fc.constant(""),
    fc.jsonValue().map((value) => `,"rest":${JSON.stringify(value)}`),
  ),
  changes: fc.oneof(fc.constant([]), fc.array(change, { maxLength: 2 })),
  signing,
  method: fc.oneof({ weight: 12, arbitrary: fc.constant("POST") }, method),
  path: fc.oneof({ weight: 12, arbitrary: fc.constant(PATH) }, path),
  contentType,
  chunks: fc.option(fc.constantFrom(7_001, 65_536), { nil: undefined, freq: 8 }),
});
type Described = typeof deliveries extends fc.Arbitrary<infer D> ? D : never;

export type Delivery = {
  body: Buffer;
  options: { method: string; path: string; headers: Record<string, string>; chunks?: number };
  /** The statuses that the documentation allows; of an event that is accepted, the job too. */
  allowed: { statuses: number[]; jobId?: string };
};

export function deliveryOf({
  jobId,
  type,
  rest,
  changes,
  signing: how,
  contentType: kind,
  ...described
}: Described): Delivery {
  let body: Buffer = Buffer.from(event(jobId, rest, type));
  for (const made of changes) body = changed(body, made);
  const headers = { ...signed(body, how), ...(kind !== null && { "content-type": kind }) };
  const { method: verb, path: where, chunks } = described;
  return {
    body,
    options: { method: verb, path: where, headers, ...(chunks !== undefined && { chunks }) },
    allowed: judged(body, verb, where, headers),
  };
}

function changed(body: Buffer, made: Change): Buffer {
  const at = "at" in made ? Math.floor(made.at * body.length) : 0;
  const inFront = (text: string) => Buffer.concat([Buffer.from(text), body.subarray(1)]);
  switch (made.to) {
    case "flip":
      return Buffer.from(body.map((byte, index) => (index === at ? byte ^ (1 << made.bit) : byte)));
    case "cut":
      return body.subarray(0, at);
    case "insert":
      return Buffer.concat([body.subarray(0, at), made.bytes, body.subarray(at)]);
    case "prepend":
      return Buffer.concat([Buffer.from(made.text), body]);
    case "append":
      return Buffer.concat([body, Buffer.from(made.text)]);
    case "key":
      // Before the event's own, which is the one that counts. After a cut or a flip it may be the only one.
      return inFront(`{${JSON.stringify(made.key)}:${made.json},`);
    case "nest":
      return inFront(`{"deep":${"[".repeat(made.depth)}${made.closed ? "]".repeat(made.depth) : ""},`);
    case "pad":
      return Buffer.concat([body, Buffer.alloc(Math.max(0, made.length - body.length), " ")]);
    case "replace":
      return Buffer.from(made.bytes);
    default:
      return made satisfies never;
  }
}

const both = (stamp: string, entries: string) => ({ [TIMESTAMP_HEADER]: stamp, [SIGNATURE_HEADER]: entries });

function signed(body: Buffer, how: Described["signing"]): Record<string, string> {
  const time = String(now());
  const own = sign(SECRET, time, body);
  switch (how.by) {
    case "the secret":
      return both(time, own);
    case "another secret":
      return both(time, sign(how.secret, time, body));
    case "another time":
      return both(String(now() + how.seconds), sign(SECRET, now() + how.seconds, body));
    case "another timestamp":
      return both(how.timestamp, sign(SECRET, how.timestamp, body));
    case "another body":
      return both(time, sign(SECRET, time, changed(body, how.change)));
    case "many entries":
      return both(time, [...how.before, own, ...how.after].join(","));
    case "spoiled digits": {
      const at = Math.floor(how.at * own.length);
      return both(time, own.slice(0, at) + how.digit + own.slice(at + 1));
    }
    case "nothing":
      return {
        ...(how.timestamp !== null && { [TIMESTAMP_HEADER]: how.timestamp }),
        ...(how.signature !== null && { [SIGNATURE_HEADER]: how.signature }),
      };
    default:
      return how satisfies never;
  }
}

function judged(body: Buffer, verb: string, where: string, headers: Record<string, string>): Delivery["allowed"] {
  if (new URL(`http://receiver${where}`).pathname !== PATH) return { statuses: [404] };
  if (verb !== "POST") return { statuses: [405] };
  if (body.length > MIB) return { statuses: [413] };
  // White space around a header's value is not part of it.
  const stamp = (headers[TIMESTAMP_HEADER] ?? "").replaceAll(/^[ \t]+|[ \t]+$/g, "");
  const entries = (headers[SIGNATURE_HEADER] ?? "").split(",").map((entry) => entry.trim());
  const age = now() - Number(stamp);
  const inTime = /^[0-9]+$/.test(stamp) && age <= 600 && age >= -300;
  if (!inTime || !entries.includes(sign(SECRET, stamp, body))) return { statuses: [401] };
  const jobId = jobIn(body);
  return jobId === undefined ? { statuses: [400] } : { statuses: [202, 200], jobId };
}

/** The job that the body is a valid event of. */
function jobIn(body: Buffer): string | undefined {
  let payload: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    payload = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return undefined;
  const { job_id: jobId, event: type }: { job_id?: unknown; event?: unknown } = payload;
  if (typeof jobId !== "string" || jobId === "" || !jobId.isWellFormed() || Buffer.byteLength(jobId) > 512)
    return undefined;
  if (typeof type !== "string" || type === "" || !type.isWellFormed() || type.length > 128) return undefined;
  return jobId;
}
