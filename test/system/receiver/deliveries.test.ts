// Rows 1, 28 to 32 and 34: deliveries that are in order, and how often they come. Every consumer's queue is counted.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type LogLine, type Stack, startStack, until } from "../../support/stack/stack.ts";
import { SAMPLE_NAMES, sampleEvent, samplePayload } from "../../local/sume/webhooks/payloads.ts";
import { type ConsumerName, CONSUMERS, observedQueue } from "../controls.ts";
import { type Answer, event, now, send, sendSigned, signature, storedBytes } from "./requests.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ receiver: "observed-receiver", workers: ["observed-queue"] });
}, 60_000);
afterAll(() => stack.close());
// Most of these tests wait: for a queue's batch, a retry, the end of a lease.
vi.setConfig({ maxConcurrency: 20 });

const ONE_EACH = { "artifact-archive": 1, "job-index": 1, scripted: 1 };

function messages(jobId: string): Promise<Record<ConsumerName, number>> {
  return observedQueue(stack).messages(jobId);
}

/** Each claim, once all are settled. */
async function settled(jobId: string): Promise<string[]> {
  const { claims } = await stack.untilFinished(jobId);
  return claims.map(({ consumer, status, attempt }) => `${consumer} ${status} ${attempt}`).toSorted();
}

/** The receiver's claim is completed at that attempt, every consumer did its work in its first, and nobody else claimed. */
function doneOnce(receiverAttempt = 1): string[] {
  const consumers = ["artifact-archive completed 1", "job-index completed 1"];
  return [...consumers, `receiver completed ${receiverAttempt}`, "scripted completed 1"];
}

const outcome = ({ status, text }: Answer): string => {
  const { outcome: what }: { outcome?: string } = JSON.parse(text);
  return what === undefined ? String(status) : `${status} ${what}`;
};

/** Copies of one signed delivery, all started in the same tick. */
async function copies(jobId: string, count: number): Promise<string[]> {
  const body = event(jobId);
  const headers = signature(body);
  const answers = await Promise.all(Array.from({ length: count }, () => send(stack, body, { headers })));
  return answers.map(outcome).toSorted();
}

describe.concurrent("#1 a valid delivery: 202, one claim, one message per consumer, the body stored byte for byte", () => {
  it.each(SAMPLE_NAMES)("%s", async (sample) => {
    const jobId = `job-1-${sample}`;
    const job = stack.sume.createJob({
      id: jobId,
      event: sampleEvent(sample),
      body: samplePayload(sample, jobId),
      state: "completed",
    });
    const { attempts } = await stack.sume.deliver(jobId);
    expect(attempts).toMatchObject([{ outcome: "answered", status: 202 }]);
    expect(JSON.parse(attempts[0]?.outcome === "answered" ? attempts[0].body : "")).toEqual({
      jobId,
      outcome: "accepted",
      dispatchedTo: CONSUMERS,
    });
    expect(await messages(jobId)).toEqual(ONE_EACH);
    expect(await storedBytes(stack, jobId)).toEqual(Buffer.from(job.body));
    expect(await settled(jobId)).toEqual(doneOnce());
    const claim = await stack.claimOf(jobId, "receiver");
    expect(claim?.dispatchedTo).toEqual(CONSUMERS);
    expect(claim?.history.map(({ verb }) => verb)).toEqual(["claim", "complete"]);
  });
});

describe.concurrent("the same again", () => {
  it.each([
    ["#28 the same delivery again, after it completed", "job-28", 0],
    ["#29 a redelivery: same event, fresh timestamp and signature", "job-29", 60],
  ])("%s: 200, no message, the record unchanged", async (_, jobId, later) => {
    const body = event(jobId);
    const first = now() - 60;
    const accepted = await send(stack, body, { headers: signature(body, { timestamp: first }) });
    expect(outcome(accepted)).toBe("202 accepted");
    expect(await settled(jobId)).toEqual(doneOnce());
    const before = await stack.recordWithBodies(jobId);
    const again = await send(stack, body, { headers: signature(body, { timestamp: first + later }) });
    expect(outcome(again)).toBe("200 duplicate");
    expect(JSON.parse(again.text)).toEqual({ jobId, outcome: "duplicate" });
    expect(await messages(jobId)).toEqual(ONE_EACH);
    expect(await stack.recordWithBodies(jobId)).toEqual(before);
  });

  it.each([
    ["#30 20 copies at once", "job-30", 20],
    ["50 copies at once", "job-30-50", 50],
  ])("%s: one claim, one message per consumer, every copy 2xx", async (_, jobId, count) => {
    const duplicates = Array.from({ length: count - 1 }, () => "200 duplicate");
    expect(await copies(jobId, count)).toEqual([...duplicates, "202 accepted"]);
    expect(await messages(jobId)).toEqual(ONE_EACH);
    expect(await settled(jobId)).toEqual(doneOnce());
    const claim = await stack.claimOf(jobId, "receiver");
    expect(claim?.history.map(({ verb }) => verb)).toEqual(["claim", "complete"]);
  });

  it("50 jobs at once, two copies each: one message per consumer for each", async () => {
    const jobIds = Array.from({ length: 50 }, (_, index) => `job-30-many-${index}`);
    const answers = await Promise.all(jobIds.map((jobId) => copies(jobId, 2)));
    expect(new Set(answers.map(String))).toEqual(new Set(["200 duplicate,202 accepted"]));
    for (const jobId of jobIds) {
      expect(await messages(jobId)).toEqual(ONE_EACH);
      expect(await stack.claimOf(jobId, "receiver")).toMatchObject({ status: "completed", attempt: 1 });
    }
  });
});

/** The answers of both, the first held while it sends and then told `order`, once the copy waits in the ledger. */
async function race(jobId: string, order: "refuse" | "pass"): Promise<string[]> {
  const queue = observedQueue(stack);
  await queue.order(jobId, "scripted", "hold");
  const first = sendSigned(stack, event(jobId));
  await until("the first to be sending", async () => (await queue.isHeld(jobId, "scripted")) || undefined);
  const copy = sendSigned(stack, event(jobId));
  await until("the copy to wait", () => claimLine(jobId, "in_progress"));
  await queue.order(jobId, "scripted", order);
  return (await Promise.all([first, copy])).map(outcome);
}

describe.concurrent("#31 a copy while the first is still sending", () => {
  it("the first then fails: the copy takes over, 202, one message per consumer from it", async () => {
    expect(await race("job-31-fails", "refuse")).toEqual(["503", "202 accepted"]);
    // The first had sent to the two whose queues did not refuse.
    expect(await messages("job-31-fails")).toEqual({ "artifact-archive": 2, "job-index": 2, scripted: 1 });
    expect(await settled("job-31-fails")).toEqual(doneOnce(2));
    const claim = await stack.claimOf("job-31-fails", "receiver");
    expect(claim?.history.map(({ verb }) => verb)).toEqual(["claim", "release", "claim", "complete"]);
  });

  it("the first then succeeds: the copy is a duplicate, one message per consumer", async () => {
    expect(await race("job-31-succeeds", "pass")).toEqual(["202 accepted", "200 duplicate"]);
    expect(await messages("job-31-succeeds")).toEqual(ONE_EACH);
    expect(await settled("job-31-succeeds")).toEqual(doneOnce());
  });
});

describe.concurrent("#32 a queue refuses its message: 503 and released; the next attempt: 202", () => {
  it.each(CONSUMERS)("%s", async (consumer) => {
    const jobId = `job-32-${consumer}`;
    await observedQueue(stack).order(jobId, consumer, "refuse");
    const refused = await sendSigned(stack, event(jobId));
    expect(refused.status).toBe(503);
    expect(JSON.parse(refused.text)).toMatchObject({ detail: `No message was taken for: ${consumer}.` });
    const released = await stack.claimOf(jobId, "receiver");
    expect(released).toMatchObject({ status: "released", attempt: 1, error: expect.stringContaining(consumer) });
    expect((await messages(jobId))[consumer]).toBe(0);

    expect(outcome(await sendSigned(stack, event(jobId)))).toBe("202 accepted");
    expect((await messages(jobId))[consumer]).toBe(1);
    expect(await settled(jobId)).toEqual(doneOnce(2));
  });
});

describe.concurrent("#34 another event type for the same job", () => {
  it("200, both events on the record, flagged and logged; the same again: 200, the record unchanged", async () => {
    await sendSigned(stack, event("job-34"));
    expect(await settled("job-34")).toEqual(doneOnce());
    const before = await stack.recordWithBodies("job-34");

    const failed = event("job-34", ',"error":{"code":"late"}', "job.failed");
    expect(outcome(await sendSigned(stack, failed))).toBe("200 duplicate");
    const flagged = await stack.recordWithBodies("job-34");
    expect(flagged).toMatchObject({
      conflict: true,
      events: [
        { type: "job.completed", body: event("job-34") },
        { type: "job.failed", body: failed },
      ],
    });
    expect(flagged?.claims).toEqual(before?.claims);
    const line = await until("the conflict to be logged", () => deliveryLine("job-34", "job.failed"));
    expect(line).toMatchObject({ outcome: "duplicate", conflictWith: "job.completed" });

    for (const body of [failed, event("job-34")]) {
      expect(outcome(await sendSigned(stack, body))).toBe("200 duplicate");
      expect(await stack.recordWithBodies("job-34")).toEqual(flagged);
    }
    expect(await messages("job-34")).toEqual(ONE_EACH);
  });

  it("a fifth type is not kept, and is answered like the others", async () => {
    const types = ["job.completed", "job.failed", "job.canceled", "job.expired"];
    for (const type of types) await sendSigned(stack, event("job-34-five", "", type));
    await stack.untilFinished("job-34-five");
    const before = await stack.recordWithBodies("job-34-five");
    expect(before?.events.map(({ type }) => type)).toEqual(types);
    expect(outcome(await sendSigned(stack, event("job-34-five", "", "job.fifth")))).toBe("200 duplicate");
    expect(await stack.recordWithBodies("job-34-five")).toEqual(before);
    expect(await messages("job-34-five")).toEqual(ONE_EACH);
  });

  it("two types at once: one is accepted, both are kept", async () => {
    const answers = await Promise.all(
      ["job.completed", "job.failed"].map((type) => sendSigned(stack, event("job-34-race", "", type))),
    );
    expect(answers.map(outcome).toSorted()).toEqual(["200 duplicate", "202 accepted"]);
    const record = await stack.record("job-34-race");
    expect(record?.events.map(({ type }) => type).toSorted()).toEqual(["job.completed", "job.failed"]);
    expect(record?.conflict).toBe(true);
    expect(await messages("job-34-race")).toEqual(ONE_EACH);
  });
});

function claimLine(jobId: string, what: string): LogLine | undefined {
  return stack.logs().find((line) => line.event === "claim" && line.jobId === jobId && line.outcome === what);
}

function deliveryLine(jobId: string, type: string): LogLine | undefined {
  return stack.logs().find((line) => line.event === "delivery" && line.jobId === jobId && line.type === type);
}
