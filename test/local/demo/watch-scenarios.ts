// The scenarios of what would otherwise be forgotten: jobs that the watch takes up, and events that the backup fetches.
// They need a stack whose watch rings after seconds (WATCH_VARS). Each waits for real alarms, so they are played
// together.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type Stack, until } from "../../support/stack/stack.ts";
import { samplePayload } from "../sume/webhooks/payloads.ts";
import { answers, atRest, end, type Scenario } from "./steps.ts";

/** A first alert after 1.5 s; further ones 1.5 s, 3 s, 6 s later. */
export const WATCH_VARS = { "ledger-service": { WATCH_AFTER_MINUTES: "0.025", WATCH_GRACE_MINUTES: "0.025" } };

const EXPECT_WITHIN_MS = 1_500;

export const watchScenarios: Scenario[] = [
  {
    name: "a delivery refused ten times, then found by the poll",
    async play(stack) {
      const jobId = end(stack, "video");
      await (await stack.ledgerOf("scripted")).expectEvent({ jobId, withinMs: EXPECT_WITHIN_MS });
      // Everything that Sume sends for this job goes astray, the redelivery that the first alert asks for as well.
      stack.sume.misdirect(jobId);
      const delivery = await stack.sume.deliver(jobId, { delayMs: 10 });
      assert.equal(delivery.outcome, "gave_up");
      assert.equal(delivery.attempts.length, 10);
      const rest = await atRest(stack, jobId, { artifacts: 2 });
      const job = await stack.record(jobId);
      assert.equal(job?.events[0]?.source, "poll");
      assert.deepEqual(reconciled(stack, jobId, "not_arrived"), ["asked_to_redeliver", "ingested"]);
      return `10 attempts refused, Sume gave up; alert 1: asked to redeliver, refused as well; alert 2: ingested from the status; ${rest}`;
    },
  },
  {
    name: "a queue that refuses all ten attempts of a delivery, finished by the watch",
    async play(stack) {
      const jobId = end(stack, "minimal");
      const queue = await stack.refusingQueue();
      await queue.refuse(jobId, Number.MAX_SAFE_INTEGER);
      const delivery = await stack.sume.deliver(jobId, { delayMs: 10 });
      assert.deepEqual(
        answers(delivery),
        Array.from({ length: 10 }, () => "503"),
      );
      await queue.refuse(jobId, 0);
      const rest = await atRest(stack, jobId, { artifacts: 0 });
      assert.equal(reconciled(stack, jobId, "not_finished").at(-1), "redispatched");
      return `10 × 503, Sume gave up; an alert: redispatched from the stored event; ${rest}`;
    },
  },
  {
    name: "a message that is lost",
    async play(stack) {
      const jobId = end(stack, "minimal");
      await (await stack.refusingQueue()).lose(jobId, 1);
      const delivery = await stack.sume.deliver(jobId);
      assert.deepEqual(answers(delivery), ["202 accepted"]);
      const rest = await atRest(stack, jobId, { artifacts: 0 });
      assert.equal(reconciled(stack, jobId, "not_finished").at(-1), "redispatched");
      return `202 accepted, one message lost; alert 1: redispatched to that consumer; ${rest}`;
    },
  },
  {
    name: "an expected job that Sume does not know",
    async play(stack) {
      const jobId = `job_unknown_${randomUUID()}`;
      const ledger = await stack.ledgerOf("scripted");
      const expected = await ledger.expectEvent({ jobId, withinMs: EXPECT_WITHIN_MS });
      assert.equal(expected.outcome, "expected");
      const job = await until("the expectation to be called off", async () => {
        const record = await stack.record(jobId);
        return (record?.expectations[0]?.cancelledBy ?? null) === null ? undefined : (record ?? undefined);
      });
      assert.equal(job.expectations[0]?.cancelledBy, "reconciler");
      assert.equal(job.watch, null);
      await until("the third answer to be logged", () =>
        reconciled(stack, jobId, "not_arrived").length === 2 ? true : undefined,
      );
      assert.deepEqual(reconciled(stack, jobId, "not_arrived"), ["unknown_job", "gave_up_unknown_job"]);
      return "alerts 1 and 2: Sume knows no such job; alert 3: the expectation is called off, with a log line";
    },
  },
  {
    name: "a job still running at the first ring",
    async play(stack) {
      const jobId = `job_running_${randomUUID()}`;
      const body = samplePayload("images", jobId);
      stack.sume.createJob({ id: jobId, event: "job.completed", body, state: "running" });
      await (await stack.ledgerOf("scripted")).expectEvent({ jobId, withinMs: EXPECT_WITHIN_MS });
      await until("the first answer", () => (reconciled(stack, jobId, "not_arrived").length > 0 ? true : undefined));
      stack.sume.endJob(jobId, { state: "completed" }); // and its webhook never leaves
      const rest = await atRest(stack, jobId, { artifacts: 3 });
      assert.deepEqual(reconciled(stack, jobId, "not_arrived"), ["not_ended", "ingested"]);
      return `alert 1: still running; then it ends and its webhook is lost; alert 2: ingested from the status; ${rest}`;
    },
  },
  {
    name: "two namespaces whose alerts go to their own receivers",
    async play(stack) {
      const jobId = end(stack, "minimal");
      await (await stack.refusingQueue()).lose(jobId, 1);
      await stack.sume.deliver(jobId);
      // In the other namespace the same job id is another job: its receiver dies after its claim.
      const other = await stack.ledgerOf("receiver-other");
      const body = JSON.stringify({ job_id: jobId, event: "job.completed" });
      const claimed = await other.claim({
        jobId,
        event: { type: "job.completed", body, source: "webhook" },
        leaseMs: 1_000,
      });
      assert.equal(claimed.outcome, "claimed");
      await atRest(stack, jobId, { artifacts: 0 });
      const job = await stack.untilFinished(jobId, "other");
      assert.deepEqual(job.claims.map(({ consumer, status }) => `${consumer} ${status}`).toSorted(), [
        "receiver completed",
        "scripted completed",
      ]);
      const redispatches = stack
        .logs()
        .filter((line) => line.worker === "receiver" && line.event === "redispatch" && line.jobId === jobId)
        .map((line) => `${String(line["namespace"])} ${line.outcome}`);
      assert.deepEqual([...new Set(redispatches)].toSorted(), ["default redispatched", "other accepted"]);
      return "the same job id in both, a message lost in one, a receiver dead in the other: each finished by its own receiver";
    },
  },
];

/** What the reconciler did so far about the job's alerts of that reason. */
function reconciled(stack: Stack, jobId: string, reason: "not_arrived" | "not_finished"): string[] {
  return (
    stack
      .logs()
      .filter((line) => line.worker === "reconciler" && line.jobId === jobId && line["namespace"] === "default")
      .filter((line) => line.event === reason)
      .map((line) => line.outcome)
      // On a busy machine an alert more may come before the job moves on; it brings nothing new.
      .filter((outcome, index, all) => outcome !== all[index - 1])
  );
}
