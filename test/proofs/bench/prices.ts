// What Cloudflare charges on the Workers Paid plan, in US dollars, beyond what the plan includes. The one table that
// the bench's bill is made of. A price that changes is changed here, with its date.

export type Price = {
  name: string;
  /** Dollars for `per` units. */
  dollars: number;
  per: number;
  /** Title of the page in Cloudflare's documentation, and its address. */
  source: string;
  /** The day the page was looked up. */
  asOf: string;
};

const MILLION = 1_000_000;
/** A billion bytes, as Cloudflare's pages count them. */
const GB = 1_000_000_000;
const AS_OF = "2026-11-29";

const WORKERS = "Workers: Pricing, developers.cloudflare.com/workers/platform/pricing";
const OBJECTS = "Durable Objects: Pricing, developers.cloudflare.com/durable-objects/platform/pricing";
const QUEUES = "Queues: Pricing, developers.cloudflare.com/queues/platform/pricing";
const D1 = "D1: Pricing, developers.cloudflare.com/d1/platform/pricing";

export const PRICES = {
  /** Service bindings add none: of several Workers that call each other, the first is charged. */
  workerRequest: { name: "Worker requests", dollars: 0.3, per: MILLION, source: WORKERS, asOf: AS_OF },
  /** RPC calls, `fetch` and runs of the alarm. */
  objectRequest: { name: "object requests", dollars: 0.15, per: MILLION, source: OBJECTS, asOf: AS_OF },
  /** A setting of the alarm is a row written, and so is a deleted row. */
  rowWritten: { name: "rows written", dollars: 1, per: MILLION, source: OBJECTS, asOf: AS_OF },
  rowRead: { name: "rows read", dollars: 0.001, per: MILLION, source: OBJECTS, asOf: AS_OF },
  objectByteMonth: { name: "bytes stored for a month", dollars: 0.2, per: GB, source: OBJECTS, asOf: AS_OF },
  /** Each 64 KB written, read or deleted. */
  queueOperation: { name: "queue operations", dollars: 0.4, per: MILLION, source: QUEUES, asOf: AS_OF },
  databaseRowWritten: { name: "rows written", dollars: 1, per: MILLION, source: D1, asOf: AS_OF },
  databaseRowRead: { name: "rows read", dollars: 0.001, per: MILLION, source: D1, asOf: AS_OF },
  databaseByteMonth: { name: "bytes stored for a month", dollars: 0.75, per: GB, source: D1, asOf: AS_OF },
} satisfies Record<string, Price>;
