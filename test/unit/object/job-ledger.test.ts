// The object in the real runtime, on real SQLite: races within one tick, takeovers, stale owners, lost memory.

import { runInDurableObject } from "cloudflare:test";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import {
  alarmOf,
  claimOf,
  endLease,
  EVENT,
  evict,
  finish,
  inspected,
  jobObject,
  ledger,
  OTHER_EVENT,
  rowsOf,
} from "./job-object.ts";

const index = ledger("index");

const counted = (outcomes: { outcome: string }[]) => {
  const counts: Record<string, number> = {};
  for (const { outcome } of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

describe("claims in the same tick", () => {
  test("50 on a new job: one has it", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => index.claim({ jobId: "race-new", event: EVENT })),
    );
    expect(counted(outcomes)).toEqual({ claimed: 1, in_progress: 49 });
    expect(await rowsOf("race-new")).toHaveLength(2);
  });

  test("50 on a lease that ran out: one has it", async () => {
    await index.claim({ jobId: "race-over", event: EVENT });
    await endLease("race-over", "index", 1_000);
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => index.claim({ jobId: "race-over" })));
    expect(counted(outcomes)).toEqual({ claimed: 1, in_progress: 49 });
    expect(await index.inspect({ jobId: "race-over" })).toMatchObject({ claims: [{ attempt: 2 }] });
  });

  test("50 on a last attempt that ran out: all are told that it failed, once", async () => {
    await index.claim({ jobId: "race-last", event: EVENT, maxAttempts: 1 });
    await endLease("race-last", "index", 1_000);
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => index.claim({ jobId: "race-last" })));
    expect(counted(outcomes)).toEqual({ failed: 50 });
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    const view = await index.inspect({ jobId: "race-last" });
    expect(view?.claims[0]?.history.map(({ verb }) => verb)).toEqual(["claim", "exhausted"]);
  });

  test("of 20 consumers: each has its own", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ledger(`c${n}`).claim({ jobId: "race-each", event: EVENT })),
    );
    expect(counted(outcomes)).toEqual({ claimed: 20 });
    expect(outcomes.every((outcome) => outcome.outcome === "claimed" && outcome.event.body === EVENT.body)).toBe(true);
  });

  test("two inside one event: one has it", async () => {
    const outcomes = await runInDurableObject(jobObject("race-event"), (job: JobLedger) =>
      Promise.all([job.claim(claimOf("a"), EVENT, 0), job.claim(claimOf("b"), EVENT, 0)]),
    );
    expect(outcomes).toMatchObject([{ outcome: "claimed", token: "a" }, { outcome: "in_progress" }]);
  });

  test("two inside one event after the lease ran out: one has it", async () => {
    await index.claim({ jobId: "race-event-over", event: EVENT });
    await endLease("race-event-over", "index", 1_000);
    const outcomes = await runInDurableObject(jobObject("race-event-over"), (job: JobLedger) =>
      Promise.all([job.claim(claimOf("a", "index"), null, 0), job.claim(claimOf("b", "index"), null, 0)]),
    );
    expect(outcomes).toMatchObject([{ outcome: "claimed", attempt: 2 }, { outcome: "in_progress" }]);
  });

  test("50 completions by the holder: one write, one answer", async () => {
    await index.claim({ jobId: "race-complete", event: EVENT, token: "a" });
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, n) => index.complete({ jobId: "race-complete", token: "a", result: n })),
    );
    expect(counted(outcomes)).toEqual({ ok: 50 });
    const view = await index.inspect({ jobId: "race-complete" });
    expect(view?.claims[0]?.history.map(({ verb }) => verb)).toEqual(["claim", "complete"]);
  });
});

describe("the same token again", () => {
  test("gets the same answer, with the event, from another instance too", async () => {
    const first = await index.claim({ jobId: "again", event: EVENT, token: "a" });
    expect(first).toMatchObject({ outcome: "claimed", attempt: 1, token: "a", event: EVENT });
    expect(await index.claim({ jobId: "again", event: EVENT, token: "a" })).toEqual(first);
    expect(await index.claim({ jobId: "again", token: "a" })).toEqual(first);
    await evict("again");
    expect(await index.claim({ jobId: "again", token: "a" })).toEqual(first);
  });

  test("50 times in one tick is one attempt", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => index.claim({ jobId: "again-50", event: EVENT, token: "a" })),
    );
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect(outcomes[0]).toMatchObject({ outcome: "claimed", attempt: 1 });
  });

  test("repeats a settle with the same answer", async () => {
    await index.claim({ jobId: "again-settle", event: EVENT, token: "a" });
    const release = { jobId: "again-settle", token: "a", error: "e", retryAfterMs: 60_000 };
    const released = await index.release(release);
    expect(released).toMatchObject({ outcome: "ok", status: "released" });
    await evict("again-settle");
    expect(await index.release(release)).toEqual(released);
  });
});

test("another body of the same size is another body: the next claim gets it", async () => {
  await ledger("receiver").claim({ jobId: "same-size", event: EVENT });
  const newer = { ...EVENT, body: EVENT.body.replace("job_a", "job_b") };
  await ledger("receiver").claim({ jobId: "same-size", event: newer });
  await evict("same-size");
  expect(await index.claim({ jobId: "same-size" })).toMatchObject({ outcome: "claimed", event: newer });
  expect(await index.inspect({ jobId: "same-size" })).toMatchObject({ events: [{ replaced: [{ bytes: 18 }] }] });
});

describe("a stale owner", () => {
  test("changes not one byte, before and after the new owner has completed", async () => {
    await index.claim({ jobId: "stale", event: EVENT, token: "old" });
    await endLease("stale", "index", 1_000);
    expect(await index.claim({ jobId: "stale", token: "new" })).toMatchObject({ outcome: "claimed", attempt: 2 });
    // While the new owner works, and again when it has completed.
    for (let round = 1; round <= 2; round++) {
      const before = [await rowsOf("stale"), await alarmOf("stale")];
      const stale = { outcome: "stale", reason: "taken" };
      expect(await index.complete({ jobId: "stale", token: "old", result: "stale" })).toEqual(stale);
      expect(await index.release({ jobId: "stale", token: "old", error: "stale" })).toEqual(stale);
      expect(await index.release({ jobId: "stale", token: "old", permanent: true })).toEqual(stale);
      expect(await index.renew({ claims: [{ jobId: "stale", token: "old" }], leaseMs: 900_000 })).toEqual([
        { jobId: "stale", ...stale },
      ]);
      expect([await rowsOf("stale"), await alarmOf("stale")]).toEqual(before);
      await index.complete({ jobId: "stale", token: "new", result: "new" });
    }
    expect(await index.claim({ jobId: "stale" })).toMatchObject({ outcome: "completed", result: "new" });
  });

  test("of one consumer cannot settle another's claim with that one's token", async () => {
    await index.claim({ jobId: "foreign", event: EVENT, token: "a" });
    const before = await rowsOf("foreign");
    expect(await ledger("archive").complete({ jobId: "foreign", token: "a" })).toEqual({
      outcome: "stale",
      reason: "no_claim",
    });
    await ledger("archive").claim({ jobId: "foreign", token: "b" });
    expect(await ledger("archive").release({ jobId: "foreign", token: "a" })).toEqual({
      outcome: "stale",
      reason: "taken",
    });
    expect((await rowsOf("foreign")).filter(({ name }) => name !== "archive")).toEqual(before);
  });

  test("whose lease ran out and whom nobody replaced may still complete", async () => {
    await index.claim({ jobId: "dead-late", event: EVENT, token: "a" });
    await endLease("dead-late", "index", 1_000);
    expect(await index.complete({ jobId: "dead-late", token: "a" })).toEqual({ outcome: "ok", status: "completed" });
  });

  test("of a last attempt may still complete after it was found to be exhausted", async () => {
    await index.claim({ jobId: "late-last", event: EVENT, token: "a", maxAttempts: 1 });
    await endLease("late-last", "index", 1_000);
    expect(await index.claim({ jobId: "late-last" })).toMatchObject({ outcome: "failed" });
    expect(await index.complete({ jobId: "late-last", token: "a", result: 1 })).toMatchObject({ outcome: "ok" });
    expect(await index.claim({ jobId: "late-last" })).toMatchObject({ outcome: "completed", result: 1 });
  });
});

test("what was only polled beside a signed event is neither kept nor handed out", async () => {
  await ledger("receiver").claim({ jobId: "polled", event: EVENT, token: "r" });
  const polled = { ...EVENT, body: '{"poll":1}', source: "poll" } as const;
  expect(await index.claim({ jobId: "polled", event: polled })).toMatchObject({ outcome: "claimed", event: EVENT });
});

describe("a lost instance", () => {
  test("between any two steps loses nothing", async () => {
    // Ahead of the platform's own clock, so that no alarm runs between two looks.
    vi.useFakeTimers({ toFake: ["Date"], now: 1_900_000_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const jobId = "lost";
    const token = "a";
    const admin = { actor: "ann", consumer: "index", eventType: null, refresh: false };
    const steps: [outcome: object, step: (job: JobLedger) => unknown][] = [
      [{ outcome: "claimed", attempt: 1 }, (job) => job.claim(claimOf("receivers", "receiver"), EVENT, 0)],
      [{ outcome: "claimed", attempt: 1 }, (job) => job.claim(claimOf(token, "index"), null, 0)],
      [{ outcome: "ok" }, (job) => job.renew({ consumer: "index", token, leaseMs: 900_000 })],
      [
        { outcome: "ok", status: "released" },
        (job) => job.release({ consumer: "index", token, error: "é🎬", retryAfterMs: 0, permanent: false }),
      ],
      [{ outcome: "claimed", attempt: 2 }, (job) => job.claim(claimOf("b", "index"), null, 0)],
      [
        { outcome: "ok", status: "completed" },
        (job) => job.complete({ consumer: "index", token: "b", result: '{"é":"🎬"}', dispatchedTo: ["mail"] }),
      ],
      [
        { outcome: "completed", result: { é: "🎬" }, conflict: { recorded: "job.completed", received: "job.failed" } },
        (job) => job.claim(claimOf("c", "index"), OTHER_EVENT, 0),
      ],
      [{ outcome: "reopened" }, (job) => job.reopen({ ...admin, eventType: "job.failed" })],
      [{ outcome: "claimed", attempt: 1, event: OTHER_EVENT }, (job) => job.claim(claimOf("d", "index"), null, 0)],
      [
        { outcome: "ok", status: "failed" },
        (job) => job.release({ consumer: "index", token: "d", error: null, retryAfterMs: 0, permanent: true }),
      ],
      [{ outcome: "failed", attempt: 1 }, (job) => job.claim(claimOf("e", "index"), null, 0)],
    ];
    for (const [outcome, step] of steps) {
      expect(await runInDurableObject(jobObject(jobId), (job: JobLedger) => step(job))).toMatchObject(outcome);
      const before = [await inspected(jobId), await rowsOf(jobId), await alarmOf(jobId)];
      await evict(jobId);
      expect([await inspected(jobId), await rowsOf(jobId), await alarmOf(jobId)]).toEqual(before);
    }
  });

  test("keeps the order of events that came in the same millisecond", async () => {
    const types = ["z", "a", "m", "b"];
    await runInDurableObject(jobObject("order"), (job: JobLedger) =>
      Promise.all(types.map((type) => job.claim(claimOf("t"), { ...EVENT, type }, 0))),
    );
    await evict("order");
    expect((await index.inspect({ jobId: "order" }))?.events.map(({ type }) => type)).toEqual(types);
  });
});

test("finishing sets the alarm to the end of the retention time", async () => {
  await finish("alarm-set", "index");
  const view = await index.inspect({ jobId: "alarm-set" });
  expect(await alarmOf("alarm-set")).toBe((view?.claims[0]?.changedAt ?? 0) + 2_592_000_000);
});
