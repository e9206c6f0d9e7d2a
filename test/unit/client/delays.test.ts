// The delays by themselves: how long the attempts last at the least, how far jobs that failed together are spread,
// and that a message never comes before its claim is free.

import { describe, expect, test } from "vitest";
import {
  deliveryDelayS,
  givenBackDelayS,
  jittered,
  messageDelayS,
  retryAfter,
  retryDelayMs,
} from "../../../ledger-service/client/delays.ts";
import { DEFAULT_MAX_ATTEMPTS } from "../../../ledger-service/contract/index.ts";

const HOUR_MS = 60 * 60_000;

/** Milliseconds from the first attempt to the last, at that draw. */
function lastingMs(draw: number): number {
  const failed = Array.from({ length: DEFAULT_MAX_ATTEMPTS - 1 }, (_, index) => index + 1);
  return failed.reduce((sum, attempt) => sum + jittered(retryDelayMs(attempt), () => draw), 0);
}

describe("the default attempts", () => {
  test("outlast a day though every delay is the least that it may be, with two hours to spare", () => {
    expect(lastingMs(0)).toBeGreaterThan(26 * HOUR_MS);
  });

  test("end within three days though every delay is the longest: what never works is told of", () => {
    expect(lastingMs(1)).toBeLessThan(72 * HOUR_MS);
  });
});

function drawn(delay: () => number): Set<number> {
  return new Set(Array.from({ length: 100 }, delay));
}

describe("jitter", () => {
  test.each([
    [0, 15_000],
    [0.5, 22_500],
    [1, 30_000],
  ])("at a draw of %d, 30 s are %i ms", (draw, ms) => {
    expect(jittered(30_000, () => draw)).toBe(ms);
  });

  test("is in every delay: a hundred of each are not the same", () => {
    expect(drawn(() => retryAfter(1, retryDelayMs)).size).toBeGreaterThan(50);
    expect(drawn(() => retryAfter(1, () => 1_000)).size).toBeGreaterThan(50);
    expect(drawn(() => deliveryDelayS(7)).size).toBeGreaterThan(50);
    expect(drawn(() => messageDelayS(60_000)).size).toBeGreaterThan(1);
    expect(drawn(givenBackDelayS).size).toBeGreaterThan(3);
  });

  test("keeps a release within half of the delay and all of it, in whole milliseconds", () => {
    for (const ms of drawn(() => retryAfter(3, retryDelayMs))) {
      expect(Number.isInteger(ms)).toBe(true);
      expect(ms).toBeGreaterThanOrEqual(60_000);
      expect(ms).toBeLessThanOrEqual(120_000);
    }
  });
});

test.each([1, 999, 1_000, 1_001, 30_000, 3_600_000, 43_195_000])(
  "a message for a claim that is free in %i ms comes after that, by less than six seconds",
  (ms) => {
    for (let draw = 0; draw < 100; draw++) {
      expect(messageDelayS(ms) * 1_000).toBeGreaterThanOrEqual(ms);
      expect(messageDelayS(ms) * 1_000).toBeLessThan(ms + 6_000);
    }
  },
);
