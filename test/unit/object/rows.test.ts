// What each operation writes, in rows: the budget that the bill follows. And that what fails writes nothing at all.

import { runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import {
  alarmOf,
  claimOf,
  type Cost,
  costOf,
  endLease,
  EVENT,
  failing,
  finish,
  jobObject,
  ledger,
  messageOf,
  OTHER_EVENT,
  rowsOf,
  type Step,
  tablesOf,
} from "./job-object.ts";

const index = ledger("index");

const by = (token: string) => ({ consumer: "index", token });
const claim = (job: JobLedger, token: string) => job.claim(claimOf(token, "index"), null, 0);
const complete = (job: JobLedger, token: string) =>
  job.complete({ ...by(token), result: '{"n":1}', dispatchedTo: null });
const release = (job: JobLedger, token: string, permanent = false) =>
  job.release({ ...by(token), error: "e", retryAfterMs: 0, permanent });
const renew = (job: JobLedger, token: string) => job.renew({ ...by(token), leaseMs: 900_000 });
const reopen = (job: JobLedger) => job.reopen({ actor: "ann", consumer: "index", eventType: null, refresh: false });
const conflicting = (job: JobLedger) => job.claim(claimOf("x", "index"), OTHER_EVENT, 0);

const NOTHING: Cost = { rows: 0, alarms: 0 };

afterEach(() => {
  vi.restoreAllMocks();
});

describe("rows written", () => {
  test("by a first claim: event 1, claim 1, and the alarm; no schema", async () => {
    const keys = await runInDurableObject(jobObject("first"), async (job: JobLedger, { storage }) => {
      const put = vi.spyOn(storage.kv, "put");
      await job.claim(claimOf("a", "index"), EVENT, 0);
      return put.mock.calls.map(([key]) => key);
    });
    expect(keys).toEqual(["event:job.completed", "claim:index"]);
    expect(await costOf("first-cost", (job) => job.claim(claimOf("a", "index"), EVENT, 0))).toEqual({
      rows: 2,
      alarms: 1,
    });
  });

  test("by a second consumer's claim: 1, no schema", async () => {
    await ledger("receiver").claim({ jobId: "second", event: EVENT });
    expect(await costOf("second", (job) => claim(job, "a"))).toEqual({ rows: 1, alarms: 0 });
  });

  test("by a settle: 1, and 1 for the alarm when it is the last", async () => {
    await ledger("receiver").claim({ jobId: "settle", event: EVENT, token: "r" });
    await index.claim({ jobId: "settle", token: "a" });
    const receiver = { consumer: "receiver", token: "r", result: null, dispatchedTo: ["index"] };
    expect(await costOf("settle", (job) => job.complete(receiver))).toEqual({ rows: 1, alarms: 0 });
    expect(await costOf("settle", (job) => release(job, "a"))).toEqual({ rows: 1, alarms: 0 });
    expect(await costOf("settle", (job) => claim(job, "b"))).toEqual({ rows: 1, alarms: 0 });
    expect(await costOf("settle", (job) => complete(job, "b"))).toEqual({ rows: 1, alarms: 1 });
  });

  test("by a release for good that is the last: 1, and 1 for the alarm", async () => {
    await index.claim({ jobId: "permanent", event: EVENT, token: "a" });
    expect(await costOf("permanent", (job) => release(job, "a", true))).toEqual({ rows: 1, alarms: 1 });
  });

  test("by a renewal: 1", async () => {
    await index.claim({ jobId: "renewal", event: EVENT, token: "a" });
    expect(await costOf("renewal", (job) => renew(job, "a"))).toEqual({ rows: 1, alarms: 0 });
  });

  test("by a takeover: 1", async () => {
    await index.claim({ jobId: "takeover", event: EVENT, token: "a" });
    await endLease("takeover", "index", 1_000);
    expect(await costOf("takeover", (job) => claim(job, "b"))).toEqual({ rows: 1, alarms: 0 });
  });

  test("by the finding that attempts are used up: 1, and 1 for the alarm", async () => {
    await index.claim({ jobId: "exhausted", event: EVENT, maxAttempts: 1 });
    await endLease("exhausted", "index", 1_000);
    expect(await costOf("exhausted", (job) => claim(job, "b"))).toEqual({ rows: 1, alarms: 1 });
    expect(await costOf("exhausted", (job) => claim(job, "b"))).toEqual(NOTHING);
  });

  test.each([
    ["an open job", (jobId: string) => index.claim({ jobId, event: EVENT, token: "t" })],
    ["a job that is over", (jobId: string) => finish(jobId, "index")],
  ])("by a first conflict of %s: 1, and 1 for the alarm that tells of it; by another none", async (name, prepare) => {
    const jobId = `conflict of ${name}`;
    await prepare(jobId);
    await runInDurableObject(jobObject(jobId), (_, { storage }) => storage.deleteAlarm());
    expect(await costOf(jobId, conflicting)).toEqual({ rows: 1, alarms: 1 });
    expect(await costOf(jobId, conflicting)).toEqual(NOTHING);
  });

  test("by another body while somebody is unfinished: 1; by the same body again none", async () => {
    await index.claim({ jobId: "replaced", event: EVENT, token: "a" });
    const newer = { ...EVENT, body: `${EVENT.body} ` };
    expect(await costOf("replaced", (job) => job.claim(claimOf("r", "receiver"), newer, 0))).toEqual({
      rows: 2,
      alarms: 0,
    });
    expect(await costOf("replaced", (job) => job.claim(claimOf("r", "receiver"), newer, 0))).toEqual(NOTHING);
    expect(await costOf("replaced", (job) => complete(job, "a"))).toEqual({ rows: 1, alarms: 0 });
    const receiver = { consumer: "receiver", token: "r", result: null, dispatchedTo: null };
    expect(await costOf("replaced", (job) => job.complete(receiver))).toEqual({ rows: 1, alarms: 1 });
    expect(await costOf("replaced", (job) => job.claim(claimOf("r2", "receiver"), EVENT, 0))).toEqual(NOTHING);
  });

  test("does not grow with the body: a settle leaves its row alone", async () => {
    await index.claim({ jobId: "large", event: { ...EVENT, body: `"${"x".repeat(1_000_000)}"` }, token: "a" });
    const [event] = (await rowsOf("large")).filter(({ kind }) => kind === "event");
    expect(await costOf("large", (job) => complete(job, "a"))).toEqual({ rows: 1, alarms: 1 });
    expect((await rowsOf("large")).filter(({ kind }) => kind === "event")).toEqual([event]);
  });
});

describe("no row is written", () => {
  test("while another holds the claim", async () => {
    await index.claim({ jobId: "held", event: EVENT, token: "a" });
    const steps: Step[] = [
      (job) => job.claim(claimOf("b", "index"), EVENT, 0),
      (job) => job.claim(claimOf("b", "index"), EVENT, 50),
      (job) => job.claim(claimOf("a", "index"), EVENT, 0),
      (job) => renew(job, "stale"),
      (job) => complete(job, "stale"),
      (job) => release(job, "stale"),
      reopen,
      (job) => job.inspect(true),
    ];
    expect(await costsOf("held", steps)).toEqual(steps.map(() => NOTHING));
  });

  test("by a renewal that moves nothing", async () => {
    await index.claim({ jobId: "renewed", event: EVENT, token: "a", leaseMs: 900_000 });
    expect(await costOf("renewed", (job) => job.renew({ ...by("a"), leaseMs: 1_000 }))).toEqual(NOTHING);
  });

  test("while the claim is deferred", async () => {
    await index.claim({ jobId: "deferred", event: EVENT, token: "a" });
    await index.release({ jobId: "deferred", token: "a", retryAfterMs: 60_000 });
    expect(await costOf("deferred", (job) => job.claim(claimOf("b", "index"), EVENT, 50))).toEqual(NOTHING);
    expect(await costOf("deferred", (job) => release(job, "a"))).toEqual(NOTHING);
  });

  test("once the job is over", async () => {
    await finish("over", "index");
    const steps: Step[] = [
      (job) => job.claim(claimOf("b", "index"), EVENT, 50),
      (job) => complete(job, "t"),
      (job) => release(job, "t"),
      (job) => renew(job, "t"),
      (job) => job.inspect(true),
    ];
    expect(await costsOf("over", steps)).toEqual(steps.map(() => NOTHING));
  });

  test("on an unknown job, not even a table", async () => {
    const steps: Step[] = [
      (job) => job.claim(claimOf("a", "index"), null, 0),
      (job) => job.claim(claimOf("a", "index"), null, 50),
      (job) => job.inspect(true),
      (job) => complete(job, "a"),
      (job) => release(job, "a"),
      (job) => renew(job, "a"),
      reopen,
    ];
    expect(await costsOf("unknown", steps)).toEqual(steps.map(() => NOTHING));
    expect(await index.claim({ jobId: "unknown" })).toEqual({ outcome: "unknown" });
    expect(await index.inspect({ jobId: "unknown" })).toBeNull();
    expect(await tablesOf("unknown")).toEqual([]);
    expect(await alarmOf("unknown")).toBeNull();
  });
});

describe("a throw inside the transaction", () => {
  test.each([
    ["the event", 1],
    ["the claim", 2],
  ])("of a first claim, after %s was written, leaves no table; the next claim works", async (_, writes) => {
    const jobId = `throw-first-${writes}`;
    expect(await failing(jobId, writes, (job) => job.claim(claimOf("a", "index"), EVENT, 0))).toBe("after writing");
    expect(await tablesOf(jobId)).toEqual([]);
    expect(await alarmOf(jobId)).toBeNull();
    expect(await index.inspect({ jobId })).toBeNull();
    expect(await index.claim({ jobId, event: EVENT })).toMatchObject({ outcome: "claimed", attempt: 1, event: EVENT });
    expect(await rowsOf(jobId)).toHaveLength(2);
  });

  test("of a later step leaves every row and the alarm; the step repeated works", async () => {
    const jobId = "throw-later";
    await index.claim({ jobId, event: EVENT, token: "a" });
    const before = [await rowsOf(jobId), await alarmOf(jobId)];
    const steps: [writes: number, step: Step][] = [
      [1, (job) => complete(job, "a")],
      [1, (job) => release(job, "a")],
      [1, (job) => renew(job, "a")],
      [1, (job) => job.claim(claimOf("b", "archive"), null, 0)],
      [2, (job) => job.claim(claimOf("b", "archive"), OTHER_EVENT, 0)],
    ];
    for (const [writes, step] of steps) {
      expect(await failing(jobId, writes, step)).toBe("after writing");
      expect([await rowsOf(jobId), await alarmOf(jobId)]).toEqual(before);
    }
    expect(await index.complete({ jobId, token: "a" })).toEqual({ outcome: "ok", status: "completed" });
    expect(await index.claim({ jobId })).toMatchObject({ outcome: "completed" });
  });

  test("where the alarm cannot be set leaves every row; the step repeated works", async () => {
    const jobId = "throw-set-alarm";
    await index.claim({ jobId, event: EVENT, token: "a" });
    const before = await rowsOf(jobId);
    const message = await runInDurableObject(jobObject(jobId), (job: JobLedger, { storage }) => {
      vi.spyOn(storage, "setAlarm").mockImplementationOnce(() => {
        throw new Error("no alarm");
      });
      return messageOf(() => complete(job, "a"));
    });
    expect(message).toBe("no alarm");
    expect(await rowsOf(jobId)).toEqual(before);
    expect(await index.complete({ jobId, token: "a" })).toEqual({ outcome: "ok", status: "completed" });
    expect(await alarmOf(jobId)).not.toBeNull();
  });

  test("after the alarm was set takes the alarm back as well", async () => {
    const jobId = "throw-alarm";
    await finish(jobId, "index");
    const before = [await rowsOf(jobId), await alarmOf(jobId)];
    const message = await runInDurableObject(jobObject(jobId), (_, { storage }) =>
      messageOf(() =>
        storage.transactionSync(() => {
          storage.kv.put("claim:index", {});
          void storage.setAlarm(1_900_000_000_000);
          throw new Error("after setting");
        }),
      ),
    );
    expect(message).toBe("after setting");
    expect([await rowsOf(jobId), await alarmOf(jobId)]).toEqual(before);
  });
});

async function costsOf(jobId: string, steps: readonly Step[]): Promise<Cost[]> {
  const costs: Cost[] = [];
  for (const step of steps) costs.push(await costOf(jobId, step));
  return costs;
}
