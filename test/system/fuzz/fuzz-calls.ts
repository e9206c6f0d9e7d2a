// Random RPC calls for the fuzz test, to the ledger and to the receiver's Intake. Arguments are right, with some of
// them wrong, missing or too many. What the contract says of each call is not foretold, only what it may answer at all.

import * as fc from "fast-check";

/** Few enough to meet again. */
const jobId = fc.oneof(
  { weight: 3, arbitrary: fc.nat(9).map((n) => `fuzz-call-${n}`) },
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(512, 513).map((length) => "j".repeat(length)),
);
const token = fc.oneof({ weight: 4, arbitrary: fc.constantFrom("t0", "t1") }, fc.string({ maxLength: 130 }));
const name = fc.oneof({ weight: 4, arbitrary: fc.constantFrom("caller", "scripted") }, fc.string({ maxLength: 66 }));
const type = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("job.completed", "job.failed") },
  fc.string({ unit: "binary", maxLength: 130 }),
);
const source = fc.oneof({ weight: 6, arbitrary: fc.constantFrom("webhook", "poll") }, fc.string());
const event = fc.record({ type, body: fc.oneof(fc.json(), fc.string({ unit: "binary" })), source });
/** At the bounds, between and beyond them. */
const number = (least: number, most: number) => {
  const edges = fc.constantFrom(least - 1, least, least + 0.5, most, most + 1, -0, 1e300);
  return fc.oneof({ weight: 2, arbitrary: fc.integer({ min: least, max: most }) }, edges);
};
const manyHeld = fc.array(fc.record({ jobId, token }), { maxLength: 3 });
const tooManyHeld = fc
  .constantFrom(100, 101)
  .map((length) => Array.from({ length }, () => ({ jobId: "fuzz-call-0", token: "t0" })));

type Fields = Record<string, fc.Arbitrary<unknown>>;
type Method = { must: Fields; may: Fields; outcomes: readonly string[] };

const job: Fields = { jobId };
const held: Fields = { jobId, token };
const namespace = fc.constantFrom("default", "default", "elsewhere", "a:b");
const operation: Fields = { namespace, jobId, actor: token };

/** By binding of the caller and method. No wait that takes time, and no deadline that comes within the test. */
const METHODS: Record<string, Method> = {
  "CALLER whoami": { must: {}, may: {}, outcomes: ["identity"] },
  "CALLER claim": {
    must: job,
    may: {
      event,
      leaseMs: number(1_000, 900_000),
      waitMs: fc.constantFrom(0, 1, 20, -1, 0.5, 8_001),
      maxAttempts: fc.oneof(fc.constant(null), number(1, 1_000)),
      token,
    },
    outcomes: ["claimed", "in_progress", "deferred", "completed", "failed", "unknown"],
  },
  "CALLER complete": {
    must: held,
    may: { result: fc.jsonValue(), dispatchedTo: fc.array(name) },
    outcomes: ["ok", "stale"],
  },
  "CALLER release": {
    must: held,
    may: {
      error: fc.string({ unit: "binary", maxLength: 3_000, size: "max" }),
      retryAfterMs: number(0, 43_200_000),
      permanent: fc.boolean(),
    },
    outcomes: ["ok", "stale"],
  },
  "CALLER renew": {
    must: { claims: fc.oneof({ weight: 4, arbitrary: manyHeld }, tooManyHeld) },
    may: { leaseMs: number(1_000, 900_000) },
    outcomes: ["ok", "stale"],
  },
  "CALLER inspect": { must: job, may: { body: fc.boolean() }, outcomes: ["record", "null"] },
  "CALLER expectEvent": {
    must: { jobId, withinMs: number(86_400_000, 2_592_000_000) },
    may: {},
    outcomes: ["expected", "arrived"],
  },
  "CALLER cancelExpectation": { must: job, may: {}, outcomes: ["cancelled", "arrived", "none"] },
  "ADMIN inspect": { must: operation, may: { body: fc.boolean() }, outcomes: ["record", "null"] },
  "ADMIN reopen": {
    must: { ...operation, consumer: name },
    may: { eventType: type, refresh: fc.boolean() },
    outcomes: ["reopened", "open", "unknown"],
  },
  "ADMIN abandon": {
    must: { ...operation, consumer: name },
    may: {},
    outcomes: ["abandoned", "ended", "unknown"],
  },
  "INTAKE ingest": { must: { namespace, jobId, event }, may: {}, outcomes: ["accepted", "duplicate"] },
  "INTAKE redispatch": {
    must: { namespace, jobId, pending: fc.array(name) },
    may: {},
    outcomes: ["redispatched", "accepted", "unknown", "no_queue"],
  },
  "ADMIN cancelExpectation": { must: operation, may: {}, outcomes: ["cancelled", "arrived", "none"] },
};

const FIELDS = [
  ...new Set(Object.values(METHODS).flatMap(({ must, may }) => [...Object.keys(must), ...Object.keys(may)])),
];

/** Put in whatever the field should have been, or where there is none. */
const wrong = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.dictionary(fc.constantFrom(...FIELDS), fc.jsonValue(), { minKeys: 1, maxKeys: 2 }),
  fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, maxKeys: 2 }),
);

/** A call by the name of its method, and the outcomes that it may have where it is not refused. */
export const calls = fc.oneof(
  ...Object.entries(METHODS).map(([method, { must, may, outcomes }]) => {
    const right = fc.record({ ...must, ...may }, { requiredKeys: Object.keys(must) });
    const partial = fc.record({ ...must, ...may }, { requiredKeys: [] });
    return fc.record({
      method: fc.constant(method),
      args: fc.oneof(
        { weight: 8, arbitrary: right },
        { weight: 4, arbitrary: fc.tuple(right, wrong).map(([args, over]) => ({ ...args, ...over })) },
        { weight: 1, arbitrary: partial },
        { weight: 1, arbitrary: fc.jsonValue() },
      ),
      outcomes: fc.constant(outcomes),
    });
  }),
);
