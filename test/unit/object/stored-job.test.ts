// What releases have stored, earlier ones and this one: it is read as it was written, and goes on from where it stands.

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import {
  claimOf,
  costOf,
  EVENT,
  evict,
  failing,
  inspected,
  jobObject,
  ledger,
  messageOf,
  OTHER_EVENT,
  rowsOf,
  setAlarm,
  tablesOf,
} from "./job-object.ts";
import { type Release, STORED_CLAIMS, storeAsReleased } from "./stored-job.ts";

describe.each<Release>(["in a table", "as values"])("a job stored %s", (release) => {
  const claimStored = (consumer: string) => ledger(consumer).claim({ jobId: `on ${release}`, token: "new" });
  const completeStored = (consumer: string) =>
    ledger(consumer).complete({ jobId: `on ${release}`, token: `token-${consumer}` });

  test("is read as it was written, and reading writes nothing", async () => {
    const jobId = `read ${release}`;
    await storeAsReleased(jobId, release);
    expect(await costOf(jobId, (job) => job.inspect(true))).toMatchObject({ rows: 0 }); // its alarm was lost
    expect(await inspected(jobId)).toEqual({
      namespace: "n",
      jobId,
      events: [
        { type: "job.completed", source: "webhook", receivedAt: 1_790_000_000_000, bytes: 18, body: EVENT.body },
        { type: "job.failed", source: "poll", receivedAt: 1_790_000_000_500, bytes: 12, body: OTHER_EVENT.body },
      ],
      conflict: true,
      claims: STORED_CLAIMS,
      unfinished: ["held", "mail", "released", "reopened"],
      expectation: null,
      watch: { reason: "not_finished", rings: 0, nextAt: 1_790_000_900_000, overdue: false },
    });
  });

  test("goes on from where it stands", async () => {
    await storeAsReleased(`on ${release}`, release);
    expect(await claimStored("completed")).toMatchObject({ outcome: "completed", result: { rows: 3 } });
    expect(await completeStored("held")).toEqual({ outcome: "ok", status: "completed" });
    expect(await claimStored("failed")).toMatchObject({ outcome: "failed", error: "no such artifact" });
    await evict(`on ${release}`);
    expect(await claimStored("exhausted")).toMatchObject({ outcome: "failed", attempt: 10 });
    expect(await claimStored("released")).toMatchObject({ outcome: "claimed", attempt: 2, event: EVENT });
    expect(await claimStored("reopened")).toMatchObject({
      outcome: "claimed",
      attempt: 1,
      event: { ...OTHER_EVENT, source: "poll" },
    });
    expect(await completeStored("exhausted")).toEqual({ outcome: "ok", status: "completed" });
  });
});

const names = async (jobId: string) => (await rowsOf(jobId)).map(({ kind, name, body }) => [kind, name, body]);

describe("a job in an earlier release's table", () => {
  test("leaves it with the first change, whole", async () => {
    await storeAsReleased("moves", "in a table");
    await storeAsReleased("moved", "as values");
    for (const jobId of ["moves", "moved"]) await ledger("mail").claim({ jobId });
    expect(await names("moves")).toEqual(await names("moved"));
    expect(await tablesOf("moves")).not.toContain("entry");
    await evict("moves");
    expect((await inspected("moves"))?.claims).toHaveLength(7);
  });

  test("stays there when the change is rolled back; the change repeated works", async () => {
    await storeAsReleased("stays", "in a table");
    // Eight entries are moved, and the claim is new.
    expect(await failing("stays", 9, (job) => job.claim(claimOf("m", "mail"), null, 0))).toBe("after writing");
    expect(await tablesOf("stays")).toContain("entry");
    expect(await rowsOf("stays")).toEqual([]);
    expect(await ledger("mail").claim({ jobId: "stays" })).toMatchObject({ outcome: "claimed", event: EVENT });
    expect(await rowsOf("stays")).toHaveLength(9);
  });
  test("is cleaned up from there, and is new afterwards", async () => {
    await storeAsReleased("cleaned", "in a table", ["failed"]);
    await setAlarm("cleaned", Date.now() + 60_000);
    expect(await runDurableObjectAlarm(jobObject("cleaned"))).toBe(true);
    expect(await tablesOf("cleaned")).toEqual([]);
    expect(await ledger("failed").claim({ jobId: "cleaned", event: EVENT })).toMatchObject({
      attempt: 1,
      event: EVENT,
    });
    expect(await rowsOf("cleaned")).toHaveLength(2);
  });
  test("that was made again beside the job's values counts no more, also after a change that was rolled back", async () => {
    await storeAsReleased("both", "as values");
    await ledger("held").complete({ jobId: "both", token: "token-held" });
    await storeAsReleased("both", "in a table");
    expect(await failing("both", 1, (job) => job.claim(claimOf("m", "mail"), null, 0))).toBe("after writing");
    await ledger("mail").claim({ jobId: "both" });
    await evict("both");
    expect(await ledger("held").claim({ jobId: "both" })).toMatchObject({ outcome: "completed" });
  });
  test("that it has left is not looked for again, when a later change fails before it writes", async () => {
    await storeAsReleased("left", "in a table");
    await ledger("mail").claim({ jobId: "left", token: "m" });
    const complete = { consumer: "mail", token: "m", result: null, dispatchedTo: null };
    const thrown = await runInDurableObject(jobObject("left"), (job: JobLedger, { storage }) => {
      vi.spyOn(storage, "transactionSync").mockImplementationOnce(() => {
        throw new Error("storage down");
      });
      return messageOf(() => job.complete(complete));
    });
    expect(thrown).toBe("storage down");
    expect(await ledger("mail").complete({ jobId: "left", token: "m" })).toEqual({
      outcome: "ok",
      status: "completed",
    });
  });
});
