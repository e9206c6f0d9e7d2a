// Jobs whose earlier attempt vanished without a word. One of them may be what killed its isolate: each runs by
// itself, so that it takes no other along, and the others of its batch come to their end.

import { describe, expect, test, vi } from "vitest";
import type { LedgerBinding, Work } from "../../../ledger-service/client/index.ts";
import {
  arrived,
  claimOf,
  clockTo,
  consumed,
  gate,
  ledger,
  message,
  rival,
  settled,
  steps,
  T0,
  until,
  useClock,
  watched,
} from "./support.ts";

useClock();

const fine: Work = async () => "fine";
const never = () => new Promise<never>(() => {});

/** Lets an attempt begin and its holder die; when it answers, the claim is free again. */
async function died(...jobIds: string[]): Promise<void> {
  for (const jobId of jobIds) await rival(jobId, { leaseMs: 1_000 });
  await clockTo(Date.now() - T0 + 1_000);
}

async function jobs(prefix: string, count: number): Promise<string[]> {
  return await Promise.all(Array.from({ length: count }, (_, number) => arrived(`vanished-${prefix}-${number}`)));
}

/** An isolate of which nothing is heard any more once it is dead. */
function isolate(real: LedgerBinding) {
  const death = gate();
  let dead = false;
  const alive = async <T>(call: () => Promise<T>): Promise<T> => {
    if (dead) return await never();
    const answer = await call();
    return dead ? await never() : answer;
  };
  const binding: LedgerBinding = {
    whoami: () => alive(() => real.whoami()),
    claim: (args) => alive(() => real.claim(args)),
    renew: (args) => alive(() => real.renew(args)),
    complete: (args) => alive(() => real.complete(args)),
    release: (args) => alive(() => real.release(args)),
  };
  const kill = () => {
    dead = true;
    death.open();
  };
  return { binding, kill, death: death.opened };
}

describe("#51 a batch of ten of which one job kills its isolate each time", () => {
  test.each([0, 3, 9])("killer at place %i: nine are completed, it is failed by its own attempts", async (place) => {
    const ids = await jobs(`killer-${place}`, 10);
    const killer = ids[place];
    let due = ids.map((jobId) => ({ jobId, at: 0, attempts: 1 }));
    while (due.length > 0) {
      const now = Math.min(...due.map(({ at }) => at));
      await clockTo(now);
      const batch = due.filter(({ at }) => at <= now);
      const running = new Set<string>();
      const first = batch.every(({ attempts }) => attempts === 1);
      const { binding, kill, death } = isolate(watched());
      const work: Work = async ({ jobId }) => {
        running.add(jobId);
        if (jobId === killer) {
          // The first time all ten are running.
          await until(() => !first || running.size === 10);
          kill();
        }
        // What runs beside it dies with it.
        if (first || running.has(killer ?? "")) await never();
        running.delete(jobId);
      };
      const messages = batch.map(({ jobId, attempts }) => message(jobId, attempts));
      const settlements = await Promise.race([
        consumed(messages, work, binding, { maxAttempts: 5 }),
        death.then((): Awaited<ReturnType<typeof consumed>> => ({})),
      ]);
      due = due.filter((waiting) => !batch.includes(waiting));
      for (const { jobId, attempts } of batch) {
        // Of a batch that died every message comes again, after the queue's own delay.
        const delay = settlements[jobId] ?? 60;
        if (delay !== "ack") due.push({ jobId, at: now + delay * 1_000, attempts: attempts + 1 });
      }
    }
    const ends = await Promise.all(ids.map(async (jobId) => ({ jobId, ...(await claimOf(jobId)) })));
    expect(ends.map(({ jobId, status, attempt }) => ({ jobId, status, attempt }))).toEqual(
      ids.map((jobId) =>
        jobId === killer ? { jobId, status: "failed", attempt: 5 } : { jobId, status: "completed", attempt: 2 },
      ),
    );
  });
});

describe("a job whose earlier attempt vanished", () => {
  test("runs after the others of its batch, and beside none", async () => {
    const [one, other, plain] = await jobs("alone", 3);
    if (one === undefined || other === undefined || plain === undefined) throw new Error("three jobs");
    await died(one, other);
    const running = new Set<string>();
    const seen: string[][] = [];
    const work: Work = async ({ jobId }) => {
      running.add(jobId);
      seen.push([...running]);
      await scheduler.wait(2);
      running.delete(jobId);
    };
    const messages = [message(one, 2), message(other, 3), message(plain)];
    expect(await consumed(messages, work, watched())).toEqual({ [one]: "ack", [other]: "ack", [plain]: "ack" });
    expect(seen).toEqual([[plain], [one], [other]]);
  });

  test("is claimed only when it may run: a job that waits loses no attempt", async () => {
    const ids = await jobs("unclaimed", 3);
    await died(...ids);
    const begun: string[] = [];
    const end = gate();
    const work: Work = async ({ jobId }) => {
      begun.push(jobId);
      await end.opened;
    };
    const consuming = consumed(
      ids.map((id) => message(id, 2)),
      work,
      watched(),
    );
    await until(() => begun.length === 1);
    for (const id of ids.slice(1)) expect(await steps(id)).toEqual(["claim 1"]);
    end.open();
    await consuming;
    expect(begun).toEqual(ids);
  });

  test("and comes by a new message runs after the others as well", async () => {
    const [one, plain] = await jobs("anew", 2);
    if (one === undefined || plain === undefined) throw new Error("two jobs");
    await died(one);
    const order: string[] = [];
    const work: Work = async ({ jobId }) => {
      await scheduler.wait(2);
      order.push(jobId);
    };
    await consumed([message(one), message(plain)], work, watched());
    expect(order).toEqual([plain, one]);
  });

  test("and was released since runs beside the others", async () => {
    const ids = await jobs("released", 2);
    for (const jobId of ids) await ledger.release({ jobId, token: await rival(jobId) });
    const all = gate();
    const begun = new Set<string>();
    const work: Work = async ({ jobId }) => {
      begun.add(jobId);
      if (begun.size === 2) all.open();
      await all.opened;
    };
    const messages = ids.map((id) => message(id, 2));
    expect(Object.values(await consumed(messages, work, watched()))).toEqual(["ack", "ack"]);
  });
});

test("a job whose lease ran out while it waited for its turn is not worked on, and its message comes again", async () => {
  const ids = await jobs("lost", 2);
  await died(...ids);
  const work = vi.fn<Work>(async () => await clockTo(Date.now() - T0 + 240_000));
  const settlements = await consumed(
    ids.map((id) => message(id)),
    work,
    watched({ renew: "unreached" }),
  );
  expect(work).toHaveBeenCalledTimes(1);
  expect(Object.values(settlements)).toEqual(["ack", 30]);
  for (const id of ids.slice(1)) expect(await steps(id)).toEqual(["claim 1", "claim 2"]);
});

const fourMinutes: Work = async () => {
  const minutes = Math.ceil((Date.now() - T0) / 60_000);
  await clockTo((minutes + 4) * 60_000);
};

describe("time", () => {
  test("that runs out: what has not begun after five minutes is given back unclaimed, in one line", async () => {
    const ids = await jobs("late", 4);
    await died(...ids);
    const line = vi.spyOn(console, "log").mockImplementation(() => {});
    const settlements = await consumed(
      ids.map((id) => message(id, 2)),
      fourMinutes,
      watched(),
    );
    const told = line.mock.calls.map(([text]) => String(text)).filter((text) => text.includes("given_back"));
    line.mockRestore();
    expect(Object.values(settlements)).toEqual(["ack", "ack", 10, 10]);
    for (const id of ids.slice(2)) expect(await steps(id)).toEqual(["claim 1"]);
    expect(told.map((text): unknown => JSON.parse(text))).toMatchObject([{ outcome: "given_back", count: 2 }]);
  });

  test("that runs out for new messages: their claims are released, to be had again at once", async () => {
    const ids = await jobs("late-new", 10);
    await died(...ids);
    const binding = watched();
    const settlements = await consumed(
      ids.map((id) => message(id)),
      fourMinutes,
      binding,
    );
    const late = ids.slice(2);
    expect(Object.values(settlements)).toEqual(["ack", "ack", ...late.map(() => 10)]);
    for (const id of late) expect(await claimOf(id)).toMatchObject({ status: "released", retryAt: Date.now() });
    expect(binding.calls.length).toBeLessThanOrEqual(32);
  });

  test("that runs out while others run: a job that waits for them is given back", async () => {
    const [one, plain] = await jobs("late-beside", 2);
    if (one === undefined || plain === undefined) throw new Error("two jobs");
    await died(one);
    const work = vi.fn<Work>(async () => await clockTo(Date.now() - T0 + 12 * 60_000));
    const settlements = await consumed([message(one), message(plain)], work, watched());
    expect(settlements).toEqual({ [one]: 10, [plain]: "ack" });
    expect(work).toHaveBeenCalledTimes(1);
  });

  test("of a claim that is not answered: the others are taken after a second", async () => {
    const ids = await jobs("hanging", 3);
    const binding = watched();
    const claim: LedgerBinding["claim"] = (args) => (args.jobId === ids[0] ? never() : binding.claim(args));
    const consuming = consumed(
      ids.map((id) => message(id, 2)),
      fine,
      { ...binding, claim },
    );
    await clockTo(1_000);
    await until(() => binding.answered("complete") === 2);
    expect(Object.values(await settled(consuming)).filter((settlement) => settlement === "ack")).toHaveLength(2);
  });
});
