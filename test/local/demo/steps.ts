// What the scenarios share: a job at Sume, signed requests, Sume's answers, and what the ledger, R2 and D1 hold.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { JobView } from "../../../ledger-service/contract/index.ts";
import type { Delivery } from "../sume/webhooks/deliver.ts";
import { samplePayload, type SampleName } from "../sume/webhooks/payloads.ts";
import { signedHeaders } from "../sume/webhooks/sign.ts";
import { SECRET, type Stack } from "../../support/stack/stack.ts";

/** Plays against a stack, throws at the first difference, and tells in a line what it saw. */
export type Scenario = { name: string; play(stack: Stack): Promise<string> };

/** A job of Sume's that has ended, with a sample's body; `script` tells the scripted consumer what to do. */
export function end(stack: Stack, sample: SampleName, script: Record<string, unknown> = {}): string {
  const jobId = `job_${sample}_${randomUUID()}`;
  const body = samplePayload(sample, jobId).replace(/}$/, `,"script":${JSON.stringify(script)}}`);
  stack.sume.createJob({ id: jobId, event: "job.completed", body, state: "completed" });
  return jobId;
}

/** One signed POST, as it is: no retry. */
export function send(
  stack: Stack,
  {
    body,
    secret = SECRET,
    timestamp = Math.floor(Date.now() / 1_000),
  }: { body: string; secret?: string; timestamp?: number },
): Promise<Response> {
  return fetch(stack.webhookUrl, { method: "POST", body, headers: signedHeaders([secret], timestamp, body) });
}

/** Waits until every claim has ended, and checks the ledger, R2 and D1. */
export async function atRest(stack: Stack, jobId: string, expected: { artifacts: number }): Promise<string> {
  const job = await stack.untilFinished(jobId);
  const completed = job.claims.filter(({ status }) => status === "completed").map(({ consumer }) => consumer);
  assert.deepEqual(completed.toSorted(), ["artifact-archive", "job-index", "receiver", "scripted"]);
  const objects = await stack.archived(`${jobId}/`);
  assert.equal(objects.length, expected.artifacts);
  const rows = await stack.indexed(jobId);
  assert.equal(rows.length, 1);
  const bytes = objects.reduce((sum, { size }) => sum + size, 0);
  const stored = objects.length === 0 ? "nothing" : `${objects.length} objects, ${bytes} bytes`;
  return `ledger: ${count(job)} completed; R2: ${stored}; D1: 1 row`;
}

function count(job: JobView): string {
  return `${job.claims.length} of ${job.claims.length} claims`;
}

/** Each attempt as status and outcome. */
export function answers(delivery: Delivery): string[] {
  return delivery.attempts.map((attempt) => {
    if (attempt.outcome === "error") return "no answer";
    const body: { outcome?: string } = JSON.parse(attempt.body);
    return [attempt.status, body.outcome].filter((part) => part !== undefined).join(" ");
  });
}

export function told(delivery: Delivery): string {
  return answers(delivery).join(", then ");
}

export function steps(claim: { history: { verb: string }[] }): string {
  return claim.history.map(({ verb }) => verb).join(" → ");
}
