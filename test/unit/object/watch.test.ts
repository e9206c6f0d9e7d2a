// The watch in the object: real storage and alarms, the clock moved by the test, the alerts queue watched and made to fail.

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import * as v from "valibot";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import type { AlertMessage } from "../../../ledger-service/contract/index.ts";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import {
  alarmOf,
  claimOf,
  costOf,
  EVENT,
  evict,
  finish,
  jobObject,
  ledger,
  OTHER_EVENT,
  rowsOf,
  tablesOf,
} from "./job-object.ts";

const START = 1_800_000_000_000;
const MINUTE = 60_000;
const DAY = 86_400_000;
const index = ledger("index");
const receiver = ledger("receiver");

const Alert = v.strictObject({
  namespace: v.string(),
  jobId: v.string(),
  reason: v.picklist(["not_arrived", "not_finished", "conflict"]),
  ring: v.number(),
  pending: v.array(v.string()),
  refresh: v.exactOptional(v.literal(true)),
});
let alerts: AlertMessage[];
let send: MockInstance<typeof env.ALERTS.send>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  alerts = [];
  send = vi.spyOn(env.ALERTS, "send").mockImplementation(take);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const TAKEN = { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };

async function take(message: unknown): Promise<typeof TAKEN> {
  alerts.push(v.parse(Alert, message));
  return TAKEN;
}

/** Moves the clock to what is due next and lets the alarm run. Answers the clock. */
async function ring(jobId: string): Promise<number> {
  const at = await alarmOf(jobId);
  if (at === null) throw new Error("no alarm is set");
  vi.setSystemTime(Math.max(at, Date.now()));
  await runDurableObjectAlarm(jobObject(jobId));
  return Date.now();
}

/** Has the object do something that waits for its queue, and lets that much time pass while it does. */
async function meanwhile<T>(jobId: string, ms: number, step: (job: JobLedger) => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  return await runInDurableObject(jobObject(jobId), async (job: JobLedger) => {
    const done = step(job);
    await vi.advanceTimersByTimeAsync(ms);
    return await done;
  });
}

/** Received and dispatched; the consumer has not claimed. */
async function dispatched(jobId: string): Promise<void> {
  await receiver.claim({ jobId, event: EVENT, token: "r" });
  await receiver.complete({ jobId, token: "r", dispatchedTo: ["index"] });
}

/** For all objects: they share an environment. */
async function setVariable(jobId: string, name: string, value?: string): Promise<void> {
  await runInDurableObject(jobObject(jobId), (job) => void Object.assign(Reflect.get(job, "env"), { [name]: value }));
}

async function reopen(jobId: string): Promise<void> {
  const reopening = { actor: "ann", consumer: "index", eventType: null, refresh: false };
  await runInDurableObject(jobObject(jobId), (job: JobLedger) => job.reopen(reopening));
}

const notFinished = (jobId: string, count: number, pending = ["index"]) => ({
  namespace: "n",
  jobId,
  reason: "not_finished",
  ring: count,
  pending,
});

const notArrived = (jobId: string, count: number) => ({
  namespace: "n",
  jobId,
  reason: "not_arrived",
  ring: count,
  pending: [],
});

const conflict = (jobId: string) => ({ namespace: "n", jobId, reason: "conflict", ring: 1, pending: [] });

describe("an unfinished job", () => {
  test("is alerted 15 minutes after its event, then with growing pauses up to a day, for ever; overdue is a mark", async () => {
    await dispatched("forgotten");
    expect(await alarmOf("forgotten")).toBe(START + 15 * MINUTE);
    const minutes: number[] = [];
    const overdue: unknown[] = [];
    for (let count = 1; count <= 10; count++) {
      minutes.push(((await ring("forgotten")) - START) / MINUTE);
      overdue.push((await index.inspect({ jobId: "forgotten" }))?.watch?.overdue);
    }
    expect(alerts).toEqual(Array.from({ length: 10 }, (_, i) => notFinished("forgotten", i + 1)));
    expect(minutes).toEqual([15, 30, 60, 120, 240, 480, 960, 1_920, 3_360, 4_800]);
    expect(overdue).toEqual([false, false, true, true, true, true, true, true, true, true]);
  });

  test("whose receiver died is alerted with the receiver among the pending", async () => {
    await receiver.claim({ jobId: "dead-receiver", event: EVENT, leaseMs: 15_000 });
    await ring("dead-receiver");
    expect(alerts).toEqual([notFinished("dead-receiver", 1, ["receiver"])]);
  });

  test("is not alerted under a live lease, and is 5 minutes after its end", async () => {
    await dispatched("leased");
    vi.setSystemTime(START + 14 * MINUTE);
    await index.claim({ jobId: "leased", leaseMs: 5 * MINUTE, token: "i" });
    await ring("leased");
    expect(alerts).toEqual([]);
    expect(await alarmOf("leased")).toBe(START + 24 * MINUTE);
    await ring("leased");
    expect(alerts).toEqual([notFinished("leased", 1)]);
  });

  test("is not alerted before a retry, and is 5 minutes after it", async () => {
    await dispatched("retried");
    await index.claim({ jobId: "retried", token: "i" });
    await index.release({ jobId: "retried", token: "i", retryAfterMs: 60 * MINUTE });
    await ring("retried");
    expect(alerts).toEqual([]);
    expect(await ring("retried")).toBe(START + 65 * MINUTE);
    expect(alerts).toEqual([notFinished("retried", 1)]);
  });

  test("whose holder died on its last attempt fails at the alarm, and alerts nobody", async () => {
    await dispatched("last-attempt");
    await index.claim({ jobId: "last-attempt", token: "i", maxAttempts: 1 });
    await ring("last-attempt");
    expect(alerts).toEqual([]);
    const view = await index.inspect({ jobId: "last-attempt" });
    expect(view).toMatchObject({ unfinished: [], watch: null });
    expect(view?.claims[0]).toMatchObject({ consumer: "index", status: "failed" });
    expect(await index.complete({ jobId: "last-attempt", token: "i" })).toEqual({ outcome: "ok", status: "completed" });
  });

  test("that was reopened is alerted at once, counted anew", async () => {
    await finish("reopened", "index");
    vi.setSystemTime(START + DAY);
    await reopen("reopened");
    expect(await ring("reopened")).toBe(START + DAY + 1);
    expect(alerts).toEqual([notFinished("reopened", 1)]);
    expect((await index.inspect({ jobId: "reopened" }))?.watch).toMatchObject({
      rings: 1,
      nextAt: START + DAY + 1 + 15 * MINUTE,
    });
  });
});

describe("nothing is lost when", () => {
  test("the queue refuses: the alarm comes back, and sends what it could not", async () => {
    await dispatched("refused");
    send.mockRejectedValueOnce(new Error("queue down"));
    const at = await ring("refused");
    expect(alerts).toEqual([]);
    expect((await index.inspect({ jobId: "refused" }))?.watch).toMatchObject({ rings: 0 });
    expect(await alarmOf("refused")).toBe(at + MINUTE);
    await ring("refused");
    expect(alerts).toEqual([notFinished("refused", 1)]);
  });

  test("the queue refuses: what becomes due meanwhile does not hasten the next try", async () => {
    await dispatched("paced");
    send.mockRejectedValueOnce(new Error("queue down"));
    const at = await ring("paced");
    await receiver.claim({ jobId: "paced", event: OTHER_EVENT });
    expect(await alarmOf("paced")).toBe(at + MINUTE);
    // Nothing is open any more, so the alarm is set anew: for the conflict, which is due, but not before the minute is over.
    await index.claim({ jobId: "paced", token: "i" });
    await index.complete({ jobId: "paced", token: "i" });
    expect(await alarmOf("paced")).toBe(at + MINUTE);
    await ring("paced");
    expect(alerts).toEqual([conflict("paced")]);
  });

  test("the queue refuses, and an alarm that comes before the minute is over succeeds: what is due next is not held up", async () => {
    await dispatched("early");
    send.mockRejectedValueOnce(new Error("queue down"));
    const at = await ring("early");
    await runDurableObjectAlarm(jobObject("early"));
    expect(alerts).toEqual([notFinished("early", 1)]);
    await index.claim({ jobId: "early", token: "i" });
    await index.complete({ jobId: "early", token: "i" });
    await reopen("early");
    expect(await alarmOf("early")).toBe(at + 1);
  });

  test("the queue hangs: after 30 s the alarm gives up, comes back in a minute, and sends what it could not", async () => {
    await dispatched("hung");
    vi.setSystemTime(START + 15 * MINUTE);
    send.mockReturnValueOnce(new Promise(() => undefined));
    await meanwhile("hung", 30_000, (job) => job.alarm());
    expect(await alarmOf("hung")).toBe(START + 15 * MINUTE + 30_000 + MINUTE);
    await ring("hung");
    expect(alerts).toEqual([notFinished("hung", 1)]);
  });

  test.each(["RETENTION_DAYS", "WATCH_AFTER_MINUTES"])(
    "%s is mistaken when the alarm runs: it says so, comes back, and does its work once that is mended",
    async (variable) => {
      const jobId = `mistaken-${variable}`;
      await dispatched(jobId);
      const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
      await setVariable(jobId, variable, "soon");
      await evict(jobId);
      const at = await ring(jobId);
      const due = await alarmOf(jobId);
      await setVariable(jobId, variable);
      expect(alerts).toEqual([]);
      expect(due).toBe(at + MINUTE);
      expect(errors.mock.calls).toEqual([[expect.stringContaining("LedgerError invalid_setting")]]);
      await ring(jobId);
      expect(alerts).toEqual([notFinished(jobId, 1)]);
    },
  );

  test("a settle lands while the alarm waits for its queue: it is not overwritten, and no alarm is lost", async () => {
    await dispatched("raced");
    await index.claim({ jobId: "raced", token: "i" });
    const sent = vi.fn<() => void>();
    send.mockImplementationOnce(async () => {
      const args = { consumer: "index", token: "i", result: '"done"', dispatchedTo: null };
      await runInDurableObject(jobObject("raced"), (job: JobLedger) => job.complete(args));
      sent();
      return TAKEN;
    });
    const at = await ring("raced");
    expect(sent).toHaveBeenCalledOnce();
    const view = await index.inspect({ jobId: "raced" });
    expect(view).toMatchObject({ unfinished: [], watch: null });
    expect(view?.claims[0]).toMatchObject({ consumer: "index", status: "completed", result: "done" });
    expect(await alarmOf("raced")).toBe(at + 30 * DAY);
  });

  test("the object is evicted between its alert and its next alarm", async () => {
    await dispatched("evicted");
    await ring("evicted");
    await evict("evicted");
    await ring("evicted");
    expect(alerts).toEqual([notFinished("evicted", 1), notFinished("evicted", 2)]);
  });

  test("the alarm throws midway, after its alert: it comes back and alerts again", async () => {
    await dispatched("midway");
    await runInDurableObject(jobObject("midway"), (_, { storage }) => {
      vi.spyOn(storage, "transactionSync").mockImplementationOnce(() => {
        throw new Error("storage down");
      });
    });
    const at = await ring("midway");
    expect(await alarmOf("midway")).toBe(at + MINUTE);
    await ring("midway");
    expect(alerts).toEqual([notFinished("midway", 1), notFinished("midway", 1)]);
    expect((await index.inspect({ jobId: "midway" }))?.watch).toMatchObject({ rings: 1 });
  });

  test.each([
    ["claim", (jobId: string) => receiver.claim({ jobId, event: EVENT })],
    ["inspect", (jobId: string) => index.inspect({ jobId })],
    ["a stale settle", (jobId: string) => index.complete({ jobId, token: "none" })],
    ["expectEvent", (jobId: string) => index.expectEvent({ jobId, withinMs: 1_000 })],
  ])("the platform has dropped the alarm, and somebody calls: %s", async (name, call) => {
    const jobId = `dropped-${name}`;
    await dispatched(jobId);
    await runInDurableObject(jobObject(jobId), (_, { storage }) => storage.deleteAlarm());
    vi.setSystemTime(START + 15 * MINUTE + 5 * MINUTE - 1);
    await call(jobId);
    expect(await alarmOf(jobId)).toBeNull(); // it may still be on its way
    vi.setSystemTime(START + 15 * MINUTE + 5 * MINUTE);
    await call(jobId);
    // Once: who calls next finds it set.
    expect(await costOf(jobId, (job) => job.inspect(false))).toEqual({ rows: 0, alarms: 0 });
    expect(await ring(jobId)).toBe(START + 20 * MINUTE + 1);
    expect(alerts).toEqual([notFinished(jobId, 1)]);
  });
});

test("an alarm that ran late and failed is not taken for a dropped one by a call that comes then", async () => {
  await dispatched("late-alarm");
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  send.mockRejectedValueOnce(new Error("queue down"));
  vi.setSystemTime(START + 15 * MINUTE + 5 * MINUTE);
  const at = await ring("late-alarm");
  await index.inspect({ jobId: "late-alarm" });
  expect(errors.mock.calls).toEqual([[expect.stringContaining('"event":"alarm","outcome":"error"')]]);
  expect(await alarmOf("late-alarm")).toBe(at + MINUTE);
});

describe("an expected event", () => {
  test("that does not come is alerted at its deadline, again and again, until it comes", async () => {
    expect(await index.expectEvent({ jobId: "late", withinMs: 10 * MINUTE })).toEqual({
      outcome: "expected",
      dueAt: START + 10 * MINUTE,
    });
    expect(await ring("late")).toBe(START + 10 * MINUTE);
    expect(await ring("late")).toBe(START + 25 * MINUTE);
    expect(alerts).toEqual([notArrived("late", 1), notArrived("late", 2)]);
    await dispatched("late");
    expect(await index.inspect({ jobId: "late" })).toMatchObject({
      expectations: [{ by: "index", cancelledBy: null }],
      watch: { reason: "not_finished", rings: 0, nextAt: START + 40 * MINUTE },
    });
    await ring("late");
    expect(alerts.slice(2)).toEqual([notFinished("late", 1)]);
  });

  test("that comes in time is never alerted", async () => {
    await index.expectEvent({ jobId: "in-time", withinMs: 10 * MINUTE });
    await finish("in-time", "index");
    vi.setSystemTime(START + 11 * MINUTE);
    await runDurableObjectAlarm(jobObject("in-time"));
    expect(alerts).toEqual([]);
    expect(await index.expectEvent({ jobId: "in-time", withinMs: MINUTE })).toEqual({ outcome: "arrived" });
  });

  test("that was called off is never alerted, and is forgotten after the retention time", async () => {
    await index.expectEvent({ jobId: "off", withinMs: 10 * MINUTE });
    expect(await receiver.cancelExpectation({ jobId: "off" })).toEqual({ outcome: "none" });
    expect(await index.cancelExpectation({ jobId: "off" })).toEqual({ outcome: "cancelled" });
    expect(await alarmOf("off")).toBe(START + 30 * DAY);
    await ring("off");
    expect(alerts).toEqual([]);
    expect(await tablesOf("off")).toEqual([]);
  });

  test("of two consumers: the one that calls off its own leaves the other's deadline", async () => {
    const [starter, poller] = [ledger("starter"), ledger("poller")];
    await starter.expectEvent({ jobId: "two", withinMs: 120 * MINUTE });
    await poller.expectEvent({ jobId: "two", withinMs: 10 * MINUTE });
    expect(await alarmOf("two")).toBe(START + 10 * MINUTE);
    expect(await poller.cancelExpectation({ jobId: "two" })).toEqual({ outcome: "cancelled" });
    await ring("two"); // early: nothing is due
    expect(alerts).toEqual([]);
    expect(await ring("two")).toBe(START + 120 * MINUTE);
    expect(alerts).toEqual([notArrived("two", 1)]);
  });

  test("keeps its job for ever while it is open", async () => {
    await index.expectEvent({ jobId: "open", withinMs: MINUTE });
    for (let count = 0; count < 12; count++) await ring("open");
    vi.setSystemTime(START + 300 * DAY);
    await ring("open");
    expect(await rowsOf("open")).toHaveLength(1);
    expect(alerts).toHaveLength(13);
  });
});

describe("a second event type", () => {
  test("is recorded first, and alerted once, by the alarm", async () => {
    await finish("conflict", "index");
    await receiver.claim({ jobId: "conflict", event: OTHER_EVENT, token: "r1" });
    await receiver.claim({ jobId: "conflict", event: OTHER_EVENT, token: "r2" });
    expect(alerts).toEqual([]);
    expect(await index.inspect({ jobId: "conflict" })).toMatchObject({ conflict: true });
    await ring("conflict");
    await ring("conflict");
    expect(alerts.filter(({ reason }) => reason === "conflict")).toEqual([conflict("conflict")]);
  });

  test("that nobody was told of for as long as the job is kept is alerted before it is forgotten", async () => {
    await finish("untold", "index");
    await index.claim({ jobId: "untold", event: OTHER_EVENT });
    vi.setSystemTime(START + 31 * DAY);
    await runDurableObjectAlarm(jobObject("untold"));
    expect(alerts).toEqual([conflict("untold")]);
    expect(await index.inspect({ jobId: "untold" })).toMatchObject({ conflict: true });
  });

  test("whose alert cannot be sent is alerted by a later alarm; its body is not written again", async () => {
    await finish("unsent", "index");
    const { conflict: told } = await index.claim({ jobId: "unsent", event: OTHER_EVENT });
    expect(told).toEqual({ recorded: "job.completed", received: "job.failed" });
    send.mockRejectedValueOnce(new Error("queue down"));
    const at = await ring("unsent");
    expect(await alarmOf("unsent")).toBe(at + MINUTE);
    vi.setSystemTime(at + MINUTE);
    expect(await costOf("unsent", (job) => job.alarm())).toEqual({ rows: 1, alarms: 1 });
    expect(alerts).toEqual([conflict("unsent")]);
    const bodies = [{ body: EVENT.body }, { body: OTHER_EVENT.body }];
    expect(await index.inspect({ jobId: "unsent", body: true })).toMatchObject({ events: bodies });
  });
});

test("a conflict that was told is not told again where the alert after it is refused", async () => {
  await dispatched("part");
  await receiver.claim({ jobId: "part", event: OTHER_EVENT });
  vi.setSystemTime(START + 15 * MINUTE);
  send.mockImplementationOnce(take).mockRejectedValueOnce(new Error("queue down"));
  await runDurableObjectAlarm(jobObject("part"));
  await ring("part");
  expect(alerts).toEqual([conflict("part"), notFinished("part", 1)]);
});

describe("the alarm's own time", () => {
  test("a queue that is down for hours is tried after 1, 2, 4, 8 minutes, then every 15", async () => {
    await dispatched("down");
    send.mockRejectedValue(new Error("queue down"));
    const pauses: number[] = [];
    for (let count = 0; count < 7; count++) {
      const at = await ring("down");
      pauses.push(((await alarmOf("down")) ?? 0) - at);
    }
    expect(pauses.map((pause) => pause / MINUTE)).toEqual([1, 2, 4, 8, 15, 15, 15]);
    send.mockImplementation(take);
    const at = await ring("down");
    expect(alerts).toEqual([notFinished("down", 1)]);
    expect(await alarmOf("down")).toBe(at + 15 * MINUTE);
    send.mockRejectedValueOnce(new Error("queue down"));
    expect(await ring("down")).toBe(at + 15 * MINUTE);
    expect(await alarmOf("down")).toBe(at + 16 * MINUTE);
  });

  test("an alarm that runs a moment early does not spin: it is set a second on, not to a moment on", async () => {
    await dispatched("hasty");
    await evict("hasty"); // what runs is a fresh instance
    vi.setSystemTime(START + 15 * MINUTE - 1);
    await runDurableObjectAlarm(jobObject("hasty"));
    expect(alerts).toEqual([]);
    expect(await alarmOf("hasty")).toBe(START + 15 * MINUTE - 1 + 1_000);
  });

  test("a lease that ends while the alarm waits for its queue has its consumer called at his own time", async () => {
    await receiver.claim({ jobId: "overtaken", event: EVENT, token: "r" });
    await receiver.complete({ jobId: "overtaken", token: "r", dispatchedTo: ["index", "mail"] });
    vi.setSystemTime(START + 10 * MINUTE - 59_000);
    await index.claim({ jobId: "overtaken", token: "i", leaseMs: MINUTE }); // until 1 s after the alarm began, less the grace
    vi.setSystemTime(START + 15 * MINUTE);
    send.mockImplementationOnce(async (message) => {
      vi.setSystemTime(START + 15 * MINUTE + 1_500);
      return take(message);
    });
    await ring("overtaken");
    expect(alerts).toEqual([notFinished("overtaken", 1, ["mail"])]);
    const next = await ring("overtaken");
    expect(next).toBeLessThanOrEqual(START + 15 * MINUTE + 2_500);
    expect(alerts.slice(1)).toEqual([notFinished("overtaken", 1, ["index"])]);
    expect(await alarmOf("overtaken")).toBe(START + 30 * MINUTE + 1_500);
  });

  test.each([
    ["for ever", "0", null],
    ["for longer", "30", START + 30 * DAY],
  ])("a job that was kept %s is given its retention at the next call", async (_, before, until) => {
    const jobId = `kept-${before}`;
    await setVariable(jobId, "RETENTION_DAYS", before);
    await finish(jobId, "index");
    const first = await alarmOf(jobId);
    await setVariable(jobId, "RETENTION_DAYS", "7");
    await evict(jobId);
    await index.claim({ jobId, event: EVENT });
    const due = await alarmOf(jobId);
    await setVariable(jobId, "RETENTION_DAYS");
    expect([first, due]).toEqual([until, START + 7 * DAY]);
  });
});

test("a call during the pause after failures does not take the alarm for dropped", async () => {
  await dispatched("paused");
  send.mockRejectedValue(new Error("queue down"));
  for (let count = 0; count < 5; count++) await ring("paused");
  const next = await alarmOf("paused");
  const errors = vi.spyOn(console, "error").mockClear();
  vi.setSystemTime(Date.now() + 14 * MINUTE);
  expect(await costOf("paused", (job) => job.inspect(false))).toEqual({ rows: 0, alarms: 0 });
  expect(errors.mock.calls).toEqual([]);
  expect(await alarmOf("paused")).toBe(next);
});

describe("a consumer that was removed", () => {
  test("is waited for until an operator abandons it; then there is no alert, and the history names the actor", async () => {
    await dispatched("removed");
    await ring("removed");
    const admin = exports.LedgerAdmin({});
    const who = { namespace: "n", jobId: "removed", actor: "ann", consumer: "index" };
    expect(await admin.abandon(who)).toEqual({ outcome: "abandoned" });
    expect(await admin.abandon(who)).toEqual({ outcome: "abandoned" });
    const view = await index.inspect({ jobId: "removed" });
    expect(view).toMatchObject({ unfinished: [], watch: null });
    expect(view?.claims[0]).toMatchObject({ consumer: "index", status: "abandoned", history: [{ actor: "ann" }] });
    expect(await index.claim({ jobId: "removed" })).toMatchObject({ outcome: "failed", error: "abandoned by ann" });
    expect(await alarmOf("removed")).toBe(START + 15 * MINUTE + 30 * DAY);
    expect(alerts).toHaveLength(1);
  });
});

test("a claim that is reopened for a fresh event says so in its first alert, and in no other", async () => {
  await finish("stale-event", "index");
  const reopening = { actor: "ann", consumer: "index", eventType: null, refresh: true };
  await runInDurableObject(jobObject("stale-event"), (job: JobLedger) => job.reopen(reopening));
  await ring("stale-event");
  await ring("stale-event");
  expect(alerts).toEqual([{ ...notFinished("stale-event", 1), refresh: true }, notFinished("stale-event", 2)]);
});

describe("cost", () => {
  test("a ring costs 2 rows: the watch and the alarm", async () => {
    await dispatched("cost-ring");
    vi.setSystemTime(START + 15 * MINUTE);
    expect(await costOf("cost-ring", (job) => job.alarm())).toEqual({ rows: 1, alarms: 1 });
  });

  test("an expectation costs 1 row and the alarm; the event that ends it no more than any first event", async () => {
    const expectation = { consumer: "index", withinMs: MINUTE };
    expect(await costOf("cost-expect", (job) => job.expectEvent(expectation))).toEqual({ rows: 1, alarms: 1 });
    expect(await costOf("cost-expect", (job) => job.expectEvent(expectation))).toEqual({ rows: 0, alarms: 0 });
    const claim = { consumer: "receiver", token: "r", leaseMs: 15_000, maxAttempts: null };
    expect(await costOf("cost-expect", (job) => job.claim(claim, EVENT, 0))).toEqual({ rows: 2, alarms: 0 });
  });
});

test("1,000 finished jobs: no alert, and no more than 2 alarm runs until they are gone", async () => {
  const settle = { token: "t", result: null };
  const runs = await Promise.all(
    Array.from({ length: 1_000 }, (_, number) =>
      runInDurableObject(jobObject(`finished-${number}`), async (job: JobLedger, { storage }) => {
        vi.setSystemTime(START);
        await job.claim(claimOf("t", "receiver"), EVENT, 0);
        job.complete({ consumer: "receiver", ...settle, dispatchedTo: ["index"] });
        await job.claim(claimOf("t", "index"), null, 0);
        job.complete({ consumer: "index", ...settle, dispatchedTo: null });
        for (let count = 0; ; count++) {
          const at = await storage.getAlarm();
          if (at === null) return { count, left: job.inspect(false) };
          await storage.deleteAlarm(); // ringing uses it up
          vi.setSystemTime(at);
          await job.alarm();
        }
      }),
    ),
  );
  expect(alerts).toEqual([]);
  expect(runs).toHaveLength(1_000);
  for (const { count, left } of runs) expect([count <= 2, left]).toEqual([true, null]);
}, 180_000);
