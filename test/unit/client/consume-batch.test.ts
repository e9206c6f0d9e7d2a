// `consume` and batches: no message holds back another, the same job twice is done once, and a batch of ten stays
// within the calls that a Worker may make.

import { describe, expect, test, vi } from "vitest";
import type { LedgerBinding, Work } from "../../../ledger-service/client/index.ts";
import {
  arrived,
  claimOf,
  clockTo,
  consumed,
  gate,
  LOST,
  message,
  type QueueMessage,
  settled,
  steps,
  T0,
  until,
  useClock,
  watched,
} from "./support.ts";

useClock();

const fine: Work = async () => "fine";

/** A batch of ten, the most that a consumer's queue delivers. */
async function ten(prefix: string): Promise<QueueMessage[]> {
  const numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  return await Promise.all(numbers.map(async (number) => message(await arrived(`${prefix}-${number}`))));
}

describe("a message that names no job is acknowledged without a claim, and the others are done", () => {
  test.each([
    { name: "null", body: "null" },
    { name: "a text", body: '"batched-text"' },
    { name: "a number", body: "7" },
    { name: "an empty object", body: "{}" },
    { name: "no text as its id", body: '{"jobId":7}' },
    { name: "an empty id", body: '{"jobId":""}' },
    { name: "an id of 513 bytes", body: JSON.stringify({ jobId: "j".repeat(513) }) },
    { name: "an id of 257 characters and 514 bytes", body: JSON.stringify({ jobId: "é".repeat(257) }) },
    { name: "a lone surrogate", body: '{"jobId":"batched-\\ud800"}' },
  ])("$name", async ({ name, body }) => {
    const first = await arrived(`batched-before ${name}`);
    const last = await arrived(`batched-after ${name}`);
    const work = vi.fn<Work>(fine);
    const binding = watched();
    expect(await consumed([message(first), { id: "bad", body }, message(last)], work, binding)).toEqual({
      [first]: "ack",
      bad: "ack",
      [last]: "ack",
    });
    expect(binding.count("claim")).toBe(2);
    expect(work.mock.calls.map(([{ jobId }]) => jobId).toSorted()).toEqual([last, first]);
  });
});

describe("a job that goes wrong is retried, and the others are done", () => {
  test("its work throws", async () => {
    const messages = await ten("throws");
    const all = Object.fromEntries(messages.map(({ id }) => [id, "ack"]));
    const settlements = await consumed(messages, async ({ jobId }) => {
      if (jobId === "throws-4") throw new Error("boom");
    });
    expect(settlements).toEqual({ ...all, "throws-4": 34 });
  });

  test("its claim does not arrive", async () => {
    const messages = await ten("unclaimed");
    const binding = watched();
    const claim: LedgerBinding["claim"] = async (args) => {
      if (args.jobId === "unclaimed-4") throw LOST;
      return await binding.claim(args);
    };
    const all = Object.fromEntries(messages.map(({ id }) => [id, "ack"]));
    expect(await settled(consumed(messages, fine, { ...binding, claim }))).toEqual({ ...all, "unclaimed-4": 30 });
  });

  test("its work runs long: the others are settled meanwhile", async () => {
    const messages = await ten("long");
    const end = gate();
    const consuming = consumed(messages, async ({ jobId }) => {
      if (jobId === "long-4") await end.opened;
    });
    for (const { id } of messages.filter((sent) => sent.id !== "long-4")) {
      await until(async () => (await claimOf(id)).status === "completed");
    }
    expect(await claimOf("long-4")).toMatchObject({ status: "claimed" });
    end.open();
    expect(await consuming).toEqual(Object.fromEntries(messages.map(({ id }) => [id, "ack"])));
  });
});

describe("the same job twice", () => {
  test("in one batch: the work runs once; the second message waits for the lease, and is then acknowledged", async () => {
    const jobId = await arrived("batched-twice");
    const work = vi.fn<Work>(fine);
    const twice = [
      { ...message(jobId), id: "one" },
      { ...message(jobId), id: "two" },
    ];
    expect(await consumed(twice, work)).toEqual({ one: "ack", two: 244 });
    expect(work).toHaveBeenCalledTimes(1);

    await clockTo(240_000);
    expect(await consumed([message(jobId, 2)], work)).toEqual({ [jobId]: "ack" });
    expect(work).toHaveBeenCalledTimes(1);
    expect(await steps(jobId)).toEqual(["claim 1", "complete 1"]);
  });

  test("in two batches at once, and again later: the work runs once", async () => {
    const jobId = await arrived("batched-at-once");
    const work = vi.fn<Work>(fine);
    const both = await Promise.all([consumed([message(jobId)], work), consumed([message(jobId)], work)]);
    expect(both.flatMap((settlements) => Object.values(settlements))).toContain("ack");
    await clockTo(240_000);
    expect(await consumed([message(jobId, 2)], work)).toEqual({ [jobId]: "ack" });
    expect(work).toHaveBeenCalledTimes(1);
  });
});

describe("leases of a batch", () => {
  test("one `renew` call for all of it, of those whose work still runs", async () => {
    const messages = await ten("renewed");
    const ids = messages.map(({ id }) => id);
    const ends = new Map(ids.map((id) => [id, gate()]));
    const work = vi.fn<Work>(async ({ jobId }) => await ends.get(jobId)?.opened);
    const binding = watched();
    const renewals = () => binding.calls.filter(({ verb }) => verb === "renew");
    const consuming = consumed(messages, work, binding);
    await until(() => work.mock.calls.length === 10);

    await clockTo(120_000);
    await until(() => binding.answered("renew") === 1);
    for (const id of ids) expect((await claimOf(id)).leaseExpiresAt).toBe(T0 + 360_000);

    ends.get("renewed-4")?.open();
    await until(() => binding.answered("complete") === 1);
    await clockTo(240_000);
    await until(() => binding.answered("renew") === 2);
    for (const id of ids.filter((other) => other !== "renewed-4")) {
      expect((await claimOf(id)).leaseExpiresAt).toBe(T0 + 480_000);
    }
    expect(renewals().map(({ at }) => at - T0)).toEqual([120_000, 240_000]);
    expect(renewals().map(({ args }) => args)).toMatchObject([
      { claims: expect.objectContaining({ length: 10 }), leaseMs: 240_000 },
      { claims: expect.objectContaining({ length: 9 }), leaseMs: 240_000 },
    ]);

    for (const end of ends.values()) end.open();
    expect(await consuming).toEqual(Object.fromEntries(ids.map((id) => [id, "ack"])));
  });

  test("ten jobs that run for 15 minutes take 28 calls: 10 claims, 7 renewals, 10 completes and who the binding is", async () => {
    const messages = await ten("budget");
    const end = gate();
    const work = vi.fn<Work>(() => end.opened);
    const binding = watched();
    const consuming = consumed(messages, work, binding);
    await until(() => work.mock.calls.length === 10);
    for (let minute = 2; minute <= 14; minute += 2) {
      await clockTo(minute * 60_000);
      await until(() => binding.answered("renew") === minute / 2);
      expect((await claimOf("budget-9")).leaseExpiresAt).toBe(T0 + (minute + 4) * 60_000);
    }
    await clockTo(15 * 60_000 - 1);
    end.open();
    expect(await consuming).toEqual(Object.fromEntries(messages.map(({ id }) => [id, "ack"])));
    const verbs = ["claim", "renew", "complete", "release", "whoami"] as const;
    expect(verbs.map((verb) => binding.count(verb))).toEqual([10, 7, 10, 0, 1]);
  });

  test("of one whose claim is lost: only its work is told", async () => {
    const messages = await ten("one-lost");
    const end = gate();
    const signals = new Map<string, AbortSignal>();
    const binding = watched();
    const renew: LedgerBinding["renew"] = async (args) =>
      (await binding.renew(args)).map((answer) =>
        answer.jobId === "one-lost-4" ? { jobId: answer.jobId, outcome: "stale", reason: "taken" } : answer,
      );
    const work: Work = async ({ jobId, signal }) => {
      signals.set(jobId, signal);
      await end.opened;
    };
    const consuming = consumed(messages, work, { ...binding, renew });
    await until(() => signals.size === 10);
    await clockTo(120_000);
    await until(() => signals.get("one-lost-4")?.aborted === true);
    expect([...signals.values()].filter(({ aborted }) => aborted)).toHaveLength(1);
    await clockTo(240_000);
    await until(() => binding.count("renew") === 2);
    expect(binding.calls.at(-1)?.args).toMatchObject({ claims: expect.objectContaining({ length: 9 }) });
    end.open();
    await consuming;
  });
});

describe("a batch that is larger than one invocation can settle", () => {
  test.each([
    { size: 10, spare: 0 },
    { size: 11, spare: 1 },
    { size: 16, spare: 6 },
    { size: 31, spare: 21 },
    { size: 100, spare: 90 },
  ])("of $size: ten are done, $spare are given back untouched, within 32 calls", async ({ size, spare }) => {
    const ids = Array.from({ length: size }, (_, number) => `spare-${size}-${number}`);
    await Promise.all(ids.slice(0, 10).map((id) => arrived(id)));
    const work = vi.fn<Work>(fine);
    const binding = watched();
    const settlements = Object.values(
      await consumed(
        ids.map((id) => message(id)),
        work,
        binding,
      ),
    );
    expect(work).toHaveBeenCalledTimes(10);
    expect(settlements.filter((settlement) => settlement === "ack")).toHaveLength(10);
    expect(settlements.filter((settlement) => settlement === 10)).toHaveLength(spare);
    expect([binding.count("claim"), binding.count("complete")]).toEqual([10, 10]);
    expect(binding.calls.length).toBeLessThanOrEqual(32);
  });

  test("messages that name no job do not count", async () => {
    const good = await Promise.all(["spare-a", "spare-b"].map((id) => arrived(id)));
    const bad = Array.from({ length: 20 }, (_, number) => ({ id: `bad ${number}`, body: "{}" }));
    const settlements = await consumed([...bad, ...good.map((id) => message(id))], fine);
    expect(new Set(Object.values(settlements))).toEqual(new Set(["ack"]));
  });
});

test("the options reach the ledger", async () => {
  const jobId = await arrived("batched-options");
  const options = { leaseMs: 60_000, maxAttempts: 3 };
  const settlements = await consumed([message(jobId)], () => claimOf(jobId), watched(), options);
  expect(settlements).toEqual({ [jobId]: "ack" });
  expect((await claimOf(jobId)).result).toMatchObject({ leaseExpiresAt: T0 + 60_000, maxAttempts: 3 });
});
