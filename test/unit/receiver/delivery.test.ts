// The time of a delivery: how long it waits for another one of the same event, and what becomes of a claim that is
// granted too late. The ledger is a stand-in that answers when it is told to.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ClaimArgs, ClaimOutcome, LedgerBinding, ReleaseArgs } from "../../../ledger-service/contract/index.ts";
import { Deadline } from "../../../receiver/src/deadline.ts";
import { deliver } from "../../../receiver/src/delivery.ts";

const JOB = { jobId: "unit-delivery", event: { type: "job.completed", body: "{}", source: "webhook" } } as const;
const IN_PROGRESS = { outcome: "in_progress", attempt: 1, fence: 1, retryAt: 0 } as const;

let asked: ClaimArgs[];
let released: ReleaseArgs[];
let background: Promise<unknown>[];
/** What the claim comes to. */
let claim: PromiseWithResolvers<ClaimOutcome>;

const never = () => Promise.reject(new Error("not asked for"));
const ledger: LedgerBinding = {
  claim: (args) => {
    asked.push(args);
    return claim.promise;
  },
  release: async (args) => {
    released.push(args);
    return { outcome: "ok", status: "released", retryAt: 0 };
  },
  whoami: never,
  renew: never,
  complete: never,
};

beforeEach(() => {
  vi.useFakeTimers();
  [asked, released, background] = [[], [], []];
  claim = Promise.withResolvers();
});
afterEach(() => vi.useRealTimers());

const ctx = { waitUntil: (promise: Promise<unknown>) => void background.push(promise) };

/** A delivery to which so many milliseconds are left. */
const begin = (leftMs: number) => deliver(ledger, new Map(), JOB, new Deadline(leftMs), ctx);

/** The ledger grants the claim. */
function grant(): void {
  const token = asked[0]?.token ?? "";
  claim.resolve({
    outcome: "claimed",
    attempt: 2,
    fence: 2,
    token,
    leaseExpiresAt: Date.now() + 15_000,
    event: JOB.event,
  });
}

describe("the wait for another delivery of the same event", () => {
  test.each([
    [8_000, 5_000],
    [7_000, 5_000],
    [6_999, 4_999],
    [4_000, 2_000],
    [2_000, 0],
    [1_999, 0],
    [-1, 0],
  ])("%i ms are left: it waits for %i", async (leftMs, waitMs) => {
    claim.resolve(IN_PROGRESS);
    await begin(leftMs);
    expect(asked).toMatchObject([{ jobId: "unit-delivery", waitMs, leaseMs: 15_000 }]);
  });
});

/** A delivery whose time is up before the ledger has answered. */
async function tooLate() {
  const delivery = begin(4_000);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(await delivery).toEqual({ outcome: "ledger_unavailable", during: "claim", error: "TimeoutError" });
  expect(released).toEqual([]);
}

describe("a claim that is not answered in time", () => {
  test("and is granted then: given back, with the token that it was asked with", async () => {
    await tooLate();
    await vi.advanceTimersByTimeAsync(6_000);
    grant();
    await Promise.all(background);
    expect(released).toMatchObject([{ jobId: "unit-delivery", token: asked[0]?.token }]);
  });

  test("and is not granted: nothing is given back", async () => {
    await tooLate();
    claim.resolve(IN_PROGRESS);
    await Promise.all(background);
    expect(released).toEqual([]);
  });

  test("and fails: nothing is given back", async () => {
    await tooLate();
    claim.reject(new Error("the object was reset"));
    await Promise.all(background);
    expect(released).toEqual([]);
  });

  test("at all: the background work ends by itself", async () => {
    await tooLate();
    await vi.advanceTimersByTimeAsync(20_000);
    await Promise.all(background);
    grant();
    await vi.runAllTimersAsync();
    expect(released).toEqual([]);
  });
});

test("a claim that is answered in time leaves nothing to be done in the background", async () => {
  claim.resolve(IN_PROGRESS);
  expect(await begin(8_000)).toEqual({ outcome: "in_progress", retryAt: 0, attempt: 1 });
  expect(background).toEqual([]);
});
