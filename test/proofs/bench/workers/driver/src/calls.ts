// What the driver is asked for and what it answers: the contract between it and the bench in Node. Imported by both
// sides. Types and limits only.

/** Stores that can tell the first of several copies from the rest. */
export const STORES = ["ledger", "one-table", "d1", "kv"] as const;
export type Store = (typeof STORES)[number];

/** Calls to Workers and objects; see variants.ts. */
export type CallVariant =
  | `fresh ${Store}`
  | "fresh no-op"
  | "fresh no-op, direct"
  | "fresh write"
  | "duplicate"
  | "warm no-op"
  | "warm no-op with event"
  | "prepare"
  | "consume"
  | "claim with event"
  | "echo event";
/** Computation in the driver itself; see verification.ts. */
export type VerifyVariant = "verify" | "verify bare" | "verify standardwebhooks";

/** POST /run: `count` calls of the variant, `concurrency` of them at a time. */
export type Run = CallRun | VerifyRun;
type Calls = {
  count: number;
  concurrency: number;
  /** Begins the job ids, so that each run has its own, or finds those that an earlier one has made. */
  prefix: string;
  /** Of an event's body, or the body that is verified; 1 KB by default. */
  bytes?: number;
};
export type CallRun = Calls & {
  variant: CallVariant;
  /** Jobs that the calls are spread over, where they are for jobs that exist already. */
  jobs?: number;
  consumers?: number;
};
export type VerifyRun = Calls & {
  variant: VerifyVariant;
  /** Live secrets; it is the last that matches. */
  secrets?: number;
  /** Entries in the signature header, of which the last is the right one, unless `forged`. */
  entries?: number;
  forged?: boolean;
};

/** What the calls answered, by outcome. */
export type Ran = { outcomes: Record<string, number> };

/** GET /copies?store=…&copies=…&jobId=…: how many of the simultaneous copies were told to be the first. */
export type Copies = { firsts: number };

export type ObjectCounts = {
  /** Calls to the object: RPC methods and `fetch`. */
  objectRequests: number;
  alarmRuns: number;
  rowsRead: number;
  /** By SQL and by values put. */
  rowsWritten: number;
  /** `setAlarm` and `deleteAlarm`. */
  alarmsSet: number;
  /** There when `deleteAll` was called. */
  rowsDeleted: number;
  /** The most that the database has taken after a call, in bytes. */
  storedBytes: number;
};

/** Of one job, in all queues. */
export type QueueCounts = {
  invocations: number;
  /** Different messages: each was written once, and is deleted once. */
  messages: number;
  /** Deliveries of them, retries included. */
  reads: number;
};

/** GET /counts?jobId=…&store=…: what was counted for one job. */
export type Counts = { object: ObjectCounts | null; queue: QueueCounts };
