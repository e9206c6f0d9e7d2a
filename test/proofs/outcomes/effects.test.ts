// What test/proofs/crash and test/proofs/load would call lost or double: they must not pass for want of looking.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { ClaimView, JobView } from "../../../ledger-service/contract/index.ts";
import { artifactBytes } from "../../local/sume/artifacts.ts";
import type { SeenJob } from "../../support/workers/front/src/seen.ts";
import { judge } from "./effects.ts";

const PATH = "/job_a/cut.mp4";
const OBJECT = { key: "job_a/0", size: 1, etag: createHash("md5").update(artifactBytes(PATH)).digest("hex") };
const ROW = { fence: 7, event_type: "job.completed", source: "webhook" };

const CLAIM: Omit<ClaimView, "consumer"> = {
  status: "completed",
  eventType: "job.completed",
  attempt: 1,
  fence: 7,
  maxAttempts: 10,
  round: 1,
  claimedAt: 1,
  changedAt: 2,
  leaseExpiresAt: null,
  retryAt: null,
  endedAt: 2,
  error: null,
  result: null,
  dispatchedTo: [],
  history: [{ at: 2, actor: "its own", verb: "complete", status: "completed", attempt: 1 }],
};
const ARCHIVE: ClaimView = { ...CLAIM, consumer: "artifact-archive" };
const INDEX: ClaimView = { ...CLAIM, consumer: "job-index" };
const RECORD: JobView = {
  namespace: "default",
  jobId: "job_a",
  events: [],
  conflict: false,
  claims: [ARCHIVE, INDEX],
  unfinished: [],
  expectations: [],
  watch: null,
};

const archiveIs = (change: Partial<ClaimView>): JobView => ({ ...RECORD, claims: [{ ...ARCHIVE, ...change }, INDEX] });

test.for<[string, Partial<SeenJob>, number, string]>([
  ["one object, one row", {}, 1, "finished"],
  ["a second run in a second attempt", { record: archiveIs({ attempt: 2 }) }, 2, "finished"],
  ["no record", { record: null }, 1, "unfinished"],
  ["a consumer that has not claimed", { record: { ...RECORD, claims: [INDEX] } }, 1, "unfinished"],
  ["a claim that has not ended", { record: { ...RECORD, unfinished: ["receiver"] } }, 1, "unfinished"],
  ["a failed claim", { record: archiveIs({ status: "failed" }) }, 1, "lost"],
  ["no object", { objects: [] }, 1, "lost"],
  ["other bytes", { objects: [{ ...OBJECT, etag: "0" }] }, 1, "lost"],
  ["no row", { rows: [] }, 1, "lost"],
  ["a row of another claim", { rows: [{ ...ROW, fence: 6 }] }, 1, "lost"],
  ["two objects", { objects: [OBJECT, { ...OBJECT, key: "job_a/1" }] }, 1, "double"],
  ["two rows", { rows: [ROW, ROW] }, 1, "double"],
  [
    "two completions",
    { record: archiveIs({ attempt: 2, history: [...CLAIM.history, ...CLAIM.history] }) },
    2,
    "double",
  ],
  ["a second run in the same attempt", {}, 2, "double"],
])("%s", ([, change, runs, kind]) => {
  const seen = { jobId: "job_a", record: RECORD, objects: [OBJECT], rows: [ROW], ...change };
  expect(judge(seen, new Map([[PATH, runs]])).kind).toBe(kind);
});
