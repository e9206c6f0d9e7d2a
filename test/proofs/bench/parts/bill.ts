// Part 5, the bill: what one job's whole life is charged for. A job is delivered over HTTP, dispatched over real queues
// and consumed, and all of it is counted. The ledger, whose retention is seconds here, then cleans it up by its own
// alarm. The same is counted for the one-table ledger and for D1. They stand behind a receiver that verifies with the
// product's code and sends to as many queues.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Counts } from "../workers/driver/src/calls.ts";
import { bill, type Bill, type JobUnits, type Store } from "../bill.ts";
import { type Context, newPrefix } from "../part.ts";
import { type Fact, fact, factAtMost, type PartReport } from "../report.ts";
import { ROOT } from "../../../support/tools/wrangler-env.ts";
import { deliver } from "./deliveries.ts";
import { rowBudget } from "./life.ts";

const STORES: readonly Store[] = ["ledger", "one-table", "d1"];
const CONSUMERS = [1, 2];
const DUPLICATES = [0, 3];
const LOOK_MS = 250;
/** Milliseconds until a job must be consumed and cleaned up: its retention is six seconds. */
const DONE_WITHIN_MS = 60_000;
/** A message is written and deleted once, besides its reads; the messages here are below 64 KB. */
const WRITE_AND_DELETE = 2;
const DATABASE_JOBS = 2_000;

type Case = Pick<Bill, "store" | "consumers" | "duplicates">;

export async function bills(context: Context): Promise<PartReport> {
  const cases = STORES.flatMap((store) =>
    CONSUMERS.flatMap((consumers) => DUPLICATES.map((duplicates): Case => ({ store, consumers, duplicates }))),
  );
  context.tell(`the bill: ${cases.length} jobs live and are cleaned up`);
  const databaseBytes = await context.driver.databaseBytes(DATABASE_JOBS);
  const lived = await Promise.all(cases.map((each) => live(context, each, databaseBytes)));
  const [without, withThree] = [0, 3].map((duplicates) =>
    lived.find(({ is }) => is.store === "ledger" && is.consumers === 1 && is.duplicates === duplicates),
  );
  if (without === undefined || withThree === undefined) throw new Error("a case is missing");
  const lines = lived.map(({ is, units }) => bill(is, units));
  return {
    title: "Bill",
    comparisons: [],
    facts: [
      ...lived.flatMap(({ facts }) => facts),
      fact("rows written by three duplicates", withThree.units.rowsWritten - without.units.rowsWritten, 0),
      ...(await asTheReadmeSays(lines)),
    ],
    bills: lines,
    notes: [
      "Left out, for it cannot be counted here: CPU time, the objects' duration (GB-s), logs, and what the plan includes.",
      "Each consumer invocation is taken for a Worker request of its own; under load up to ten messages share one.",
      "The rows that the cleanup deletes are taken as written. Stored bytes are taken for a month, the ledger's default retention; the others never clean up, and pay for every further month again.",
      "The one-table ledger and D1 keep the job's id only: no event, no lease, no second try; a consumer has nobody to ask.",
    ],
  };
}

/** Whether the README's table has the ledger's dollars. */
async function asTheReadmeSays(lines: readonly Bill[]): Promise<Fact[]> {
  const readme = await readFile(resolve(ROOT, "README.md"), "utf8");
  return lines
    .filter(({ store, duplicates }) => store === "ledger" && duplicates === 0)
    .map(({ consumers, dollarsPerMillion }) => {
      const dollars = `$${dollarsPerMillion.toFixed(2)}`;
      return fact(`the README says ${dollars} with ${consumers} consumers`, Number(readme.includes(dollars)), 1);
    });
}

async function live(
  context: Context,
  is: Case,
  databaseBytes: number,
): Promise<{ is: Case; units: JobUnits; facts: Fact[] }> {
  const { driver } = context;
  const { store, consumers, duplicates } = is;
  const jobId = `${newPrefix()}-bill`;
  const path =
    store === "ledger" ? (consumers === 1 ? "/receiver-one" : "/receiver-two") : `/${store}?consumers=${consumers}`;
  const statuses: number[] = [];
  const database = { rowsRead: 0, rowsWritten: 0 };
  for (let delivery = 0; delivery <= duplicates; delivery += 1) {
    const { status, text } = await deliver(driver, path, jobId);
    statuses.push(status);
    if (status >= 300) throw new Error(`a delivery to ${path} was answered ${status} ${text}`);
    const cost: { rowsRead?: number; rowsWritten?: number } = JSON.parse(text);
    database.rowsRead += cost.rowsRead ?? 0;
    database.rowsWritten += cost.rowsWritten ?? 0;
  }
  const { object, queue } = await finished(context, is, jobId);
  const units: JobUnits = {
    workerRequests: statuses.length + queue.invocations,
    objectRequests: object?.objectRequests ?? 0,
    alarmRuns: object?.alarmRuns ?? 0,
    rowsWritten: object === null ? database.rowsWritten : object.rowsWritten + object.alarmsSet + object.rowsDeleted,
    rowsRead: object === null ? database.rowsRead : object.rowsRead,
    queueOperations: queue.reads + WRITE_AND_DELETE * queue.messages,
    storedBytes: object === null ? databaseBytes : object.storedBytes,
  };
  const name = `${store}, ${consumers} consumers, ${duplicates} duplicates`;
  const facts = [fact(`deliveries accepted as new: ${name}`, statuses.filter((status) => status === 202).length, 1)];
  if (store === "ledger" && object !== null) {
    const rows = object.rowsWritten + object.alarmsSet;
    facts.push(factAtMost(`rows written before the cleanup: ${name}`, rows, rowBudget(consumers)));
  }
  return { is, units, facts };
}

/** The counts, once every message is consumed and the ledger's object has cleaned itself up. */
async function finished({ driver, signal }: Context, { store, consumers }: Case, jobId: string): Promise<Counts> {
  const end = Date.now() + DONE_WITHIN_MS;
  for (;;) {
    const counts = await driver.counts(store, jobId);
    const cleanedUp = store !== "ledger" || (counts.object !== null && counts.object.rowsDeleted > 0);
    if (counts.queue.messages === consumers && cleanedUp) return counts;
    if (Date.now() > end) throw new Error(`${store}: the job is not finished in time: ${JSON.stringify(counts)}`);
    await pause(LOOK_MS, undefined, { signal });
  }
}
