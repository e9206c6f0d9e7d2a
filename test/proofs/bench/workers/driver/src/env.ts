// The driver's bindings.

import type { LedgerBinding } from "job-ledger/client";
import type { Floor, FloorObject } from "../../floor/src/index.ts";
import type { CountedOneTable, OneTable } from "../../plain/src/index.ts";
import type { ObjectCounts, QueueCounts } from "./calls.ts";

export type Env = {
  /** The production ledger, as the receiver. */
  LEDGER: LedgerBinding;
  FLOOR: Service<typeof Floor>;
  FLOOR_OBJECTS: DurableObjectNamespace<FloorObject>;
  ONE_TABLE: DurableObjectNamespace<OneTable>;
  COUNTED_ONE_TABLE: DurableObjectNamespace<CountedOneTable>;
  DB: D1Database;
  KV: KVNamespace;
  /** Receivers: the product, the product before the counted ledger, and one without a ledger. */
  RECEIVER: Fetcher;
  RECEIVER_ONE: Fetcher;
  RECEIVER_TWO: Fetcher;
  PLAIN: Fetcher;
  CONSUMER: { finished(): Promise<number> };
  COUNTED_LEDGER: {
    counts(jobId: string): Promise<ObjectCounts>;
    live(jobId: string, consumers: number): Promise<void>;
  };
  COUNTED_CONSUMER: { counts(jobId: string): Promise<QueueCounts> };
} & { [name: `CONSUMER_${number}`]: LedgerBinding };
