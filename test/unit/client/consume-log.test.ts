// `consume` and its log: one JSON line a message, enough to find the job by, and never what an error says, what the
// event holds or what the work made. Those are in the record, for whoever may look.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type LedgerBinding, NonRetryableError, runOnce, type Work } from "../../../ledger-service/client/index.ts";
import {
  arrived,
  clockTo,
  consumed,
  gate,
  ledger,
  message,
  rival,
  settled,
  until,
  useClock,
  watched,
} from "./support.ts";

useClock();

const SECRET = "canary-3f9a";
const boom: Work = () => Promise.reject(new Error(SECRET));
const hopeless: Work = () => Promise.reject(new NonRetryableError(SECRET));
const fine: Work = async () => ({ secret: SECRET });

const lines: { stream: "log" | "error"; text: string }[] = [];
beforeEach(() => {
  lines.length = 0;
  for (const stream of ["log", "error", "warn", "info", "debug"] as const) {
    vi.spyOn(console, stream).mockImplementation((...parts: unknown[]) => {
      lines.push({ stream: stream === "error" ? "error" : "log", text: parts.map(String).join(" ") });
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The lines of `consume`; the ledger writes its own beside them. */
function consumeLines(): { stream: string; line: unknown }[] {
  return lines
    .filter(({ text }) => text.includes('"event":"consume"'))
    .map(({ stream, text }) => ({ stream, line: JSON.parse(text) }));
}

/** The lines that the client writes on renewals. */
function renewLines(): { outcome: string; count: number }[] {
  return lines
    .map(({ text }) => JSON.parse(text))
    .filter(({ event, worker }) => event === "renew" && worker === "archive");
}

const takenByAnother: LedgerBinding["renew"] = async ({ claims }) =>
  claims.map(({ jobId }) => ({ jobId, outcome: "stale", reason: "taken" }));
const untilAborted: Work = async ({ signal }) => {
  await clockTo(120_000);
  await until(() => signal.aborted);
};

const who = { worker: "archive", namespace: "studio", consumer: "archive" };

describe("one line for each outcome; an error is for what a person must look at", () => {
  test.each<{ outcome: string; before?: (jobId: string) => Promise<unknown>; work: Work; stream: string }>([
    { outcome: "done", work: fine, stream: "log" },
    { outcome: "released", work: boom, stream: "log" },
    { outcome: "gave_up", work: hopeless, stream: "error" },
    { outcome: "completed", before: (jobId) => runOnce(ledger, { jobId }, fine), work: fine, stream: "log" },
    { outcome: "failed", before: (jobId) => runOnce(ledger, { jobId }, hopeless), work: fine, stream: "error" },
    { outcome: "deferred", before: (jobId) => runOnce(ledger, { jobId }, boom), work: fine, stream: "log" },
    { outcome: "in_progress", before: (jobId) => rival(jobId), work: fine, stream: "log" },
  ])("$outcome", async ({ outcome, before, work, stream }) => {
    const jobId = await arrived(`logged-${outcome}`);
    await before?.(jobId);
    await consumed([message(jobId)], work);
    expect(consumeLines()).toEqual([
      { stream, line: expect.objectContaining({ ...who, event: "consume", jobId, outcome, attempt: 1 }) },
    ]);
  });

  test("lost", async () => {
    const jobId = await arrived("logged-lost");
    const work: Work = async () => {
      await clockTo(240_000);
      await rival(jobId);
    };
    await consumed([message(jobId)], work, watched({ renew: "unreached" }));
    expect(consumeLines()).toMatchObject([{ stream: "log", line: { ...who, jobId, outcome: "lost", attempt: 1 } }]);
  });

  test("unsettled", async () => {
    const jobId = await arrived("logged-unsettled");
    await settled(consumed([message(jobId)], fine, watched({ complete: "unreached" })));
    expect(consumeLines()).toMatchObject([{ line: { ...who, jobId, outcome: "unsettled", attempt: 1 } }]);
  });

  test("unknown", async () => {
    await consumed([message("logged-unknown")], fine);
    expect(consumeLines()).toMatchObject([
      { stream: "error", line: { ...who, jobId: "logged-unknown", outcome: "unknown" } },
    ]);
  });

  test("a message that names no job", async () => {
    await consumed([{ id: "bad", body: "null" }], fine);
    const line = { level: "error", ...who, event: "consume", outcome: "malformed", messageId: "bad" };
    expect(consumeLines()).toEqual([{ stream: "error", line }]);
  });

  test("a claim that the ledger refused, by the error's name and code", async () => {
    await consumed([message("logged-refused")], fine, ledger, { leaseMs: 1 });
    expect(consumeLines()).toMatchObject([
      { stream: "error", line: { ...who, outcome: "error", error: "LedgerError invalid_argument" } },
    ]);
  });

  test("a line for every message of a batch", async () => {
    const ids = await Promise.all([arrived("logged-a"), arrived("logged-b"), arrived("logged-c")]);
    await consumed(
      ids.map((jobId) => message(jobId)),
      fine,
    );
    expect(consumeLines()).toHaveLength(3);
    for (const jobId of ids) {
      expect(consumeLines()).toContainEqual({
        stream: "log",
        line: expect.objectContaining({ jobId, outcome: "done", attempt: 1 }),
      });
    }
  });
});

describe("a claim given up is one line at level error, in one shape, whichever way it came about", () => {
  test.each<{ way: string; outcome: string; before?: (jobId: string) => Promise<unknown>; work: Work; max?: number }>([
    { way: "NonRetryableError", outcome: "gave_up", work: hopeless },
    { way: "the last attempt", outcome: "gave_up", work: boom, max: 1 },
    { way: "a result that cannot be kept", outcome: "gave_up", work: async () => ({ at: new Date() }) },
    { way: "a result that is too large", outcome: "gave_up", work: async () => "x".repeat(20_000) },
    {
      way: "found as failed",
      outcome: "failed",
      before: (jobId) => runOnce(ledger, { jobId }, hopeless),
      work: fine,
    },
    {
      way: "found as failed, its last holder dead",
      outcome: "failed",
      before: async (jobId) => {
        await rival(jobId, { maxAttempts: 1, leaseMs: 1_000 });
        await clockTo(1_000);
      },
      work: fine,
    },
  ])("$way", async ({ way, outcome, before, work, max = 60 }) => {
    const jobId = await arrived(`logged-given-up ${way}`);
    await before?.(jobId);
    await consumed([message(jobId)], work, ledger, { maxAttempts: max });
    expect(consumeLines()).toEqual([
      {
        stream: "error",
        line: { level: "error", ...who, event: "consume", outcome, jobId, attempt: 1, messageId: jobId },
      },
    ]);
  });
});

test.each([
  { size: 11, count: 1 },
  { size: 100, count: 90 },
])("what a batch of $size holds beyond ten is given back in one line", async ({ size, count }) => {
  const ids = Array.from({ length: size }, (_, number) => `logged-spare-${size}-${number}`);
  await consumed(
    ids.map((id) => message(id)),
    fine,
  );
  expect(consumeLines().filter(({ line }) => JSON.stringify(line).includes("given_back"))).toEqual([
    { stream: "error", line: { level: "error", ...who, event: "consume", outcome: "given_back", count } },
  ]);
});

describe("renewals", () => {
  test.each<{ name: string; renew: "unreached" | "hangs" }>([
    { name: "do not arrive", renew: "unreached" },
    { name: "are not answered", renew: "hangs" },
  ])("that $name are one line, and the leases lost by it another", async ({ name, renew }) => {
    const ids = await Promise.all(["a", "b", "c"].map((each) => arrived(`logged-renew ${name} ${each}`)));
    const signals: AbortSignal[] = [];
    const work: Work = async ({ signal }) => {
      signals.push(signal);
      await until(() => signal.aborted);
    };
    const consuming = consumed(
      ids.map((id) => message(id)),
      work,
      watched({ renew }),
    );
    await until(() => signals.length === 3);
    await clockTo(240_000);
    await settled(consuming);
    const line = { level: "error", ...who, event: "renew", count: 3, jobIds: expect.arrayContaining(ids) };
    expect(renewLines()).toMatchObject([
      { ...line, outcome: "failed" },
      { ...line, outcome: "lease_lost" },
    ]);
  });

  test("that fail again after one that did not are told of again", async () => {
    const jobId = await arrived("logged-renew-twice");
    const binding = watched({ renew: ["unreached", "none", "unreached"] });
    const end = gate();
    const consuming = consumed([message(jobId)], () => end.opened, binding);
    await until(() => binding.answered("claim") === 1);
    for (const [at, calls] of [
      [120_000, 1],
      [150_000, 2],
      [270_000, 3],
    ] as const) {
      await clockTo(at);
      await until(() => binding.count("renew") === calls);
      await until(() => calls !== 2 || binding.answered("renew") === 1);
    }
    end.open();
    await consuming;
    expect(renewLines().map(({ outcome, count }) => [outcome, count])).toEqual([
      ["failed", 1],
      ["failed", 1],
    ]);
  });

  test("of one whose claim another has taken are one line", async () => {
    const jobId = await arrived("logged-renew-taken");
    await consumed([message(jobId)], untilAborted, { ...watched(), renew: takenByAnother });
    expect(renewLines()).toMatchObject([{ level: "error", outcome: "lease_lost", count: 1, jobIds: [jobId] }]);
  });
});

describe("never in any line", () => {
  test.each<{ name: string; body?: string; work: Work }>([
    { name: "the message of an error", work: boom },
    { name: "the message of a NonRetryableError", work: hopeless },
    { name: "a text that was thrown", work: () => Promise.reject(SECRET) },
    { name: "a result", work: fine },
    { name: "a result that cannot be kept", work: async () => ({ secret: SECRET, big: 1n }) },
    { name: "the event's body", body: `{"token":"${SECRET}"}`, work: async (job) => job.payload() ?? null },
    // JSON.parse quotes what it could not parse.
    { name: "a body that is no JSON", body: SECRET, work: async (job) => job.payload() ?? null },
  ])("$name", async ({ name, body, work }) => {
    const jobId = await arrived(`logged-canary ${name}`, body);
    await consumed([message(jobId)], work);
    expect(consumeLines()).toHaveLength(1);
    expect(lines.filter(({ text }) => text.includes(SECRET))).toEqual([]);
  });

  test("the error of a ledger that cannot be reached", async () => {
    const binding = { ...watched(), claim: () => Promise.reject(new Error(SECRET)) };
    await settled(consumed([message("logged-any")], fine, binding));
    expect(consumeLines()).toMatchObject([{ line: { ...who, jobId: "logged-any", outcome: "error", error: "Error" } }]);
    expect(lines.filter(({ text }) => text.includes(SECRET))).toEqual([]);
  });
});

describe("who the binding is", () => {
  test("is asked once for all batches of a binding", async () => {
    const binding = watched();
    await consumed([message(await arrived("logged-1")), message(await arrived("logged-2"))], fine, binding);
    await consumed([message(await arrived("logged-3"))], fine, binding);
    expect(binding.count("whoami")).toBe(1);
    expect(consumeLines()).toHaveLength(3);
  });

  test("cannot be asked: the messages are settled all the same, and the next batch asks again", async () => {
    const binding = watched({ whoami: ["unreached"] });
    const unnamed = await arrived("logged-unnamed");
    const named = await arrived("logged-named");
    expect(await consumed([message(unnamed)], fine, binding)).toEqual({ [unnamed]: "ack" });
    expect(await consumed([message(named)], fine, binding)).toEqual({ [named]: "ack" });
    expect(consumeLines()).toMatchObject([
      { line: { jobId: unnamed, namespace: "unknown", consumer: "unknown", outcome: "done" } },
      { line: { jobId: named, ...who, outcome: "done" } },
    ]);
  });
});
