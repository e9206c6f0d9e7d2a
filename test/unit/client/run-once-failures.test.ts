// Work that fails: what is kept of the failure, when it is tried again, and when the job is given up.

import { exports } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { NonRetryableError, runOnce, type Work } from "../../../ledger-service/client/index.ts";
import { arrived, claimOf, clockTo, ledger, steps, T0, useClock, watched } from "./support.ts";

useClock();

function throws(error: unknown): Work {
  return async () => {
    throw error;
  };
}
const boom = throws(new Error("boom"));
const atOnce: Work = () => {
  throw new Error("at once");
};
function deep(levels: number): object {
  let value = {};
  for (let level = 1; level < levels; level++) value = { a: value };
  return value;
}
const askedAnother: Work = async () => await ledger.whoami();
const sevenSecondsEach = (attempt: number) => attempt * 7_000;

describe("work that throws is released, to be tried again later", () => {
  const second = 1_000;
  const minute = 60 * second;
  // Milliseconds until attempt n + 1.
  const pauses = [30 * second, minute, 2 * minute, 4 * minute, 8 * minute, 16 * minute, 32 * minute, 60 * minute];

  test("after 30 s, then twice as long each time, at most an hour; the last attempt is the last", async () => {
    const jobId = await arrived("failing-always-fails");
    let now = 0;
    for (const [index, pause] of [...pauses, 60 * minute].entries()) {
      await clockTo(now);
      expect(await runOnce(ledger, { jobId, maxAttempts: 10 }, boom)).toEqual({
        outcome: "released",
        attempt: index + 1,
        fence: T0 + now,
        error: "Error: boom",
        retryAt: T0 + now + pause,
      });
      now += pause;
    }
    await clockTo(now);
    expect(await runOnce(ledger, { jobId, maxAttempts: 10 }, boom)).toEqual({
      outcome: "gave_up",
      attempt: 10,
      fence: T0 + now,
      error: "Error: boom",
    });
    expect(await claimOf(jobId)).toMatchObject({ status: "failed", attempt: 10, error: "Error: boom" });
    expect(await runOnce(ledger, { jobId }, boom)).toMatchObject({ outcome: "failed", attempt: 10 });
  });

  test("after what the caller's function says of the attempt", async () => {
    const jobId = await arrived("failing-own-pause");
    const options = { jobId, retryAfterMs: sevenSecondsEach };
    expect(await runOnce(ledger, options, boom)).toMatchObject({ attempt: 1, retryAt: T0 + 7_000 });
    await clockTo(7_000);
    expect(await runOnce(ledger, options, boom)).toMatchObject({ attempt: 2, retryAt: T0 + 21_000 });
  });

  test.each([
    { name: "0", ms: 0, retryAt: T0 },
    { name: "12 h", ms: 43_200_000, retryAt: T0 + 43_200_000 },
  ])("after $name, the shortest and the longest pause", async ({ name, ms, retryAt }) => {
    const jobId = await arrived(`failing-pause-${name}`);
    expect(await runOnce(ledger, { jobId, retryAfterMs: () => ms }, boom)).toMatchObject({
      outcome: "released",
      retryAt,
    });
  });

  test.each([
    { name: "a fraction", ms: 1_500.5 },
    { name: "over 12 h", ms: 43_200_001 },
    { name: "endless", ms: Infinity },
    { name: "less than nothing", ms: -1 },
    { name: "no number", ms: Number.NaN },
  ])("a pause that the ledger does not take ($name) does not lose the failure", async ({ name, ms }) => {
    const jobId = await arrived(`failing-odd-pause-${name}`);
    expect(await runOnce(ledger, { jobId, retryAfterMs: () => ms }, boom)).toMatchObject({ outcome: "released" });
    expect(await claimOf(jobId)).toMatchObject({ status: "released", error: "Error: boom" });
  });

  test("and done when a later attempt succeeds", async () => {
    const jobId = await arrived("failing-second-try");
    await runOnce(ledger, { jobId }, boom);
    await clockTo(30_000);
    const ran = await runOnce(ledger, { jobId }, async ({ attempt }) => attempt);
    expect(ran).toEqual({ outcome: "done", attempt: 2, fence: T0 + 30_000, result: 2 });
    expect(await steps(jobId)).toEqual(["claim 1", "release 1", "claim 2", "complete 2"]);
  });
});

describe("the text that is kept of what was thrown", () => {
  test.each([
    { name: "an Error", thrown: new Error("boom"), kept: "Error: boom" },
    { name: "a kind of Error", thrown: new TypeError("not a function"), kept: "TypeError: not a function" },
    { name: "no message", thrown: new RangeError(), kept: "RangeError: " },
    { name: "a text", thrown: "out of disk", kept: "out of disk" },
    { name: "nothing", thrown: undefined, kept: "undefined" },
    { name: "a lone surrogate", thrown: new Error("\uD800"), kept: "Error: \uFFFD" },
    { name: "over 2 KiB", thrown: new Error("x".repeat(3_000)), kept: `Error: ${"x".repeat(2_041)}` },
  ])("$name", async ({ name, thrown, kept }) => {
    const jobId = await arrived(`failing-text-${name}`);
    expect(await runOnce(ledger, { jobId }, throws(thrown))).toMatchObject({ outcome: "released" });
    expect((await claimOf(jobId)).error).toBe(kept);
  });

  test("work that throws before its first await fails like any other", async () => {
    const jobId = await arrived("failing-at-once");
    expect(await runOnce(ledger, { jobId }, atOnce)).toMatchObject({ outcome: "released", error: "Error: at once" });
  });
});

describe("work that says it will never succeed: given up at its first attempt", () => {
  // As in another copy of the package, or in Workflows.
  class SameName extends Error {
    override name = "NonRetryableError";
  }
  class Kind extends NonRetryableError {}
  class NamedKind extends NonRetryableError {
    override name = "UnknownCodecError";
  }
  test.each([
    { name: "the client's class", thrown: new NonRetryableError("no codec"), kept: "NonRetryableError: no codec" },
    { name: "another class of that name", thrown: new SameName("no codec"), kept: "NonRetryableError: no codec" },
    { name: "a subclass", thrown: new Kind("no codec"), kept: "NonRetryableError: no codec" },
    { name: "a subclass with a name", thrown: new NamedKind("no codec"), kept: "UnknownCodecError: no codec" },
  ])("$name", async ({ name, thrown, kept }) => {
    const jobId = await arrived(`failing-never-${name}`);
    expect(await runOnce(ledger, { jobId }, throws(thrown))).toEqual({
      outcome: "gave_up",
      attempt: 1,
      fence: T0,
      error: kept,
    });
    expect(await claimOf(jobId)).toMatchObject({ status: "failed", attempt: 1, error: kept });
    expect(await runOnce(ledger, { jobId }, boom)).toMatchObject({ outcome: "failed", error: kept });
  });
});

describe("the last attempt", () => {
  test.each([
    { maxAttempts: 1, outcomes: ["gave_up", "failed"] },
    { maxAttempts: 3, outcomes: ["released", "released", "gave_up", "failed"] },
  ])("of $maxAttempts", async ({ maxAttempts, outcomes }) => {
    const jobId = await arrived(`failing-last-of-${maxAttempts}`);
    const seen = [];
    for (const _ of outcomes) {
      seen.push((await runOnce(ledger, { jobId, maxAttempts, retryAfterMs: () => 0 }, boom)).outcome);
    }
    expect(seen).toEqual(outcomes);
  });

  test("a job given up and reopened begins with attempt 1, under a higher fence", async () => {
    const jobId = await arrived("failing-reopened");
    await runOnce(ledger, { jobId, maxAttempts: 1 }, boom);
    await exports.LedgerAdmin.reopen({ namespace: "studio", jobId, actor: "ops", consumer: "archive" });
    expect(await runOnce(ledger, { jobId }, async () => "done")).toEqual({
      outcome: "done",
      attempt: 1,
      fence: T0 + 1,
      result: "done",
    });
    expect(await steps(jobId)).toEqual(["claim 1", "release 1", "reopen 1", "claim 1", "complete 1"]);
  });
});

describe("a result that cannot be kept: the job is given up with the reason, for the work would only do it again", () => {
  const cycle: { self?: object } = {};
  cycle.self = cycle;
  class Receipt {
    rows = 7;
  }
  const limit = "NonRetryableError: the work's result must have at most 16384 bytes of JSON";
  const tooDeep = `NonRetryableError: the work's result${".a".repeat(64)} is more than 64 levels deep`;
  test.each([
    { name: "16 KiB and 1 byte of JSON", returned: "x".repeat(16_383), error: limit },
    { name: "few characters of many bytes", returned: "€".repeat(5_461), error: limit },
    { name: "a cycle", returned: cycle, error: /result\.self is part of itself$/ },
    { name: "a BigInt", returned: { rows: 7n }, error: /result\.rows is a bigint: return plain JSON$/ },
    { name: "a function", returned: () => {}, error: /result is a function: return plain JSON$/ },
    { name: "NaN", returned: { a: [1, Number.NaN] }, error: /result\.a\[1\] is not a finite number$/ },
    { name: "a Map", returned: { a: new Map() }, error: /result\.a is a Map: return plain JSON$/ },
    { name: "a date", returned: { at: new Date(0) }, error: /result\.at is a Date: return plain JSON$/ },
    { name: "an instance of a class", returned: new Receipt(), error: /result is a Receipt: return plain JSON$/ },
    { name: "an object of the platform", returned: { got: new Response("") }, error: /result\.got is a Response: / },
    { name: "65 levels", returned: deep(65), error: tooDeep },
    { name: "3,000 levels", returned: deep(3_000), error: tooDeep },
    { name: "9,000 levels", returned: deep(9_000), error: tooDeep },
  ])("$name", async ({ name, returned, error }) => {
    const jobId = await arrived(`failing-refused-${name}`);
    const work = vi.fn<Work>(async () => returned);
    const binding = watched();
    const text: unknown = expect.stringMatching(error);
    expect(await runOnce(binding, { jobId }, work)).toEqual({ outcome: "gave_up", attempt: 1, fence: T0, error: text });
    expect(await claimOf(jobId)).toMatchObject({ status: "failed", error: text });
    expect([work.mock.calls.length, binding.count("complete"), binding.count("release")]).toEqual([1, 0, 1]);
  });
});

test("what another Worker answered may be a result: the platform's own key on it is left out", async () => {
  const jobId = await arrived("failing-not-an-answer");
  const who = { namespace: "studio", consumer: "archive" };
  expect(await runOnce(ledger, { jobId }, askedAnother)).toMatchObject({ outcome: "done", result: who });
  expect((await claimOf(jobId)).result).toEqual(who);
});
