// What the reconciler does about each alert: the calls it makes, the message's fate, and its one log line.

import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { takeAlerts } from "../../../consumers/reconciler/src/alerts.ts";
import type { Bindings } from "../../../consumers/reconciler/src/settings.ts";
import type { AlertMessage } from "../../../ledger-service/contract/index.ts";

type Call = [verb: string, args: unknown];
let calls: Call[];
let answer: string | Error;
let lines: Record<string, unknown>[];

const take = (verb: string, args: unknown) => {
  calls.push([verb, args]);
  if (answer instanceof Error) throw answer;
};
const record = (verb: string) => async (args: unknown) => {
  take(verb, args);
  return { outcome: String(answer), consumers: ["gone", "job-index"] };
};
const intake = { ingest: record("ingest"), redispatch: record("redispatch") };

function environment(): Bindings {
  return {
    SUME_API_URL: inject("sumeOrigin"),
    SUME_API_KEY: "the-key",
    LEDGER_ADMIN: {
      cancelExpectation: async (args) => {
        take("cancelExpectation", args);
        return { outcome: "cancelled" };
      },
    },
    INTAKE_DEFAULT: intake,
  };
}

const alert = (
  jobId: string,
  reason: AlertMessage["reason"],
  ring: number,
  rest: Partial<AlertMessage> = {},
): AlertMessage => ({
  namespace: "default",
  jobId,
  reason,
  ring,
  pending: [],
  ...rest,
});

/** `null`: acknowledged; else the seconds until the message comes again. */
async function reconcile(messages: AlertMessage[], env = environment(), attempts = 1): Promise<(number | null)[]> {
  const batch = createMessageBatch<AlertMessage>(
    "alerts",
    messages.map((body, index) => ({ id: String(index), timestamp: 0, attempts, body })),
  );
  const retries = batch.messages.map((message) => vi.spyOn(message, "retry"));
  await takeAlerts(batch, env);
  const { explicitAcks } = await getQueueResult(batch, createExecutionContext());
  return messages.map((_, index) => {
    const delay = retries[index]?.mock.lastCall?.[0]?.delaySeconds;
    return explicitAcks.includes(String(index)) && delay === undefined ? null : (delay ?? Number.NaN);
  });
}

beforeEach(() => {
  calls = [];
  answer = "accepted";
  lines = [];
  for (const level of ["log", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line: string) => void lines.push(JSON.parse(line)));
  }
});

afterEach(() => {
  vi.restoreAllMocks();
});

const event = (jobId: string) => ({
  type: "job.completed",
  body: `{"job_id":"${jobId}","status":"completed","event":"job.completed","n":1}`,
  source: "poll",
});

/** Of a claim that was reopened for a fresh event. */
const fresh = (jobId: string) => alert(jobId, "not_finished", 1, { pending: ["index"], refresh: true });

describe("refresh", () => {
  test.each([
    ["completed.a", "asked_for_fresh_event", "info"],
    ["failed.a", "not_redelivered", "error"],
    ["down.a", "sume_unavailable", "error"],
  ])(
    "%s: Sume is asked first (%s), and the job is dispatched when the message comes again",
    async (jobId, ...first) => {
      expect(await reconcile([fresh(jobId)])).toEqual([30]);
      expect(calls).toEqual([]);
      expect(await reconcile([fresh(jobId)], environment(), 2)).toEqual([null]);
      expect(calls).toEqual([["redispatch", { namespace: "default", jobId, pending: ["index"] }]]);
      expect(lines.map(({ outcome, level }) => [outcome, level])).toEqual([first, ["redispatched", "info"]]);
    },
  );

  test("without a key for Sume: an error line that names it, and the job is dispatched all the same", async () => {
    const env = { ...environment(), SUME_API_KEY: "" };
    expect(await reconcile([fresh("completed.a")], env)).toEqual([30]);
    expect(lines).toMatchObject([{ level: "error", detail: expect.stringContaining("SUME_API_KEY") }]);
    expect(await reconcile([fresh("completed.a")], env, 2)).toEqual([null]);
    expect(calls).toHaveLength(1);
  });
});

describe("not_arrived", () => {
  test.each<[job: string, ring: number, outcome: string, level: string, made: Call[], message: number | null]>([
    ["completed.a", 1, "asked_to_redeliver", "info", [], null],
    [
      "completed.a",
      2,
      "ingested",
      "info",
      [["ingest", { namespace: "default", jobId: "completed.a", event: event("completed.a") }]],
      null,
    ],
    ["running.a", 1, "not_ended", "info", [], null],
    ["paused.a", 7, "not_ended", "info", [], null],
    ["unknown.a", 1, "unknown_job", "info", [], null],
    ["unknown.a", 2, "unknown_job", "info", [], null],
    [
      "unknown.a",
      3,
      "gave_up_unknown_job",
      "error",
      [["cancelExpectation", { namespace: "default", jobId: "unknown.a", actor: "reconciler" }]],
      null,
    ],
    ["failed.a", 1, "not_redelivered", "error", [], null],
    ["unauthorized.a", 1, "sume_forbidden", "error", [], null],
    ["forbidden.a", 1, "sume_forbidden", "error", [], null],
    ["busy.a", 1, "sume_unavailable", "error", [], 120],
    ["broken.a", 1, "sume_unavailable", "error", [], 30],
    ["html.a", 1, "sume_unexpected", "error", [], null],
    ["empty.a", 1, "sume_unexpected", "error", [], null],
    ["cut.a", 1, "sume_unavailable", "error", [], 30],
  ])("%s at ring %i: %s", async (jobId, ring, outcome, level, made, message) => {
    expect(await reconcile([alert(jobId, "not_arrived", ring)])).toEqual([message]);
    expect(calls).toEqual(made);
    expect(lines).toEqual([
      expect.objectContaining({
        level,
        worker: "reconciler",
        event: "not_arrived",
        outcome,
        namespace: "default",
        jobId,
        ring,
      }),
    ]);
  });

  test.each([
    ["own", { SUME_API_KEY_DEFAULT: "wrong" }, "SUME_API_KEY_DEFAULT"],
    ["general", { SUME_API_KEY: "wrong" }, "SUME_API_KEY"],
  ])("a wrong key is told by the name of the variable (%s)", async (_, changed, name) => {
    expect(await reconcile([alert("completed.b", "not_arrived", 1)], { ...environment(), ...changed })).toEqual([null]);
    expect(lines).toMatchObject([{ outcome: "sume_forbidden", detail: expect.stringContaining(`secret ${name} `) }]);
    expect(JSON.stringify(lines)).not.toContain("wrong");
  });

  test.each([
    ["SUME_API_KEY", { SUME_API_KEY: " " }],
    ["SUME_API_URL", { SUME_API_URL: "" }],
    ["SUME_API_URL", { SUME_API_URL: "ftp://sume.example" }],
  ])("what is not set is told by its name: %s", async (name, changed) => {
    expect(await reconcile([alert("completed.c", "not_arrived", 1)], { ...environment(), ...changed })).toEqual([30]);
    expect(lines).toMatchObject([
      { level: "error", outcome: "SettingsError invalid_setting", detail: expect.stringContaining(name) },
    ]);
  });

  test("an event that the receiver could not take is brought again", async () => {
    answer = "queue_refused";
    expect(await reconcile([alert("completed.d", "not_arrived", 2)])).toEqual([30]);
    expect(lines).toMatchObject([{ level: "error", outcome: "not_ingested", detail: "queue_refused" }]);
  });
});

describe("not_finished", () => {
  const pending = ["job-index", "receiver"];

  test.each([
    ["accepted", "redispatched", null],
    ["redispatched", "redispatched", null],
    ["duplicate", "redispatched", null],
    ["queue_refused", "not_redispatched", 30],
    ["ledger_unavailable", "not_redispatched", 30],
    ["in_progress", "not_redispatched", 30],
    ["unknown", "not_redispatched", 30],
  ])("the receiver answers %s", async (outcome, told, message) => {
    answer = outcome;
    expect(await reconcile([alert("job.a", "not_finished", 1, { pending })])).toEqual([message]);
    expect(calls).toEqual([["redispatch", { namespace: "default", jobId: "job.a", pending }]]);
    expect(lines).toMatchObject([{ level: message === null ? "info" : "error", outcome: told, detail: outcome }]);
  });

  test("a consumer without a queue is an error line that says what a person can do, and is not tried again", async () => {
    answer = "no_queue";
    expect(await reconcile([alert("job.a", "not_finished", 1, { pending })])).toEqual([null]);
    expect(lines).toMatchObject([{ level: "error", outcome: "no_queue", jobId: "job.a" }]);
    expect(lines[0]?.["detail"]).toMatch(/no queue for gone, job-index: bind it as DISPATCH_<CONSUMER>, or abandon /);
  });

  test("goes to the receiver of its own namespace, and names the binding that is missing", async () => {
    const env = { ...environment(), INTAKE_TEAM_B: { ...intake, redispatch: record("team-b redispatch") } };
    const messages = ["default", "team-b", "team-c"].map((namespace) =>
      alert("job.b", "not_finished", 1, { namespace, pending }),
    );
    expect(await reconcile(messages, env)).toEqual([null, null, 30]);
    expect(calls.map(([verb]) => verb)).toEqual(["redispatch", "team-b redispatch"]);
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([
      { namespace: "team-c", detail: expect.stringContaining("INTAKE_TEAM_C") },
    ]);
  });

  test("needs no key of Sume's", async () => {
    expect(await reconcile([alert("job.c", "not_finished", 1)], { ...environment(), SUME_API_KEY: "" })).toEqual([
      null,
    ]);
  });

  test.each([
    [1, 30],
    [2, 60],
    [3, 120],
    [20, 43_200],
  ])(
    "a receiver that is down at try %i is asked again after %i s, and the error's text is not logged",
    async (tries, delay) => {
      answer = new Error("canary-3f");
      expect(await reconcile([alert("job.d", "not_finished", 1)], environment(), tries)).toEqual([delay]);
      expect(lines).toMatchObject([{ level: "error", outcome: "Error" }]);
      expect(JSON.stringify(lines)).not.toContain("canary-3f");
    },
  );
});

test("conflict: an error line for whoever is on call, and nothing else", async () => {
  expect(await reconcile([alert("job.a", "conflict", 1)])).toEqual([null]);
  expect(calls).toEqual([]);
  expect(lines).toMatchObject([{ level: "error", outcome: "conflict" }]);
});

test("a message that cannot be dealt with does not hold back the others", async () => {
  answer = "redispatched";
  const broken = { ...alert("job.e", "not_finished", 1), namespace: "nobody" };
  expect(await reconcile([broken, alert("job.f", "not_finished", 1)])).toEqual([30, null]);
});

describe("a message that is no alert: acknowledged with one error line that names its mistake", () => {
  const whole = { namespace: "default", jobId: "job.g", reason: "not_finished", ring: 1, pending: [] };

  test.each<[message: string, detail: string, named: object]>([
    ["null", "the message must be Object", {}],
    ['"job.g"', "the message must be Object", {}],
    ["[]", "namespace is missing", {}],
    ["{}", "namespace is missing", {}],
    ['{"jobId":7}', "namespace is missing", {}],
    [JSON.stringify({ ...whole, namespace: 7 }), "namespace must be string", { jobId: "job.g" }],
    [JSON.stringify({ ...whole, namespace: "A:b" }), "namespace must match [a-z0-9-]{1,64}", { jobId: "job.g" }],
    [
      JSON.stringify({ ...whole, jobId: "j".repeat(513) }),
      "jobId must have at most 512 bytes",
      { namespace: "default" },
    ],
    [JSON.stringify({ ...whole, reason: "bored" }), "reason must be ", { namespace: "default", jobId: "job.g" }],
    [JSON.stringify({ ...whole, ring: "1" }), "ring must be number", { jobId: "job.g" }],
    [JSON.stringify({ ...whole, ring: 0 }), "ring must be >=1", { jobId: "job.g" }],
    [JSON.stringify({ ...whole, pending: null }), "pending must be Array", { jobId: "job.g" }],
    [JSON.stringify({ ...whole, pending: [7] }), "pending.0 must be string", { jobId: "job.g" }],
  ])("%s", async (text, detail, named) => {
    const unreadable: AlertMessage = JSON.parse(text);
    expect(await reconcile([unreadable])).toEqual([null]);
    expect(calls).toEqual([]);
    expect(lines).toMatchObject([
      { level: "error", event: "alert", outcome: "malformed", detail: expect.stringContaining(detail), ...named },
    ]);
  });

  test("it does not hold back the others", async () => {
    answer = "redispatched";
    const unreadable: AlertMessage = JSON.parse("null");
    expect(await reconcile([unreadable, alert("job.h", "not_finished", 1)])).toEqual([null, null]);
    expect(calls).toHaveLength(1);
  });

  test("what a newer ledger adds to an alert is left alone", async () => {
    const newer: AlertMessage = JSON.parse(JSON.stringify({ ...whole, more: true }));
    expect(await reconcile([newer])).toEqual([null]);
    expect(lines).toMatchObject([{ level: "info", event: "not_finished", outcome: "redispatched" }]);
  });
});
