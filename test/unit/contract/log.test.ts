// What the ledger logs: each decision, and never what is secret or large.

import { exports } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { endLease, EVENT, finish, ledger, OTHER_EVENT } from "../object/job-object.ts";

const index = ledger("index");

afterEach(() => {
  vi.restoreAllMocks();
});

/** What the steps log, line by line. */
async function logged(steps: () => Promise<unknown>): Promise<string[]> {
  const spies = [vi.spyOn(console, "log"), vi.spyOn(console, "error")];
  await steps();
  const lines = spies.flatMap(({ mock }) => mock.calls.map(([line]) => String(line)));
  for (const spy of spies) spy.mockRestore();
  return lines;
}

describe("log lines", () => {
  test("hold the decision and who it was for, and no token, body, result or error", async () => {
    const canary = "canary-7f3a";
    const args = { jobId: "logged", token: canary };
    const lines = await logged(async () => {
      await index.claim({ ...args, event: { ...EVENT, body: `"${canary}"` } });
      await index.renew({ claims: [args] });
      await index.release({ ...args, error: canary });
      await index.claim(args);
      await index.complete({ ...args, result: canary });
      await index.claim(args);
      await index.complete({ jobId: "logged", token: `${canary}2` });
      await exports.LedgerAdmin.reopen({ namespace: "n", jobId: "logged", actor: "ann", consumer: "index" });
      await index.inspect({ jobId: "logged", body: true });
    });
    expect(lines.join("\n")).not.toContain(canary);
    const decisions = lines.map((line): unknown => JSON.parse(line));
    expect(decisions).toMatchObject(
      [
        ["claim", "claimed"],
        ["renew", "ok"],
        ["release", "ok"],
        ["claim", "claimed"],
        ["complete", "ok"],
        ["complete", "stale"],
        ["reopen", "reopened"],
      ].map(([event, outcome]) => ({
        worker: "ledger-service",
        event,
        outcome,
        namespace: "n",
        jobId: "logged",
        consumer: "index",
      })),
    );
  });

  test.each([
    ["its holder died on its last attempt", "exhausted", { maxAttempts: 1 }],
    ["its holder gave it up for good", "release", { maxAttempts: 1 }],
    ["its last attempt failed", "release", { maxAttempts: 1 }],
  ])("tell once, at level error, of a claim given up: %s", async (why, by, options) => {
    const jobId = `log ${why}`;
    await index.claim({ jobId, event: EVENT, token: "t", ...options });
    if (by === "exhausted") await endLease(jobId, "index", 1_000);
    const permanent = why.includes("for good");
    const lines = await logged(async () => {
      if (by === "release") await index.release({ jobId, token: "t", permanent, error: "canary" });
      await index.claim({ jobId });
      await ledger("mail").claim({ jobId });
    });
    const given = { namespace: "n", jobId, consumer: "index", attempt: 1, by, maxAttempts: 1 };
    expect(lines.filter((line) => line.includes("gave_up")).map((line): unknown => JSON.parse(line))).toEqual([
      { level: "error", worker: "ledger-service", event: "gave_up", outcome: "failed", ...given },
    ]);
    expect(lines.join()).not.toContain('"event":"release"');
    expect(lines.join()).not.toContain("canary");
  });

  test("tell once of a body that was replaced, with both sizes", async () => {
    await index.claim({ jobId: "log-replaced", event: EVENT, token: "t" });
    const newer = { ...EVENT, body: `${EVENT.body} ` };
    const lines = await logged(async () => {
      for (let count = 0; count < 2; count++) await index.claim({ jobId: "log-replaced", event: newer });
    });
    expect(lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "event")).toEqual([
      {
        level: "info",
        worker: "ledger-service",
        event: "event",
        outcome: "replaced",
        namespace: "n",
        jobId: "log-replaced",
        consumer: "index",
        type: "job.completed",
        bytes: 19,
        previousBytes: 18,
      },
    ]);
  });

  test("tell of a claim that waits, and not of a duplicate, nor of a conflict that is known", async () => {
    await index.claim({ jobId: "twice", event: EVENT, token: "t" });
    const waiting = await logged(() => index.claim({ jobId: "twice", event: EVENT }));
    expect(waiting.join("\n")).toContain("in_progress");
    await index.complete({ jobId: "twice", token: "t" });
    await index.claim({ jobId: "twice", event: OTHER_EVENT });
    const again = async () => {
      for (const event of [EVENT, OTHER_EVENT]) await index.claim({ jobId: "twice", event });
    };
    expect(await logged(again)).toEqual([]);
  });

  test("do not tell of a duplicate of a job that has failed", async () => {
    await index.claim({ jobId: "failed-twice", event: EVENT, token: "t" });
    await index.release({ jobId: "failed-twice", token: "t", permanent: true });
    expect(await logged(() => index.claim({ jobId: "failed-twice", event: EVENT }))).toEqual([]);
  });

  test("tell of each conflicting type at level error, of one too many at level info, also once the job is over", async () => {
    await finish("many-types", "index");
    const types = ["job.failed", "3", "4", "5"];
    const lines = await logged(async () => {
      for (const type of types) await index.claim({ jobId: "many-types", event: { ...EVENT, type } });
    });
    const claims = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "claim");
    expect(claims.map(({ level, outcome, conflict }) => [level, outcome, conflict])).toEqual([
      ["info", "completed", "5"], // not kept: each time
      ["error", "completed", "job.failed"],
      ["error", "completed", "3"],
      ["error", "completed", "4"],
    ]);
  });
});
