// The one alarm: cleanup when its time has come and never before, and that no failure loses it.

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ClaimOutcome } from "../../../ledger-service/contract/index.ts";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import {
  age,
  alarmOf,
  EVENT,
  evict,
  finish,
  jobObject,
  ledger,
  OTHER_EVENT,
  rowsOf,
  setAlarm,
  tablesOf,
} from "./job-object.ts";

const index = ledger("index");
/** The next transaction, or cleanup, of this job's instance throws. */
function failingOnce(jobId: string): Promise<void> {
  return runInDurableObject(jobObject(jobId), (_, { storage }) => {
    for (const method of ["transactionSync", "deleteAll"] as const) {
      vi.spyOn(storage, method).mockImplementationOnce(() => {
        throw new Error("canary-7f3a");
      });
    }
  });
}

const SOON = { timeout: 4_000, interval: 10 };

afterEach(() => {
  vi.restoreAllMocks();
});

describe("cleanup", () => {
  test("by the platform's alarm removes rows, tables and the alarm; the job is new and its fence higher", async () => {
    const first = await index.claim({ jobId: "clean", event: EVENT, token: "t" });
    await index.complete({ jobId: "clean", token: "t" });
    await age("clean", "index");
    await setAlarm("clean", Date.now());
    await vi.waitFor(async () => expect(await tablesOf("clean")).toEqual([]), SOON);
    expect(await index.inspect({ jobId: "clean" })).toBeNull();
    expect(await alarmOf("clean")).toBeNull();
    expect(await index.claim({ jobId: "clean" })).toEqual({ outcome: "unknown" });

    const again = await index.claim({ jobId: "clean", event: EVENT, token: "t" });
    expect(again).toMatchObject({ outcome: "claimed", attempt: 1, event: EVENT });
    expect("fence" in again && again.fence).toBeGreaterThan("fence" in first ? first.fence : Number.NaN);
    expect(await index.inspect({ jobId: "clean" })).toMatchObject({ claims: [{ history: [{ verb: "claim" }] }] });
  });

  test("by the platform's alarm, with the record in memory", async () => {
    await finish("clean-warm", "index");
    await age("clean-warm", "index");
    await index.inspect({ jobId: "clean-warm" });
    await setAlarm("clean-warm", Date.now());
    await vi.waitFor(async () => expect(await tablesOf("clean-warm")).toEqual([]), SOON);
    expect(await index.inspect({ jobId: "clean-warm" })).toBeNull();
  });

  test("a call that comes while everything is being deleted waits, and finds the job gone", async () => {
    await finish("going", "index");
    await age("going", "index");
    const answer = await runInDurableObject(jobObject("going"), async (job: JobLedger, { storage }) => {
      const deleteAll = storage.deleteAll.bind(storage);
      const { promise: called, resolve: calls } = Promise.withResolvers<ClaimOutcome>();
      vi.spyOn(storage, "deleteAll").mockImplementationOnce(async () => {
        calls(ledger("index").claim({ jobId: "going", event: OTHER_EVENT }));
        // It has arrived by the time that others which were made later are answered.
        for (let count = 0; count < 5; count++) await ledger("index").inspect({ jobId: "another" });
        await deleteAll();
      });
      await job.alarm();
      return { ...(await called) };
    });
    expect(answer).toMatchObject({ outcome: "claimed", attempt: 1, event: OTHER_EVENT });
    expect(await index.inspect({ jobId: "going" })).toMatchObject({
      conflict: false,
      events: [{ type: "job.failed" }],
    });
  });

  test.each(["claimed", "released", "reopened", "dispatched"])(
    "never of a job that is unfinished (%s)",
    async (state) => {
      const jobId = `unfinished-${state}`;
      await index.claim({ jobId, event: EVENT, token: "t" });
      if (state === "released") await index.release({ jobId, token: "t" });
      if (state === "dispatched") await index.complete({ jobId, token: "t", dispatchedTo: ["mail"] });
      if (state === "reopened") {
        await index.complete({ jobId, token: "t" });
        const reopening = { actor: "ann", consumer: "index", eventType: null, refresh: false };
        await runInDurableObject(jobObject(jobId), (job: JobLedger) => job.reopen(reopening));
      }
      await age(jobId, "index");
      const kept = async () => (await rowsOf(jobId)).filter(({ kind }) => kind !== "watch");
      const before = await kept();
      await setAlarm(jobId, Date.now() + 60_000);
      expect(await runDurableObjectAlarm(jobObject(jobId))).toBe(true);
      expect(await kept()).toEqual(before);
    },
  );

  test("gives way to the watch at a reopening, which is due at once", async () => {
    await finish("called-off", "index");
    expect(await alarmOf("called-off")).toBeGreaterThan(Date.now() + 60_000);
    const reopening = { actor: "ann", consumer: "index", eventType: null, refresh: false };
    await runInDurableObject(jobObject("called-off"), (job: JobLedger) => job.reopen(reopening));
    await vi.waitFor(async () => {
      expect(await index.inspect({ jobId: "called-off" })).toMatchObject({ watch: { rings: 1 } });
    }, SOON);
  });
});

describe("an alarm", () => {
  test("before it is due is set again, and nothing is removed", async () => {
    await finish("alarm-early", "index");
    const due = await alarmOf("alarm-early");
    const before = await rowsOf("alarm-early");
    expect(due).not.toBeNull();
    expect(await runDurableObjectAlarm(jobObject("alarm-early"))).toBe(true);
    expect(await alarmOf("alarm-early")).toBe(due);
    expect(await rowsOf("alarm-early")).toEqual(before);
  });

  test("before it is due, run by the platform, is set again", async () => {
    await finish("early-real", "index");
    const due = await alarmOf("early-real");
    await evict("early-real");
    await setAlarm("early-real", Date.now());
    await vi.waitFor(async () => expect(await alarmOf("early-real")).toBe(due), SOON);
  });

  test("on an object that holds nothing does nothing", async () => {
    await setAlarm("empty", Date.now() + 60_000);
    expect(await runDurableObjectAlarm(jobObject("empty"))).toBe(true);
    expect(await alarmOf("empty")).toBeNull();
  });

  test("whose work throws is logged without what the error says, and set again", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
    await finish("alarm-broken", "index");
    const before = Date.now();
    await failingOnce("alarm-broken");
    expect(await runDurableObjectAlarm(jobObject("alarm-broken"))).toBe(true);
    const due = await alarmOf("alarm-broken");
    expect(due).toBeGreaterThan(before);
    expect(due).toBeLessThanOrEqual(Date.now() + 3_600_000);
    const lines = errors.mock.calls.map(([line]) => String(line));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"event":"alarm"');
    expect(lines[0]).not.toContain("canary-7f3a");
  });

  test("whose work throws, run by the platform, is set again, and does its work once it can", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
    await finish("mended", "index");
    await age("mended", "index");
    await failingOnce("mended");
    await setAlarm("mended", Date.now());
    await vi.waitFor(async () => {
      expect(errors).toHaveBeenCalled();
      expect(await alarmOf("mended")).toBeGreaterThan(Date.now());
    }, SOON);
    await setAlarm("mended", Date.now());
    await vi.waitFor(async () => expect(await tablesOf("mended")).toEqual([]), SOON);
  });

  test("that was lost is made good by the next call that finds it overdue", async () => {
    await finish("overdue", "index");
    await age("overdue", "index");
    await runInDurableObject(jobObject("overdue"), (_, { storage }) => storage.deleteAlarm());
    await evict("overdue");
    await index.claim({ jobId: "overdue", event: EVENT });
    // Set to a time that has passed it rings at once, and the job is cleaned up.
    await vi.waitFor(async () => expect(await tablesOf("overdue")).toEqual([]), { timeout: 1_000, interval: 10 });
  });
});
