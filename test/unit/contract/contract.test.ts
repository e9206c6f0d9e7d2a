// The arguments of every call: each limit at and one over, the code that tells which kind of mistake it was, and that an
// error never repeats what it refuses.

import type * as v from "valibot";
import { describe, expect, test } from "vitest";
import {
  AdminInspectArgs,
  checked,
  ClaimArgs,
  CompleteArgs,
  InspectArgs,
  LedgerError,
  ReleaseArgs,
  RenewArgs,
  ReopenArgs,
} from "../../../ledger-service/contract/index.ts";

type Verb = "claim" | "complete" | "release" | "renew" | "inspect" | "reopen" | "admin inspect";
const SCHEMAS: Record<Verb, v.GenericSchema> = {
  claim: ClaimArgs,
  complete: CompleteArgs,
  release: ReleaseArgs,
  renew: RenewArgs,
  inspect: InspectArgs,
  reopen: ReopenArgs,
  "admin inspect": AdminInspectArgs,
};
/** The least that each call takes. */
const VALID: Record<Verb, object> = {
  claim: { jobId: "j" },
  complete: { jobId: "j", token: "t" },
  release: { jobId: "j", token: "t" },
  renew: { claims: [{ jobId: "j", token: "t" }] },
  inspect: { jobId: "j" },
  reopen: { namespace: "n", jobId: "j", actor: "a", consumer: "c" },
  "admin inspect": { namespace: "n", jobId: "j", actor: "a" },
};
const EVENT = { type: "job.completed", body: "{}", source: "webhook" };

const check = (verb: Verb, args: unknown) => checked(verb, SCHEMAS[verb], args);
const withArg = (verb: Verb, args: object) => check(verb, { ...VALID[verb], ...args });

function errorOf(run: () => unknown): LedgerError {
  try {
    run();
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

const of = (length: number, unit = "x") => unit.repeat(length);
const names = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`);
const claims = (count: number) => Array.from({ length: count }, (_, n) => ({ jobId: `j${n}`, token: "t" }));
const event = (part: object) => ({ event: { ...EVENT, ...part } });

type Limit = [what: string, verb: Verb, at: object, over: object, code: "too_large" | "invalid_argument"];

describe("a limit", () => {
  test.each<Limit>([
    ["jobId 512 bytes", "claim", { jobId: of(512) }, { jobId: of(513) }, "too_large"],
    ["jobId 512 bytes of é", "claim", { jobId: of(256, "é") }, { jobId: of(257, "é") }, "too_large"],
    ["jobId 512 bytes of 🎬", "claim", { jobId: of(128, "🎬") }, { jobId: of(128, "🎬") + "x" }, "too_large"],
    ["jobId 1 byte", "claim", { jobId: "x" }, { jobId: "" }, "invalid_argument"],
    ["complete: jobId", "complete", { jobId: of(512) }, { jobId: of(513) }, "too_large"],
    ["release: jobId", "release", { jobId: of(512) }, { jobId: of(513) }, "too_large"],
    ["inspect: jobId", "inspect", { jobId: of(512) }, { jobId: of(513) }, "too_large"],
    ["reopen: jobId", "reopen", { jobId: of(512) }, { jobId: of(513) }, "too_large"],
    ["admin inspect: jobId", "admin inspect", { jobId: of(512) }, { jobId: of(513) }, "too_large"],
    ["event type 128", "claim", event({ type: of(128) }), event({ type: of(129) }), "too_large"],
    ["event type 1", "claim", event({ type: "x" }), event({ type: "" }), "invalid_argument"],
    ["reopen: event type 128", "reopen", { eventType: of(128) }, { eventType: of(129) }, "too_large"],
    ["body 1 MiB", "claim", event({ body: of(1_048_576) }), event({ body: of(1_048_577) }), "too_large"],
    [
      "body 1 MiB of é",
      "claim",
      event({ body: of(524_288, "é") }),
      event({ body: of(524_288, "é") + "x" }),
      "too_large",
    ],
    ["body 1 byte", "claim", event({ body: "x" }), event({ body: "" }), "invalid_argument"],
    ["claim: token 128", "claim", { token: of(128) }, { token: of(129) }, "too_large"],
    ["claim: token 1", "claim", { token: "x" }, { token: "" }, "invalid_argument"],
    ["complete: token 128", "complete", { token: of(128) }, { token: of(129) }, "too_large"],
    ["release: token 128", "release", { token: of(128) }, { token: of(129) }, "too_large"],
    ["claim: lease at least 1 s", "claim", { leaseMs: 1_000 }, { leaseMs: 999 }, "invalid_argument"],
    ["claim: lease at most 15 min", "claim", { leaseMs: 900_000 }, { leaseMs: 900_001 }, "invalid_argument"],
    ["renew: lease at least 1 s", "renew", { leaseMs: 1_000 }, { leaseMs: 999 }, "invalid_argument"],
    ["renew: lease at most 15 min", "renew", { leaseMs: 900_000 }, { leaseMs: 900_001 }, "invalid_argument"],
    ["waitMs 8 s", "claim", { waitMs: 8_000 }, { waitMs: 8_001 }, "invalid_argument"],
    ["waitMs none", "claim", { waitMs: 0 }, { waitMs: -1 }, "invalid_argument"],
    ["maxAttempts 1", "claim", { maxAttempts: 1 }, { maxAttempts: 0 }, "invalid_argument"],
    ["maxAttempts 1,000", "claim", { maxAttempts: 1_000 }, { maxAttempts: 1_001 }, "invalid_argument"],
    ["retryAfterMs 12 h", "release", { retryAfterMs: 43_200_000 }, { retryAfterMs: 43_200_001 }, "invalid_argument"],
    ["retryAfterMs none", "release", { retryAfterMs: 0 }, { retryAfterMs: -1 }, "invalid_argument"],
    // A string's JSON has two quotation marks.
    ["result 16 KiB of JSON", "complete", { result: of(16_382) }, { result: of(16_383) }, "too_large"],
    ["result 16 KiB of é", "complete", { result: of(8_191, "é") }, { result: of(8_191, "é") + "x" }, "too_large"],
    ["dispatchedTo 100", "complete", { dispatchedTo: names(100) }, { dispatchedTo: names(101) }, "too_large"],
    ["dispatchedTo none", "complete", { dispatchedTo: [] }, { dispatchedTo: [""] }, "invalid_argument"],
    ["renew 100", "renew", { claims: claims(100) }, { claims: claims(101) }, "too_large"],
    ["renew 1", "renew", { claims: claims(1) }, { claims: [] }, "invalid_argument"],
    ["consumer 64", "reopen", { consumer: of(64) }, { consumer: of(65) }, "invalid_argument"],
    ["namespace 64", "reopen", { namespace: of(64) }, { namespace: of(65) }, "invalid_argument"],
    ["actor 128", "reopen", { actor: of(128) }, { actor: of(129) }, "too_large"],
    ["actor 1", "reopen", { actor: "x" }, { actor: "" }, "invalid_argument"],
  ])("%s", (_, verb, at, over, code) => {
    expect(() => withArg(verb, at)).not.toThrow();
    expect(errorOf(() => withArg(verb, over))).toMatchObject({ name: "LedgerError", code });
  });
});

describe("an error text", () => {
  test.each([
    ["2 KiB", of(2_048), of(2_048)],
    ["a byte more", of(2_049), of(2_048)],
    ["2 KiB of é", of(1_024, "é"), of(1_024, "é")],
    ["é across the limit", "x" + of(1_024, "é"), "x" + of(1_023, "é")],
    ["2 KiB of 🎬", of(512, "🎬"), of(512, "🎬")],
    ["🎬 across the limit by its last byte", "x" + of(512, "🎬"), "x" + of(511, "🎬")],
    ["🎬 across the limit by three bytes", "xxx" + of(512, "🎬"), "xxx" + of(511, "🎬")],
    ["a megabyte", of(1_048_576), of(2_048)],
    ["a lone surrogate", "a\ud800b", "a\ufffdb"],
    ["no text", "", ""],
  ])("of %s is cut at a character and never refused", (_, error, kept) => {
    expect(withArg("release", { error })).toMatchObject({ error: kept });
  });
});

describe("what is given", () => {
  test("comes out as it was, with what was left out filled in", () => {
    expect(check("claim", { jobId: "j" })).toEqual({ jobId: "j", waitMs: 0 });
    expect(check("complete", { jobId: "j", token: "t" })).toEqual({ jobId: "j", token: "t" });
    expect(check("release", { jobId: "j", token: "t" })).toEqual({
      jobId: "j",
      token: "t",
      retryAfterMs: 0,
      permanent: false,
    });
    expect(check("inspect", { jobId: "j" })).toEqual({ jobId: "j", body: false });
    expect(withArg("claim", { maxAttempts: null })).toMatchObject({ maxAttempts: null });
  });

  test("a body stays the text it was: a BOM, an escape, a number too large for a double", () => {
    const body = '\ufeff{"n":12345678901234567890,"t":"\\u2028\u2028\ufffd"}\r\n';
    expect(withArg("claim", event({ body }))).toMatchObject({ event: { ...EVENT, body } });
  });

  test("a consumer that was dispatched to twice is kept once", () => {
    expect(withArg("complete", { dispatchedTo: ["b", "a", "b"] })).toMatchObject({ dispatchedTo: ["b", "a"] });
  });

  test.each([
    ["null", null, "null"],
    ["an object", { a: [1, "x", null] }, '{"a":[1,"x",null]}'],
    ["false", false, "false"],
    ["a lone surrogate", "\ud800", '"\\ud800"'],
  ])("a result of %s becomes JSON text", (_, result, json) => {
    expect(withArg("complete", { result })).toMatchObject({ result: json });
  });
});

describe("refused as invalid_argument", () => {
  const cycle: { self?: object } = {};
  cycle.self = cycle;

  test.each<[what: string, verb: Verb, args: object]>([
    ["a job id with a lone high surrogate", "claim", { jobId: "a\ud800" }],
    ["a job id with a lone low surrogate", "claim", { jobId: "\udc00a" }],
    ["a job id that is a number", "inspect", { jobId: 7 }],
    ["an event type with a lone surrogate", "claim", event({ type: "\ud83c" })],
    ["a body with a lone surrogate", "claim", event({ body: '"\ud83c"' })],
    ["a body that is an object", "claim", event({ body: {} })],
    ["a source that is neither webhook nor poll", "claim", event({ source: "carrier-pigeon" })],
    ["an event without a type", "claim", { event: { body: "{}", source: "poll" } }],
    ["a token with a lone surrogate", "complete", { token: "\ud800" }],
    ["half a millisecond of lease", "claim", { leaseMs: 1_000.5 }],
    ["a lease that is text", "claim", { leaseMs: "60000" }],
    ["a lease that is no number", "claim", { leaseMs: Number.NaN }],
    ["an endless wait", "claim", { waitMs: Number.POSITIVE_INFINITY }],
    ["a limit of half an attempt", "claim", { maxAttempts: 1.5 }],
    ["a result with a cycle", "complete", { result: cycle }],
    ["a result with a BigInt", "complete", { result: { n: 1n } }],
    ["a result that is a function", "complete", { result: () => 1 }],
    ["a result that is a symbol", "complete", { result: Symbol("s") }],
    [
      "a result whose toJSON throws",
      "complete",
      {
        result: {
          toJSON() {
            throw new TypeError("no");
          },
        },
      },
    ],
    ["a consumer with a colon", "complete", { dispatchedTo: ["a:b"] }],
    ["a consumer in capitals", "reopen", { consumer: "Index" }],
    ["a consumer with an underscore", "reopen", { consumer: "__proto__" }],
    ["a consumer with a line end", "reopen", { consumer: "index\n" }],
    ["a namespace with a colon", "reopen", { namespace: "a:b" }],
    ["an error that is not text", "release", { error: new Error("e") }],
    ["permanent that is text", "release", { permanent: "yes" }],
    ["a renewal without a token", "renew", { claims: [{ jobId: "j" }] }],
  ])("%s", (_, verb, args) => {
    expect(errorOf(() => withArg(verb, args)).code).toBe("invalid_argument");
  });

  test.each(Object.keys(VALID).map((verb) => [verb]))("%s with an argument that it does not have", (name) => {
    const verb = verbOf(name);
    const error = errorOf(() => withArg(verb, { surplus: 1 }));
    expect(error.code).toBe("invalid_argument");
    expect(error.message).toMatch(/^[a-z ]+: surplus /);
  });

  // Who calls is told by the binding, and by nothing in the call.
  test.each<[Verb, string]>([
    ["claim", "consumer"],
    ["claim", "namespace"],
    ["complete", "consumer"],
    ["release", "namespace"],
    ["renew", "consumer"],
    ["inspect", "namespace"],
  ])("%s with a %s", (verb, key) => {
    expect(errorOf(() => withArg(verb, { [key]: "c" })).code).toBe("invalid_argument");
  });

  test("surplus keys inside an event and a renewal", () => {
    expect(errorOf(() => withArg("claim", event({ id: 1 }))).message).toContain("event.id");
    const surplus = { claims: [{ jobId: "j", token: "t", leaseMs: 1_000 }] };
    expect(errorOf(() => withArg("renew", surplus)).message).toContain("claims.0.leaseMs");
  });

  test.each([undefined, null, "j", 1, []])("arguments that are %j", (args) => {
    expect(errorOf(() => check("claim", args)).code).toBe("invalid_argument");
  });
});

function verbOf(name: string): Verb {
  const verb = Object.keys(VALID).find((known): known is Verb => known === name);
  if (verb === undefined) throw new Error(`no verb ${name}`);
  return verb;
}

const message = (verb: Verb, args: object) => errorOf(() => withArg(verb, args)).message;

describe("the message", () => {
  const canary = "canary-7f3a";
  const long = canary.repeat(200_000);

  test.each<[argument: string, verb: Verb, args: object]>([
    ["jobId", "claim", { jobId: long }],
    ["jobId", "claim", { jobId: `${canary}\ud800` }],
    ["jobId", "claim", { jobId: [canary] }],
    ["event", "claim", { event: canary }],
    ["event.type", "claim", event({ type: long })],
    ["event.body", "claim", event({ body: long })],
    ["event.body", "claim", event({ body: `${canary}\udc00` })],
    ["event.body", "claim", event({ body: { secret: canary } })],
    ["event.source", "claim", event({ source: canary })],
    ["leaseMs", "claim", { leaseMs: canary }],
    ["waitMs", "claim", { waitMs: canary }],
    ["maxAttempts", "claim", { maxAttempts: canary }],
    ["token", "claim", { token: long }],
    ["token", "complete", { token: { secret: canary } }],
    ["result", "complete", { result: long }],
    ["result.n", "complete", { result: { canary, n: 1n } }],
    ["dispatchedTo", "complete", { dispatchedTo: canary }],
    ["dispatchedTo.0", "complete", { dispatchedTo: [`${canary}!`] }],
    ["error", "release", { error: [canary] }],
    ["retryAfterMs", "release", { retryAfterMs: canary }],
    ["permanent", "release", { permanent: canary }],
    ["claims.1.token", "renew", { claims: [...claims(1), { jobId: "j", token: long }] }],
    ["surplus", "inspect", { surplus: canary }],
    ["body", "inspect", { body: canary }],
    ["namespace", "reopen", { namespace: `${canary}:` }],
    ["consumer", "reopen", { consumer: `${canary}:` }],
    ["actor", "reopen", { actor: long }],
    ["eventType", "reopen", { eventType: long }],
  ])("names the call and %s, and never what was in it (%#)", (argument, verb, args) => {
    const error = errorOf(() => withArg(verb, args));
    expect(error.message.startsWith(`${verb}: ${argument} `)).toBe(true);
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain(canary);
  });

  test("says what the argument must be", () => {
    expect(message("claim", { jobId: of(513) })).toBe("claim: jobId must have at most 512 bytes of UTF-8");
    expect(message("claim", { jobId: "" })).toBe("claim: jobId must not be empty");
    expect(message("claim", { token: of(129) })).toBe("claim: token must have a length of at most 128");
    expect(message("reopen", { consumer: "A" })).toBe("reopen: consumer must match [a-z0-9-]{1,64}");
    expect(message("complete", { result: 1n })).toBe("complete: result is a bigint: return plain JSON");
    expect(message("complete", { result: of(16_383) })).toBe("complete: result must have at most 16384 bytes of JSON");
    expect(message("claim", { jobId: undefined })).toBe("claim: jobId is missing");
    expect(message("claim", { jobId: 7 })).toBe("claim: jobId must be string");
    expect(message("claim", { leaseMs: 1_000.5 })).toBe("claim: leaseMs must be a whole number");
    expect(message("claim", { leaseMs: 999 })).toBe("claim: leaseMs must be >=1000");
  });
});
