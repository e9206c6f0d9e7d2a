import { describe, expect, test } from "vitest";
import { quantile, ratios, spread } from "./statistics.ts";

describe("quantile", () => {
  test.each([
    [[5], 0.5, 5],
    [[3, 1, 2], 0.5, 2],
    [[4, 1, 3, 2], 0.5, 2.5],
    [[10, 20, 30, 40, 50], 0.25, 20],
    [[1, 2], 0.75, 1.75],
    [[3, 9, 6], 0, 3],
    [[3, 9, 6], 1, 9],
  ])("of %j at %d is %d", (values, q, expected) => {
    expect(quantile(values, q)).toBe(expected);
  });

  test("of nothing is an error", () => {
    expect(() => quantile([], 0.5)).toThrow(RangeError);
  });
});

test("a spread names median, quartiles and ends", () => {
  expect(spread([5, 1, 4, 2, 3])).toEqual({ median: 3, q1: 2, q3: 4, min: 1, max: 5, rounds: 5 });
});

describe("ratios", () => {
  test("are taken within each round, so that a slow round cancels out", () => {
    expect(ratios([100, 10, 1], [200, 20, 2])).toMatchObject({ median: 0.5, min: 0.5, max: 0.5, rounds: 3 });
  });

  test("are not the ratio of the medians", () => {
    expect(ratios([1, 100, 9], [2, 100, 3]).median).toBe(1);
  });

  test("of different rounds are an error", () => {
    expect(() => ratios([1, 2], [1])).toThrow(RangeError);
  });
});
