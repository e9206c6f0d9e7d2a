// Which results are kept: those that come back as they went in. Each kind of value at the function that decides it, and
// again through the real entrypoint, where structured cloning has come first and nothing may be written.

import { exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { jsonTextOf, MAX_RESULT_DEPTH } from "../../../ledger-service/contract/index.ts";

class Receipt {
  rows = 7;
}
class Keys extends Array<string> {}

/** Arrays within one another, with nothing in the innermost. */
function nested(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels; level++) value = [value];
  return value;
}
function nestedObjects(levels: number): object {
  let value = {};
  for (let level = 1; level < levels; level++) value = { a: value };
  return value;
}
/** Small to send, since its parts are shared, and as JSON longer than any memory. */
function shared(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels; level++) value = [value, value];
  return value;
}
const cycle: { self?: object } = {};
cycle.self = cycle;

describe("a plain value becomes its JSON", () => {
  const bare: Record<string, number> = Object.assign(Object.create(null), { n: 1 });
  test.each<[what: string, value: unknown, text: string]>([
    ["null", null, "null"],
    ["booleans", [true, false], "[true,false]"],
    ["numbers", [0, -1.5, 1e21, 5e-324], "[0,-1.5,1e+21,5e-324]"],
    ["-0, which is kept as 0", -0, "0"],
    ["a text", 'é"\n\u2028', '"é\\"\\n\u2028"'],
    ["a lone surrogate, which comes back", "\ud800", '"\\ud800"'],
    ["nothing in it", [[], {}, ""], '[[],{},""]'],
    ["objects and arrays", { a: [1, { b: null }], "c d": "x" }, '{"a":[1,{"b":null}],"c d":"x"}'],
    ["a property that is undefined, which is absent", { a: undefined, b: 1, c: undefined }, '{"b":1}'],
    ["a key that is a symbol, which is left out", { a: 1, [Symbol.dispose]: () => {} }, '{"a":1}'],
    ["an object without a prototype", bare, '{"n":1}'],
    ["a key of the language", JSON.parse('{"__proto__":1,"constructor":2}'), '{"__proto__":1,"constructor":2}'],
    ["the same object twice", [bare, bare], '[{"n":1},{"n":1}]'],
  ])("%s", (_, value, text) => {
    expect(jsonTextOf(value)).toEqual({ text });
    expect(JSON.parse(JSON.stringify(value))).toEqual(JSON.parse(text));
  });
});

const plain = "return plain JSON";
/**
 * These are still what they are when they have crossed RPC; those of `REFUSED_HERE` cannot cross, or become another.
 */
const REFUSED: [what: string, value: unknown, problem: string][] = [
  ["NaN", Number.NaN, "is not a finite number"],
  ["Infinity", Number.POSITIVE_INFINITY, "is not a finite number"],
  ["-Infinity", Number.NEGATIVE_INFINITY, "is not a finite number"],
  ["a BigInt", 7n, `is a bigint: ${plain}`],
  ["a Map", new Map([["a", 1]]), `is a Map: ${plain}`],
  ["a Set", new Set([1]), `is a Set: ${plain}`],
  ["a Date", new Date(0), `is a Date: ${plain}`],
  ["bytes", new Uint8Array(3), `is an Uint8Array: ${plain}`],
  ["a buffer", new ArrayBuffer(3), `is an ArrayBuffer: ${plain}`],
  ["an Error", new TypeError("boom"), `is a TypeError: ${plain}`],
  ["a RegExp", /a/, `is a RegExp: ${plain}`],
];
const REFUSED_HERE: typeof REFUSED = [
  ["a function", () => 1, `is a function: ${plain}`],
  ["a symbol", Symbol("s"), `is a symbol: ${plain}`],
  ["an instance of a class", new Receipt(), `is a Receipt: ${plain}`],
  ["a kind of array", Keys.from(["a"]), `is a Keys: ${plain}`],
  ["a toJSON of its own", { toJSON: () => 1 }, `.toJSON is a function: ${plain}`],
  ["a match", "ab".match(/a(b)/), `is an array with properties: ${plain}`],
  ["a response", new Response("x"), `is a Response: ${plain}`],
];

describe("what JSON would change is refused, with the path to it", () => {
  test.each([...REFUSED, ...REFUSED_HERE])("%s", (_, value, problem) => {
    const [within, what] = problem.startsWith(".") ? [".toJSON", problem.slice(8)] : ["", problem];
    expect(jsonTextOf(value)).toEqual({ path: `result${within}`, problem: what, code: "invalid_argument" });
    expect(jsonTextOf({ a: [0, 1, null, { b: value }] })).toMatchObject({ path: `result.a[3].b${within}` });
  });

  test.each<[what: string, value: unknown, path: string, problem: string]>([
    ["undefined by itself", undefined, "result", `is undefined: ${plain}`],
    ["undefined in an array", [1, undefined], "result[1]", `is undefined: ${plain}`],
    ["a gap in an array", Object.assign(Array.from({ length: 2 }), { 0: 1 }), "result[1]", `is undefined: ${plain}`],
    ["a cycle", { a: [cycle] }, "result.a[0].self", "is part of itself"],
    ["under a key that is no name", { "a b": { "": 1n } }, 'result["a b"][""]', `is a bigint: ${plain}`],
    ["under a long key", { ["k".repeat(41)]: 1n }, `result["${"k".repeat(40)}…"]`, `is a bigint: ${plain}`],
    [
      "a property that throws",
      {
        get a() {
          throw new Error("canary");
        },
      },
      "result",
      `cannot be read: ${plain}`,
    ],
  ])("%s", (_, value, path, problem) => {
    expect(jsonTextOf(value)).toEqual({ path, problem, code: "invalid_argument" });
  });
});

describe("limits", () => {
  test.each([
    ["arrays", nested],
    ["objects", nestedObjects],
  ])("%s 64 deep are kept; one level more, 3,000 and 9,000 levels are refused", (_, deep) => {
    expect(jsonTextOf(deep(MAX_RESULT_DEPTH))).toHaveProperty("text");
    for (const levels of [MAX_RESULT_DEPTH + 1, 3_000, 9_000, 1_000_000]) {
      expect(jsonTextOf(deep(levels))).toMatchObject({
        problem: "is more than 64 levels deep",
        path: expect.stringMatching(/^result(\[0\]|\.a){64}$/),
        code: "invalid_argument",
      });
    }
  });

  const tooLarge = { path: "result", problem: "must have at most 16384 bytes of JSON", code: "too_large" };
  test.each<[what: string, at: unknown, over: unknown]>([
    ["a text", "x".repeat(16_382), "x".repeat(16_383)],
    ["a text of two-byte characters", "é".repeat(8_191), `${"é".repeat(8_191)}x`],
    ["escapes", "\n".repeat(8_191), "\n".repeat(8_192)],
    ["many items", Array.from({ length: 8_191 }, () => 1), Array.from({ length: 8_192 }, () => 1)],
    ["one long key", { ["k".repeat(16_378)]: 1 }, { ["k".repeat(16_379)]: 1 }],
  ])("%s of 16 KiB of JSON is kept, a byte more is refused", (_, at, over) => {
    expect(jsonTextOf(at)).toHaveProperty("text");
    expect(jsonTextOf(over)).toEqual(tooLarge);
  });

  test("what would grow without end is refused when it is known to be too large", () => {
    expect(jsonTextOf(shared(60))).toEqual(tooLarge);
    expect(jsonTextOf("x".repeat(50_000_000))).toEqual(tooLarge);
  });
});

describe("through the entrypoint: refused with the code and the path, and nothing is written", () => {
  const ledger = exports.Ledger({ props: { namespace: "studio", consumer: "json" } });

  async function refusal(jobId: string, result: object): Promise<unknown> {
    const event = { type: "job.completed", body: "{}", source: "webhook" } as const;
    await ledger.claim({ jobId, event, token: "t" });
    const before = await ledger.inspect({ jobId });
    const error: unknown = await ledger.complete({ jobId, token: "t", result }).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(await ledger.inspect({ jobId })).toEqual(before);
    return error;
  }

  test.each(REFUSED)("%s", async (what, value, problem) => {
    expect(await refusal(`json ${what}`, { a: [{ b: value }] })).toMatchObject({
      code: "invalid_argument",
      message: `complete: result.a[0].b ${problem}`,
    });
  });

  // From about 2,500 levels on the platform itself refuses the call: the client must not let it come to that.
  test.each([65, 2_000])("%i levels", async (levels) => {
    expect(await refusal(`json ${levels} levels`, nestedObjects(levels))).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(" is more than 64 levels deep"),
    });
  });

  test("a small message that would be long as JSON", async () => {
    expect(await refusal("json shared", { a: shared(50) })).toMatchObject({ code: "too_large" });
  });

  test("64 levels are kept, and the job stays readable", async () => {
    const event = { type: "job.completed", body: "{}", source: "webhook" } as const;
    await ledger.claim({ jobId: "json 64 levels", event, token: "t" });
    const result = nestedObjects(64);
    expect(await ledger.complete({ jobId: "json 64 levels", token: "t", result })).toMatchObject({ outcome: "ok" });
    expect((await ledger.inspect({ jobId: "json 64 levels" }))?.claims[0]?.result).toEqual(result);
  });
});
