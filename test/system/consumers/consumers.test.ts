// Rows 36 to 41: what consumers may meet. Events are put into the ledger as a receiver puts them; messages go onto real
// queues.

import { resolve } from "node:path";
import { unstable_readConfig } from "wrangler";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type LogLine, type Stack, startStack, until } from "../../support/stack/stack.ts";
import { productFolders } from "../../support/stack/workers.ts";
import { ROOT } from "../../support/tools/wrangler-env.ts";
import { samplePayload } from "../../local/sume/webhooks/payloads.ts";
import { callThrough, type ConsumerName, CONSUMERS, enqueue, ledgerAs } from "../controls.ts";
import { event } from "../receiver/requests.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ workers: ["crashing"] });
}, 60_000);
afterAll(() => stack.close());
// Most of these tests wait: for a queue's batch, a retry, the end of a lease.
vi.setConfig({ maxConcurrency: 20 });

type Script = { failAttempts?: number | "always" | "permanently" };

/** Records the job's event, as a receiver that sent no message yet; `script` is for the scripted consumer. */
async function recordEvent(jobId: string, script: Script = {}): Promise<void> {
  const ledger = ledgerAs(stack, "receiver");
  const body = event(jobId, `,"script":${JSON.stringify(script)}`);
  await ledger.claim({ jobId, event: { type: "job.completed", body, source: "webhook" }, token: "receiver" });
  await ledger.complete({ jobId, token: "receiver", dispatchedTo: [] });
}

function consumeLines(jobId: string, consumer: ConsumerName = "scripted"): LogLine[] {
  return stack
    .logs()
    .filter((line) => line.event === "consume" && line.jobId === jobId && line["consumer"] === consumer);
}

/** The outcomes of a job's messages so far, by message, in the order of their deliveries. */
function outcomes(jobId: string): string[][] {
  return Object.values(Object.groupBy(consumeLines(jobId), (line) => String(line["messageId"])))
    .map((lines) => (lines ?? []).map(({ outcome }) => outcome))
    .toSorted((a, b) => (a.join() < b.join() ? -1 : 1));
}

const verbs = async (jobId: string, consumer: string): Promise<string[] | undefined> =>
  (await stack.claimOf(jobId, consumer))?.history.map(({ verb }) => verb);

/** Waits until so many of the job's messages have come to an outcome that is acknowledged. */
function untilAcknowledged(jobId: string, count: number): Promise<string[][]> {
  const acknowledged = ["done", "completed", "failed", "gave_up", "unknown"];
  return until(`${count} messages of ${jobId} to be acknowledged`, () => {
    const all = outcomes(jobId);
    const done = all.filter((each) => acknowledged.includes(each.at(-1) ?? ""));
    return done.length === count && all.length === count ? all : undefined;
  });
}

describe("the queues of the product's consumers", () => {
  it.each(productFolders().filter((folder) => folder.startsWith("consumers/")))(
    "%s: a delivery that dies before it is settled comes again after a minute",
    (folder) => {
      const { queues } = unstable_readConfig({ config: resolve(ROOT, folder, "wrangler.jsonc") });
      expect(queues.consumers).toMatchObject([{ retry_delay: 60 }]);
    },
  );
});

describe.concurrent("#36 the same message twice", () => {
  it("one after the other: the work runs once, both are acknowledged", async () => {
    await recordEvent("job-36-after");
    await enqueue(stack, "scripted", [{ jobId: "job-36-after" }]);
    await untilAcknowledged("job-36-after", 1);
    const before = await stack.record("job-36-after");
    await enqueue(stack, "scripted", [{ jobId: "job-36-after" }]);
    expect(await untilAcknowledged("job-36-after", 2)).toEqual([["completed"], ["done"]]);
    expect(await stack.record("job-36-after")).toEqual(before);
    expect(await verbs("job-36-after", "scripted")).toEqual(["claim", "complete"]);
  });

  it("at once, in one batch: the work runs once, both are acknowledged", async () => {
    await recordEvent("job-36-at-once");
    await enqueue(stack, "scripted", [{ jobId: "job-36-at-once" }, { jobId: "job-36-at-once" }]);
    const [second, first] = (await untilAcknowledged("job-36-at-once", 2)).toSorted((a, b) => b.length - a.length);
    expect(first).toEqual(["done"]);
    expect(second?.at(-1)).toBe("completed");
    expect(await verbs("job-36-at-once", "scripted")).toEqual(["claim", "complete"]);
  });
});

describe.concurrent("#37 bad messages and a good one in one batch", () => {
  it("work that throws: only its message is retried", async () => {
    await recordEvent("job-37-bad", { failAttempts: 1 });
    await recordEvent("job-37-good");
    await enqueue(stack, "scripted", [{ jobId: "job-37-bad" }, { jobId: "job-37-good" }]);
    expect(await untilAcknowledged("job-37-bad", 1)).toEqual([["released", "done"]]);
    expect(outcomes("job-37-good")).toEqual([["done"]]);
    expect(await verbs("job-37-bad", "scripted")).toEqual(["claim", "release", "claim", "complete"]);
    expect(await verbs("job-37-good", "scripted")).toEqual(["claim", "complete"]);
  });

  it("#52 what is no message: acknowledged at once, one error line each, the good one is done", async () => {
    await recordEvent("job-37-among");
    await enqueue(stack, "scripted", [null, "text", {}, { jobId: 37 }, { jobId: "" }, { jobId: "job-37-among" }]);
    expect(await untilAcknowledged("job-37-among", 1)).toEqual([["done"]]);
    const errors = await until("five error lines", () => {
      const lines = stack.logs().filter((line) => line.event === "consume" && line.outcome === "malformed");
      return lines.length >= 5 ? lines : undefined;
    });
    expect(new Set(errors.map(({ level, worker }) => `${level} ${worker}`))).toEqual(new Set(["error scripted"]));
    expect(new Set(errors.map((line) => line["messageId"])).size).toBe(5);
    expect(errors).toHaveLength(5);
  });
});

describe.concurrent("#38 a consumer stalls past its lease and another takes over", () => {
  it("the first then completes, releases, renews: stale each time, the winner's result stands", async () => {
    const [jobId, ledger] = ["job-38", ledgerAs(stack, "scripted")];
    await recordEvent(jobId);
    const stalled = await ledger.claim({ jobId, leaseMs: 1_000, token: "stalled" });
    const winner = await ledger.claim({ jobId, waitMs: 8_000, token: "winner" });
    expect([stalled, winner]).toMatchObject([
      { outcome: "claimed", attempt: 1 },
      { outcome: "claimed", attempt: 2 },
    ]);
    const stale = { outcome: "stale", reason: "taken" };
    const tryAll = async () => [
      await ledger.complete({ jobId, token: "stalled", result: "stalled" }),
      await ledger.release({ jobId, token: "stalled", error: "stalled", permanent: true }),
      ...(await ledger.renew({ claims: [{ jobId, token: "stalled" }] })),
    ];
    const held = await stack.record(jobId);
    expect(await tryAll()).toEqual([stale, stale, { jobId, ...stale }]);
    expect(await stack.record(jobId)).toEqual(held);

    await ledger.complete({ jobId, token: "winner", result: "winner" });
    const done = await stack.record(jobId);
    expect(await tryAll()).toEqual([stale, stale, { jobId, ...stale }]);
    expect(await stack.record(jobId)).toEqual(done);
    expect(await stack.claimOf(jobId, "scripted")).toMatchObject({ status: "completed", attempt: 2, result: "winner" });
  });
});

describe.concurrent("#39 a crash after the work, before complete", () => {
  it("the work runs again to the same effect, the record ends completed", async () => {
    await recordEvent("job-39");
    await stack.call("crashing", "enqueue", "job-39");
    const claim = await until("the job to be completed", async () => {
      const found = await stack.claimOf("job-39", "crashing");
      return found?.status === "completed" ? found : undefined;
    });
    expect(claim).toMatchObject({ attempt: 2, maxAttempts: 60 });
    expect(claim.history.map(({ verb }) => verb)).toEqual(["claim", "claim", "complete"]);
    expect(await stack.call("crashing", "effect", "job-39")).toEqual({ runs: 2, value: "job.completed" });
  });

  it("the product's consumers, run again: the same objects, one row", async () => {
    const jobId = "job-39-again";
    stack.sume.createJob({ id: jobId, body: samplePayload("video", jobId), state: "completed" });
    await stack.sume.deliver(jobId, { attempts: 1 });
    const before = await stack.untilFinished(jobId);
    const objects = await stack.archived(`${jobId}/`);
    expect(objects.length).toBe(2);

    for (const consumer of ["artifact-archive", "job-index"] as const) {
      const args = { namespace: "default", jobId, actor: "tests", consumer };
      expect(await callThrough(stack, "ADMIN", "reopen", args)).toMatchObject({ value: { outcome: "reopened" } });
      await enqueue(stack, consumer, [{ jobId }]);
    }
    const after = await stack.untilFinished(jobId);
    for (const { consumer, fence } of before.claims.filter((claim) => /archive|index/.test(claim.consumer))) {
      const claim = after.claims.find((each) => each.consumer === consumer);
      expect(claim).toMatchObject({ status: "completed", attempt: 1 });
      expect(claim?.fence).toBeGreaterThan(fence);
    }
    expect(await stack.archived(`${jobId}/`)).toEqual(objects);
    const fence = after.claims.find(({ consumer }) => consumer === "job-index")?.fence;
    expect(await stack.indexed(jobId)).toMatchObject([{ job_id: jobId, event_type: "job.completed", fence }]);
  });
});

describe.concurrent("#40 and #41 work that fails for good", () => {
  const failure = { status: "failed", error: expect.stringContaining("scripted to fail"), result: null };

  it("#40 always failing: failed after maxAttempts, visible, not retried; reopen starts anew", async () => {
    const jobId = "job-40";
    await recordEvent(jobId, { failAttempts: "always" });
    await enqueue(stack, "scripted", [{ jobId }]);
    const tried = ["released", "released", "released", "gave_up"];
    expect(await untilAcknowledged(jobId, 1)).toEqual([tried]);
    const failed = await stack.claimOf(jobId, "scripted");
    expect(failed).toMatchObject({ ...failure, attempt: 4, maxAttempts: 4 });
    expect((await stack.record(jobId))?.unfinished).toEqual([]);

    await enqueue(stack, "scripted", [{ jobId }]);
    expect(await untilAcknowledged(jobId, 2)).toEqual([["failed"], tried]);
    expect(await stack.claimOf(jobId, "scripted")).toEqual(failed);

    const args = { namespace: "default", jobId, actor: "tests", consumer: "scripted" };
    expect(await callThrough(stack, "ADMIN", "reopen", args)).toEqual({ value: { outcome: "reopened" } });
    await enqueue(stack, "scripted", [{ jobId }]);
    const again = await until("the reopened claim to be taken", async () => {
      const claim = await stack.claimOf(jobId, "scripted");
      return claim !== undefined && claim.status !== "reopened" ? claim : undefined;
    });
    expect(again.attempt).toBeLessThan(4);
    expect(again.fence).toBeGreaterThan(failed?.fence ?? Number.POSITIVE_INFINITY);
    const since = again.history.slice(again.history.findIndex(({ verb }) => verb === "reopen"));
    expect(since.slice(0, 2)).toMatchObject([
      { verb: "reopen", actor: "tests", error: failed?.error },
      { verb: "claim", actor: "scripted", attempt: 1 },
    ]);
  });

  it("#41 a NonRetryableError: failed at once, its message acknowledged", async () => {
    await recordEvent("job-41", { failAttempts: "permanently" });
    await enqueue(stack, "scripted", [{ jobId: "job-41" }]);
    expect(await untilAcknowledged("job-41", 1)).toEqual([["gave_up"]]);
    expect(await stack.claimOf("job-41", "scripted")).toMatchObject({ ...failure, attempt: 1 });
    expect(await verbs("job-41", "scripted")).toEqual(["claim", "release"]);
  });
});

describe.concurrent("#40a a message for a job that the ledger does not know", () => {
  it.each(CONSUMERS)("%s: unknown, logged as an error, nothing written, no work done", async (consumer) => {
    const jobId = `job-40a-${consumer}`;
    await enqueue(stack, consumer, [{ jobId }]);
    const line = await until("the line on it", () => consumeLines(jobId, consumer)[0]);
    expect(line).toMatchObject({ level: "error", outcome: "unknown", namespace: "default", jobId });
    expect(await stack.record(jobId)).toBeNull();
    expect([await stack.archived(`${jobId}/`), await stack.indexed(jobId)]).toEqual([[], []]);
  });
});

describe.concurrent("#40b and #40c what a holder may still do", () => {
  it("#40b complete repeated after its reply was lost: ok; a release afterwards: stale", async () => {
    const [jobId, ledger] = ["job-40b", ledgerAs(stack, "scripted")];
    await recordEvent(jobId);
    await ledger.claim({ jobId, token: "mine" });
    const complete = { jobId, token: "mine", result: { rows: 1 } };
    expect(await ledger.complete(complete)).toEqual({ outcome: "ok", status: "completed" });
    const before = await stack.record(jobId);
    expect(await ledger.complete(complete)).toEqual({ outcome: "ok", status: "completed" });
    expect(await ledger.release({ jobId, token: "mine", error: "late" })).toEqual({
      outcome: "stale",
      reason: "settled",
    });
    expect(await stack.record(jobId)).toEqual(before);
    expect(await stack.claimOf(jobId, "scripted")).toMatchObject({ status: "completed", result: { rows: 1 } });
  });

  it("#40c the last attempt's holder dies: failed at the next claim; its late complete counts", async () => {
    const [jobId, ledger] = ["job-40c", ledgerAs(stack, "scripted")];
    await recordEvent(jobId);
    await ledger.claim({ jobId, token: "dead", leaseMs: 1_000, maxAttempts: 1 });
    expect(await ledger.claim({ jobId, waitMs: 8_000, maxAttempts: 1 })).toMatchObject({
      outcome: "failed",
      attempt: 1,
    });
    const failed = await stack.claimOf(jobId, "scripted");
    expect(failed).toMatchObject({ status: "failed", error: expect.stringContaining("attempts used up") });

    expect(await ledger.complete({ jobId, token: "dead", result: "late" })).toMatchObject({ outcome: "ok" });
    expect(await stack.claimOf(jobId, "scripted")).toMatchObject({ status: "completed", attempt: 1, result: "late" });
    expect(await ledger.claim({ jobId })).toMatchObject({ outcome: "completed", result: "late" });
  });
});
