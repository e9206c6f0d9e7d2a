// Jobs of one artifact each, and what must have come of one when all is done. Both claims are completed once, and there
// is one object with the artifact's bytes. There is one row, by the claim that completed. Called by test/proofs/crash
// and test/proofs/load.
// Leaves out waiting: outcomes.ts.

import { createHash } from "node:crypto";
import { artifactBytes } from "../../local/sume/artifacts.ts";
import type { Sume } from "../../local/sume/simulator.ts";
import type { SeenJob } from "../../support/workers/front/src/seen.ts";

const CONSUMERS = ["artifact-archive", "job-index"] as const;

/** Where Sume serves the job's artifact. */
const artifactPath = (jobId: string): string => `/${jobId}/cut.mp4`;

/** Makes a job that has ended, ready to be delivered. */
export function createJob(sume: Sume, jobId: string): void {
  const result = `{"video_url":"%ORIGIN%${artifactPath(jobId)}"}`;
  const body = `{"event":"job.completed","job_id":"${jobId}","result":${result}}`;
  sume.createJob({ id: jobId, state: "completed", body });
}

/** How often each artifact was asked for, which is how often an archive's work ran; by its path. */
export function artifactRequests(sume: Sume): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { endpoint, path } of sume.requests) {
    if (endpoint === "artifact") counts.set(path, (counts.get(path) ?? 0) + 1);
  }
  return counts;
}

export type Verdict =
  | { kind: "finished"; attempts: number }
  /** May still come. */
  | { kind: "unfinished"; what: string }
  /** Ended, but an effect is not there. */
  | { kind: "lost"; what: string }
  | { kind: "double"; what: string };

/** @param requests of `artifactRequests`, counted after `seen` was read. */
export function judge({ jobId, record, objects, rows }: SeenJob, requests: ReadonlyMap<string, number>): Verdict {
  const claims = CONSUMERS.map((name) => record?.claims.find(({ consumer }) => consumer === name));
  const [archive, index] = claims;
  if (record === null) return { kind: "unfinished", what: "the ledger does not know it" };
  if (record.unfinished.length > 0 || archive === undefined || index === undefined) {
    return { kind: "unfinished", what: `waits for ${record.unfinished.join(", ") || "its consumers"}` };
  }
  for (const { consumer, status, error } of [archive, index]) {
    if (status === "failed") return { kind: "lost", what: `${consumer} failed: ${error}` };
  }
  const completions = Math.max(
    ...[archive, index].map(({ history }) => history.filter(({ verb }) => verb === "complete").length),
  );
  if (completions > 1) return { kind: "double", what: `a consumer completed it ${completions} times` };
  if (objects.length > 1) return { kind: "double", what: `${objects.length} objects` };
  if (rows.length > 1) return { kind: "double", what: `${rows.length} rows` };
  const runs = requests.get(artifactPath(jobId)) ?? 0;
  if (runs > archive.attempt) return { kind: "double", what: `${runs} runs in ${archive.attempt} attempts` };

  const bytes = artifactBytes(artifactPath(jobId));
  const [object] = objects;
  const [row] = rows;
  if (object === undefined) return { kind: "lost", what: "no object" };
  if (object.etag !== createHash("md5").update(bytes).digest("hex")) return { kind: "lost", what: "other bytes" };
  if (row === undefined) return { kind: "lost", what: "no row" };
  if (row.fence !== index.fence) return { kind: "lost", what: "the row is of another claim than the completed one" };
  return { kind: "finished", attempts: Math.max(archive.attempt, index.attempt) };
}
