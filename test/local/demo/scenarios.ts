// The main job's scenarios, played through real HTTP and real queues against a stack. Each checks the answers and what
// the ledger, R2 and D1 hold. It throws at the first difference, and tells in a line what it saw.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { startLossyProxy } from "./lossy-proxy.ts";
import { SECRET, until } from "../../support/stack/stack.ts";
import { answers, atRest, end, type Scenario, send, steps, told } from "./steps.ts";

export const scenarios: Scenario[] = [
  {
    name: "first delivery",
    async play(stack) {
      const jobId = end(stack, "video");
      const delivery = await stack.sume.deliver(jobId);
      assert.deepEqual(answers(delivery), ["202 accepted"]);
      return `1 delivery: ${told(delivery)}; ${await atRest(stack, jobId, { artifacts: 2 })}`;
    },
  },
  {
    name: "the same again after its answer was lost",
    async play(stack) {
      const jobId = end(stack, "images");
      await using proxy = await startLossyProxy(stack.webhookUrl, 1);
      stack.sume.setReceiver(proxy.url);
      const delivery = await stack.sume.deliver(jobId, { delayMs: 100 });
      stack.sume.setReceiver(stack.webhookUrl);
      assert.deepEqual(answers(delivery), ["no answer", "200 duplicate"]);
      return `2 attempts: ${told(delivery)}; ${await atRest(stack, jobId, { artifacts: 3 })}`;
    },
  },
  {
    name: "20 copies at once",
    async play(stack) {
      const jobId = end(stack, "nested");
      const deliveries = await Promise.all(
        Array.from({ length: 20 }, () => stack.sume.deliver(jobId, { attempts: 1 })),
      );
      const got = deliveries.flatMap(answers).toSorted();
      assert.deepEqual(got, [...Array.from({ length: 19 }, () => "200 duplicate"), "202 accepted"]);
      const rest = await atRest(stack, jobId, { artifacts: 1 });
      assert.equal(await (await stack.refusingQueue()).taken(jobId), 1);
      return `20 deliveries: 1 × 202 accepted, 19 × 200 duplicate; ${rest}; 1 message per consumer`;
    },
  },
  {
    name: "a redelivery",
    async play(stack) {
      const jobId = end(stack, "analysis");
      await stack.sume.deliver(jobId);
      const before = await stack.untilFinished(jobId);
      const delivery = await stack.sume.redeliver(jobId);
      assert.deepEqual(answers(delivery), ["200 duplicate"]);
      assert.deepEqual(await stack.record(jobId), before);
      return `delivered, then redelivered: ${told(delivery)}; ${await atRest(stack, jobId, { artifacts: 0 })}, unchanged`;
    },
  },
  {
    name: "a rotation of secrets",
    async play(stack) {
      const next = `next-${SECRET}`;
      const deliver = async () => {
        const jobId = end(stack, "minimal");
        const delivery = await stack.sume.deliver(jobId, { attempts: 1 });
        // Local queues live in memory: a message under way would not survive the deploy.
        await stack.untilFinished(jobId);
        return answers(delivery);
      };
      stack.sume.rotate(next); // Sume signs with both, the newest first
      const both = await deliver();
      assert.deepEqual(both, ["202 accepted"]);
      await stack.setReceiverSecrets({ SUME_WEBHOOK_SECRET: next, SUME_WEBHOOK_SECRET_PREVIOUS: SECRET });
      const during = await deliver();
      assert.deepEqual(during, ["202 accepted"]);
      stack.sume.retire();
      await stack.setReceiverSecrets({ SUME_WEBHOOK_SECRET: next });
      const after = await deliver();
      assert.deepEqual(after, ["202 accepted"]);
      const old = await send(stack, {
        secret: SECRET,
        body: JSON.stringify({ job_id: "old", event: "job.completed" }),
      });
      assert.equal(old.status, 401);
      stack.sume.rotate(SECRET);
      stack.sume.retire();
      await stack.setReceiverSecrets({ SUME_WEBHOOK_SECRET: SECRET });
      return "signed with both, receiver knows the old, then both, then the new: 3 × 202; signed with the old alone: 401";
    },
  },
  {
    name: "forged, stale and malformed",
    async play(stack) {
      const jobId = `job_${randomUUID()}`;
      const body = JSON.stringify({ job_id: jobId, event: "job.completed" });
      const now = Math.floor(Date.now() / 1_000);
      const statuses = {
        forged: (await send(stack, { secret: "not-the-secret", body })).status,
        stale: (await send(stack, { body, timestamp: now - 602 })).status,
        unsigned: (await fetch(stack.webhookUrl, { method: "POST", body })).status,
        "not JSON": (await send(stack, { body: "{" })).status,
        "no job_id": (await send(stack, { body: '{"event":"job.completed"}' })).status,
      };
      assert.deepEqual(statuses, { forged: 401, stale: 401, unsigned: 401, "not JSON": 400, "no job_id": 400 });
      assert.equal(await stack.record(jobId), null);
      const list = Object.entries(statuses).map(([what, status]) => `${what} ${status}`);
      return `${list.join(", ")}; ledger: nothing`;
    },
  },
  {
    name: "a queue that refuses once",
    async play(stack) {
      const jobId = end(stack, "minimal");
      await (await stack.refusingQueue()).refuse(jobId, 1);
      const delivery = await stack.sume.deliver(jobId, { delayMs: 100 });
      assert.deepEqual(answers(delivery), ["503", "202 accepted"]);
      const rest = await atRest(stack, jobId, { artifacts: 0 });
      assert.equal((await stack.claimOf(jobId, "receiver"))?.attempt, 2);
      return `2 attempts: ${told(delivery)}; ${rest}; receiver's claim at attempt 2`;
    },
  },
  {
    name: "work that fails twice and then succeeds",
    async play(stack) {
      const jobId = end(stack, "minimal", { failAttempts: 2 });
      const delivery = await stack.sume.deliver(jobId);
      const rest = await atRest(stack, jobId, { artifacts: 0 });
      const claim = await stack.claimOf(jobId, "scripted");
      assert.equal(claim?.attempt, 3);
      return `1 delivery: ${told(delivery)}; ${rest}; scripted: ${steps(claim)}`;
    },
  },
  {
    name: "work that always fails, then reopen and redispatch",
    async play(stack) {
      const jobId = end(stack, "minimal", { failAttempts: "always" });
      await stack.sume.deliver(jobId);
      await stack.untilFinished(jobId);
      const failed = await stack.claimOf(jobId, "scripted");
      assert.equal(failed?.status, "failed");
      assert.equal(failed.attempt, 4);

      const { ADMIN, INTAKE } = await stack.operator();
      const job = { namespace: "default", jobId };
      const reopened = await ADMIN.reopen({ ...job, actor: "demo", consumer: "scripted" });
      assert.equal(reopened.outcome, "reopened");
      const sent = await INTAKE.redispatch({ ...job, pending: ["scripted"] });
      assert.equal(sent.outcome, "redispatched");
      const again = await until("the reopened claim to fail again", async () => {
        const claim = await stack.claimOf(jobId, "scripted");
        return claim?.status === "failed" && claim.fence > failed.fence ? claim : undefined;
      });
      assert.equal(again.attempt, 4);
      return (
        `failed after ${failed.attempt} attempts («${failed.error}»); reopened, redispatched to ${sent.dispatchedTo?.join()}: ` +
        `attempts count anew to ${again.attempt}, the fence is higher, failed again, visible`
      );
    },
  },
  {
    name: "a consumer that stalls past its lease while another takes over",
    async play(stack) {
      const jobId = `job_${randomUUID()}`;
      const ledger = await stack.ledgerOf("scripted");
      const event = { type: "job.completed", body: "{}", source: "webhook" } as const;
      const stalled = await ledger.claim({ jobId, event, leaseMs: 1_000 }); // and never renews
      assert.equal(stalled.outcome, "claimed");
      const other = await ledger.claim({ jobId, waitMs: 8_000 });
      assert.equal(other.outcome, "claimed");
      assert.equal(other.attempt, 2);
      const done = await ledger.complete({ jobId, token: other.token, result: "by the other" });
      assert.equal(done.outcome, "ok");
      const before = await stack.record(jobId);
      const late = await ledger.complete({ jobId, token: stalled.token, result: "by the stalled one" });
      assert.equal(late.outcome, "stale");
      assert.deepEqual(await stack.record(jobId), before);
      return "attempt 1 stalls, attempt 2 takes over at the lease's end and completes; the late complete is stale, nothing changed";
    },
  },
];
