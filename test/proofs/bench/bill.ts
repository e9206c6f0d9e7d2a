// From what was counted for one job to dollars per million jobs. Pure; called by the bill's part.

import { type Price, PRICES } from "./prices.ts";

/** Of one job's whole life, in the units that are charged. */
export type JobUnits = {
  workerRequests: number;
  objectRequests: number;
  alarmRuns: number;
  rowsWritten: number;
  rowsRead: number;
  queueOperations: number;
  /** Kept for a month. */
  storedBytes: number;
};

export type Store = "ledger" | "one-table" | "d1";

export type Bill = {
  store: Store;
  consumers: number;
  duplicates: number;
  units: JobUnits;
  /** US dollars for a million such jobs, and what they are made of. */
  dollarsPerMillion: number;
  items: { name: string; units: number; dollarsPerMillion: number }[];
};

const JOBS = 1_000_000;

export function bill(
  { store, consumers, duplicates }: Pick<Bill, "store" | "consumers" | "duplicates">,
  units: JobUnits,
): Bill {
  const inDatabase = store === "d1";
  const items = [
    item(PRICES.workerRequest, units.workerRequests),
    // A run of the alarm is a request to the object like any other.
    item(PRICES.objectRequest, units.objectRequests + units.alarmRuns),
    item(inDatabase ? PRICES.databaseRowWritten : PRICES.rowWritten, units.rowsWritten),
    item(inDatabase ? PRICES.databaseRowRead : PRICES.rowRead, units.rowsRead),
    item(PRICES.queueOperation, units.queueOperations),
    item(inDatabase ? PRICES.databaseByteMonth : PRICES.objectByteMonth, units.storedBytes),
  ];
  const dollarsPerMillion = items.reduce((sum, each) => sum + each.dollarsPerMillion, 0);
  return { store, consumers, duplicates, units, dollarsPerMillion, items };
}

function item({ name, dollars, per }: Price, units: number): Bill["items"][number] {
  return { name, units, dollarsPerMillion: (units * JOBS * dollars) / per };
}
