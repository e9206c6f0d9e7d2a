import { describe, expect, test } from "vitest";
import { bill, type JobUnits } from "./bill.ts";

const NOTHING: JobUnits = {
  workerRequests: 0,
  objectRequests: 0,
  alarmRuns: 0,
  rowsWritten: 0,
  rowsRead: 0,
  queueOperations: 0,
  storedBytes: 0,
};
const CASE = { consumers: 1, duplicates: 0 };

describe("dollars for a million jobs", () => {
  test.each<[Partial<JobUnits>, number, number]>([
    [{}, 0, 0],
    [{ workerRequests: 2 }, 0.6, 0.6],
    [{ objectRequests: 4 }, 0.6, 0.6],
    [{ objectRequests: 3, alarmRuns: 1 }, 0.6, 0.6],
    [{ rowsWritten: 9 }, 9, 9],
    [{ rowsRead: 1_000 }, 1, 1],
    [{ queueOperations: 3 }, 1.2, 1.2],
    // A million times 10 KB are 10 GB.
    [{ storedBytes: 10_000 }, 2, 7.5],
    [{ workerRequests: 1, rowsWritten: 1, queueOperations: 3 }, 2.5, 2.5],
  ])("%j: in objects %d, in D1 %d", (units, inObjects, inDatabase) => {
    const of = (store: "ledger" | "d1") => bill({ ...CASE, store }, { ...NOTHING, ...units }).dollarsPerMillion;
    expect(of("ledger")).toBeCloseTo(inObjects, 9);
    expect(of("d1")).toBeCloseTo(inDatabase, 9);
  });
});

test("the items add up to the sum, and keep their units", () => {
  const units = { ...NOTHING, workerRequests: 3, rowsWritten: 11, alarmRuns: 1, storedBytes: 20_480 };
  const { items, dollarsPerMillion } = bill({ ...CASE, store: "one-table" }, units);
  expect(items.reduce((sum, item) => sum + item.dollarsPerMillion, 0)).toBe(dollarsPerMillion);
  expect(items.map(({ units: n }) => n)).toEqual([3, 1, 11, 0, 0, 20_480]);
});
