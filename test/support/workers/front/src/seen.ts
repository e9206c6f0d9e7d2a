// What the front Worker tells of a job and of the whole: the contract between it and those who ask. Imported by both
// sides. Types and limits only.

import type { JobView } from "../../../../../ledger-service/contract/index.ts";

/** Jobs that one request may ask for: each costs a call to its object and a listing of the bucket. */
export const MOST_JOBS_AT_ONCE = 25;

/** A job as every store has it. */
export type SeenJob = {
  jobId: string;
  /** The ledger's record; `null`: the ledger does not know the job. */
  record: JobView | null;
  /** What the archive stored for the job. `etag` is the MD5 of the bytes, in hex. */
  objects: { key: string; size: number; etag: string }[];
  /** The job's rows in the index. */
  rows: { fence: number; event_type: string; source: string }[];
};

/** All there is, whichever jobs it belongs to. */
export type SeenTotals = { objects: number; rows: number };
