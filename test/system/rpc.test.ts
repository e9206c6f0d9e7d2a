// The ledger's contract over real service bindings: who a binding is, what it may touch, how a mistake comes back. An
// error is met inside the runtime by another Worker, so what arrives of it is what a consumer gets.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack } from "../support/stack/stack.ts";
import { callThrough, ledgerAs } from "./controls.ts";
import { jobObjects } from "./receiver/requests.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
}, 60_000);
afterAll(() => stack.close());

const EVENT = { type: "job.completed", body: "{}", source: "webhook" };
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const names = (count: number) => Array.from({ length: count }, (_, index) => `consumer-${index}`);
const claims = (count: number) => Array.from({ length: count }, () => ({ jobId: "job-renew", token: "none" }));

describe("a call with an argument that the contract does not take", () => {
  it.each([
    ["claim", "arguments", undefined],
    ["claim", "arguments", "job-a"],
    ["claim", "jobId", {}],
    ["claim", "jobId", { jobId: 7 }],
    ["claim", "jobId", { jobId: null }],
    ["claim", "jobId", { jobId: "" }],
    ["claim", "jobId", { jobId: "job-\ud800" }],
    ["claim", "consumer", { jobId: "job-a", consumer: "another" }],
    ["claim", "namespace", { jobId: "job-a", namespace: "another" }],
    ["claim", "event", { jobId: "job-a", event: "job.completed" }],
    ["claim", "event.type", { jobId: "job-a", event: { ...EVENT, type: "" } }],
    ["claim", "event.type", { jobId: "job-a", event: { ...EVENT, type: "\udfff" } }],
    ["claim", "event.body", { jobId: "job-a", event: { ...EVENT, body: "" } }],
    ["claim", "event.body", { jobId: "job-a", event: { ...EVENT, body: {} } }],
    ["claim", "event.body", { jobId: "job-a", event: { ...EVENT, body: "\ud800" } }],
    ["claim", "event.source", { jobId: "job-a", event: { ...EVENT, source: "guess" } }],
    ["claim", "leaseMs", { jobId: "job-a", leaseMs: SECOND - 1 }],
    ["claim", "leaseMs", { jobId: "job-a", leaseMs: 15 * MINUTE + 1 }],
    ["claim", "leaseMs", { jobId: "job-a", leaseMs: 1_000.5 }],
    ["claim", "leaseMs", { jobId: "job-a", leaseMs: "1000" }],
    ["claim", "waitMs", { jobId: "job-a", waitMs: -1 }],
    ["claim", "waitMs", { jobId: "job-a", waitMs: 8 * SECOND + 1 }],
    ["claim", "maxAttempts", { jobId: "job-a", maxAttempts: 0 }],
    ["claim", "maxAttempts", { jobId: "job-a", maxAttempts: 1_001 }],
    ["claim", "token", { jobId: "job-a", token: "" }],
    ["complete", "token", { jobId: "job-a" }],
    ["complete", "dispatchedTo.1", { jobId: "job-a", token: "t", dispatchedTo: ["a", "B"] }],
    ["complete", "dispatchedTo.0", { jobId: "job-a", token: "t", dispatchedTo: ["a".repeat(65)] }],
    ["release", "error", { jobId: "job-a", token: "t", error: 7 }],
    ["release", "retryAfterMs", { jobId: "job-a", token: "t", retryAfterMs: -1 }],
    ["release", "retryAfterMs", { jobId: "job-a", token: "t", retryAfterMs: 12 * HOUR + 1 }],
    ["release", "permanent", { jobId: "job-a", token: "t", permanent: "yes" }],
    ["renew", "claims", { claims: [] }],
    ["renew", "claims.0.token", { claims: [{ jobId: "job-a" }] }],
    ["renew", "leaseMs", { claims: claims(1), leaseMs: SECOND - 1 }],
    ["inspect", "body", { jobId: "job-a", body: 1 }],
  ])("%s: %s is named, invalid_argument (%#)", async (method, argument, args) => {
    const before = await jobObjects(stack);
    const { error } = await callThrough(stack, "CALLER", method, args);
    expect(error).toMatchObject({ name: "LedgerError", code: "invalid_argument" });
    expect(error?.message.split(" ").slice(0, 2)).toEqual([`${method}:`, argument]);
    expect(await jobObjects(stack)).toEqual(before);
  });

  it.each([
    ["claim", "jobId", { jobId: "j".repeat(513) }],
    ["claim", "jobId", { jobId: "€".repeat(171) }],
    ["claim", "event.type", { jobId: "job-a", event: { ...EVENT, type: "t".repeat(129) } }],
    ["claim", "event.body", { jobId: "job-a", event: { ...EVENT, body: "b".repeat(1_048_577) } }],
    ["claim", "event.body", { jobId: "job-a", event: { ...EVENT, body: `${"é".repeat(524_288)}b` } }],
    ["claim", "token", { jobId: "job-a", token: "t".repeat(129) }],
    ["complete", "result", { jobId: "job-a", token: "t", result: "r".repeat(16_383) }],
    ["complete", "dispatchedTo", { jobId: "job-a", token: "t", dispatchedTo: names(101) }],
    ["renew", "claims", { claims: claims(101) }],
  ])("%s: %s is named, too_large (%#)", async (method, argument, args) => {
    const before = await jobObjects(stack);
    const { error } = await callThrough(stack, "CALLER", method, args);
    expect(error).toMatchObject({ name: "LedgerError", code: "too_large" });
    expect(error?.message.split(" ").slice(0, 2)).toEqual([`${method}:`, argument]);
    expect(await jobObjects(stack)).toEqual(before);
  });

  it.each([
    ["inspect", "namespace", { namespace: "Default" }, "invalid_argument"],
    ["inspect", "namespace", { namespace: "n".repeat(65) }, "invalid_argument"],
    ["inspect", "actor", { actor: "" }, "invalid_argument"],
    ["inspect", "jobId", { jobId: "j".repeat(513) }, "too_large"],
    ["reopen", "consumer", {}, "invalid_argument"],
    ["reopen", "consumer", { consumer: "a:b" }, "invalid_argument"],
    ["reopen", "eventType", { consumer: "caller", eventType: "t".repeat(129) }, "too_large"],
  ])("LedgerAdmin.%s: %s is named (%#)", async (method, argument, args, code) => {
    const operation = { namespace: "default", jobId: "job-a", actor: "tests", ...args };
    const { error } = await callThrough(stack, "ADMIN", method, operation);
    expect(error).toMatchObject({ name: "LedgerError", code });
    expect(error?.message.split(" ").slice(0, 2)).toEqual([`${method}:`, argument]);
  });

  it("what the argument was is not in the message: it may be secret", async () => {
    const calls: [string, unknown][] = [
      ["claim", { jobId: 7, token: "secret" }],
      ["claim", { jobId: "job-a", event: { ...EVENT, source: "secret" } }],
      ["claim", { jobId: "secret".repeat(100) }],
      ["complete", { jobId: "job-a", token: "secret".repeat(30) }],
      ["release", { jobId: "job-a", token: "t", permanent: "secret" }],
    ];
    for (const [method, args] of calls) {
      const { error } = await callThrough(stack, "CALLER", method, args);
      expect(error?.name).toBe("LedgerError");
      expect(error?.message).not.toContain("secret");
    }
  });
});

describe("a call at the limits of the contract", () => {
  it.each([
    ["claim", { jobId: "j".repeat(512) }, { outcome: "unknown" }],
    ["claim", { jobId: "job-at-type", event: { ...EVENT, type: "t".repeat(128) } }, { outcome: "claimed" }],
    ["claim", { jobId: "job-at-body", event: { ...EVENT, body: "é".repeat(524_288) } }, { outcome: "claimed" }],
    ["claim", { jobId: "job-at-short", event: EVENT, leaseMs: SECOND, waitMs: 0 }, { outcome: "claimed" }],
    ["claim", { jobId: "job-at-long", event: EVENT, leaseMs: 15 * MINUTE, waitMs: 8_000 }, { outcome: "claimed" }],
    ["claim", { jobId: "job-at-one", event: EVENT, maxAttempts: 1 }, { outcome: "claimed", attempt: 1 }],
    ["claim", { jobId: "job-at-many", event: EVENT, maxAttempts: 1_000 }, { outcome: "claimed", attempt: 1 }],
    ["claim", { jobId: "job-at-token", event: EVENT, token: "t".repeat(128) }, { token: "t".repeat(128) }],
    ["complete", { jobId: "job-at-token", token: "t".repeat(128), result: "r".repeat(16_382) }, { outcome: "ok" }],
    ["claim", { jobId: "job-at-100", event: EVENT, token: "t" }, { outcome: "claimed" }],
    ["complete", { jobId: "job-at-100", token: "t", dispatchedTo: names(100) }, { outcome: "ok" }],
    ["claim", { jobId: "job-at-12h", event: EVENT, token: "t" }, { outcome: "claimed" }],
    ["release", { jobId: "job-at-12h", token: "t", retryAfterMs: 12 * HOUR }, { status: "released" }],
    ["renew", { claims: claims(100) }, { length: 100 }],
  ])("%s is carried out (%#)", async (method, args, value) => {
    expect(await callThrough(stack, "CALLER", method, args)).toMatchObject({ value });
  });

  it("an error text over its limit is cut, at a character's end", async () => {
    const [jobId, ledger] = ["job-at-error", ledgerAs(stack, "caller")];
    await ledger.claim({ jobId, event: { type: "t", body: "{}", source: "poll" }, token: "t" });
    await ledger.release({ jobId, token: "t", error: `e${"é".repeat(1_024)}` });
    expect((await stack.claimOf(jobId, "caller"))?.error).toBe(`e${"é".repeat(1_023)}`);
  });
});

describe("who a binding is", () => {
  it.each([
    ["CALLER", { namespace: "default", consumer: "caller" }],
    ["ELSEWHERE", { namespace: "elsewhere", consumer: "caller" }],
    ["JOB_INDEX", { namespace: "default", consumer: "job-index" }],
  ])("%s: its props say so", async (binding, identity) => {
    expect(await callThrough(stack, binding, "whoami")).toEqual({ value: identity });
  });

  it.each([
    ["NO_PROPS", "props.namespace"],
    ["NO_NAMESPACE", "props.namespace"],
    ["NO_CONSUMER", "props.consumer"],
    ["BAD_NAMESPACE", "props.namespace"],
    ["BAD_CONSUMER", "props.consumer"],
  ])("%s: every call is refused with invalid_props, naming the key to set", async (binding, key) => {
    const before = await jobObjects(stack);
    const calls: [string, unknown][] = [
      ["whoami", undefined],
      ["claim", { jobId: "job-props", event: EVENT }],
      ["complete", { jobId: "job-props", token: "t" }],
      ["release", { jobId: "job-props", token: "t" }],
      ["renew", { claims: claims(1) }],
      ["inspect", { jobId: "job-props" }],
      ["claim", {}],
    ];
    for (const [method, args] of calls) {
      const { error } = await callThrough(stack, binding, method, args);
      expect(error).toMatchObject({ name: "LedgerError", code: "invalid_props" });
      expect(error?.message).toContain(`set ${key} of its entry under "services"`);
    }
    expect(await jobObjects(stack)).toEqual(before);
  });
});

describe("what a binding may touch", () => {
  it("another namespace's job is another job: unknown, not shown, not settled", async () => {
    const jobId = "job-elsewhere";
    await callThrough(stack, "CALLER", "claim", { jobId, event: EVENT, token: "mine" });
    const before = await stack.record(jobId);
    const through = async (method: string, args: unknown) =>
      (await callThrough(stack, "ELSEWHERE", method, args)).value;
    const noClaim = { outcome: "stale", reason: "no_claim" };
    expect(await through("inspect", { jobId })).toBeNull();
    expect(await through("claim", { jobId })).toEqual({ outcome: "unknown" });
    expect(await through("complete", { jobId, token: "mine" })).toEqual(noClaim);
    expect(await through("release", { jobId, token: "mine" })).toEqual(noClaim);
    expect(await through("renew", { claims: [{ jobId, token: "mine" }] })).toEqual([{ jobId, ...noClaim }]);
    expect(await stack.record(jobId)).toEqual(before);
  });

  it("another consumer's claim: seen, not settled, though its token be known", async () => {
    const [jobId, other] = ["job-other", ledgerAs(stack, "job-index")];
    await callThrough(stack, "CALLER", "claim", { jobId, event: EVENT, token: "mine" });
    const before = await stack.record(jobId);
    const noClaim = { outcome: "stale", reason: "no_claim" };
    expect(await callThrough(stack, "JOB_INDEX", "inspect", { jobId })).toEqual({ value: before });
    expect(await other.complete({ jobId, token: "mine" })).toEqual(noClaim);
    expect(await other.release({ jobId, token: "mine", permanent: true })).toEqual(noClaim);
    expect(await other.renew({ claims: [{ jobId, token: "mine" }] })).toEqual([{ jobId, ...noClaim }]);
    expect(await stack.record(jobId)).toEqual(before);

    expect(await other.claim({ jobId, token: "mine" })).toMatchObject({ outcome: "claimed", attempt: 1 });
    expect(await other.complete({ jobId, token: "mine" })).toMatchObject({ outcome: "ok" });
    expect(await stack.claimOf(jobId, "caller")).toMatchObject({ status: "claimed", attempt: 1 });
  });

  it("the record holds no token: whoever may look may not therefore settle", async () => {
    await callThrough(stack, "CALLER", "claim", { jobId: "job-token", event: EVENT, token: "not-to-be-shown" });
    expect(JSON.stringify(await stack.recordWithBodies("job-token"))).not.toContain("not-to-be-shown");
  });
});
