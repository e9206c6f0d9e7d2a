// `consume` and its log: one JSON line a message, enough to find the job by, and never what an error says, what the event
// holds or what the work made. Those are in the record, for whoever may look.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { NonRetryableError, runOnce, type Work } from "../../../ledger-service/client/index.ts";
import { arrived, clockTo, consumed, ledger, message, rival, settled, useClock, watched } from "./support.ts";

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

const who = { worker: "archive", namespace: "studio", consumer: "archive" };

describe("one line for each outcome; an error is for what a person must look at", () => {
  test.each<{ outcome: string; before?: (jobId: string) => Promise<unknown>; work: Work; stream: string }>([
    { outcome: "done", work: fine, stream: "log" },
    { outcome: "released", work: boom, stream: "log" },
    { outcome: "gave_up", work: hopeless, stream: "error" },
    { outcome: "completed", before: (jobId) => runOnce(ledger, { jobId }, fine), work: fine, stream: "log" },
    { outcome: "failed", before: (jobId) => runOnce(ledger, { jobId }, hopeless), work: fine, stream: "log" },
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
    expect(consumeLines()).toMatchObject([{ stream: "error", line: { ...who, outcome: "error", messageId: "bad" } }]);
  });

  test("a claim that the ledger refused, by the error's name and code", async () => {
    await consumed([message("")], fine);
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
