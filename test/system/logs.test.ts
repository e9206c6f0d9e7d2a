// What the Workers log: a JSON line for each decision, and nothing secret. No secret, signature, payload, token or
// result is in it, nor an error's text, which may quote any of them. What is refused does not come back in the answer
// either.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LogLine, SECRET, type Stack, startStack, until } from "../support/stack/stack.ts";
import { SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../local/sume/webhooks/sign.ts";
import { callThrough, enqueue, ledgerAs, observedQueue } from "./controls.ts";
import { event, FORGED, type RequestOptions, send, sendSigned, signature } from "./receiver/requests.ts";

/** In everything that must not be logged. */
const CANARY = "canary-5b1c";
const CANARY_FIELD = `,"note":"${CANARY}"`;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    receiver: "observed-receiver",
    workers: ["observed-queue"],
    secrets: { SUME_WEBHOOK_SECRET: `${CANARY}-secret`, SUME_WEBHOOK_SECRET_PREVIOUS: SECRET },
  });
}, 60_000);
afterAll(() => stack.close());

/** Waits for the line that fits. */
function lineOf(what: Partial<LogLine>): Promise<LogLine> {
  const fits = (line: LogLine) => Object.entries(what).every(([name, value]) => line[name] === value);
  return until(`a line with ${JSON.stringify(what)}`, () => stack.logs().find(fits));
}

/** Every line that was captured, as text, also what is no JSON. */
const captured = (): string[] => stack.harness.getLogs().map(({ message }) => message);

const signatures: string[] = [];
function signed(body: string, secret = SECRET) {
  const headers = signature(body, { secret });
  signatures.push(headers[SIGNATURE_HEADER].slice("sume-v1=".length));
  return headers;
}

describe("a delivery's line", () => {
  const who = { level: "info", worker: "receiver", event: "delivery", namespace: "default", consumer: "receiver" };

  it("accepted", async () => {
    await send(stack, event("job-log-a", CANARY_FIELD), { headers: signed(event("job-log-a", CANARY_FIELD)) });
    expect(await lineOf({ event: "delivery", jobId: "job-log-a" })).toEqual({
      ...who,
      outcome: "accepted",
      jobId: "job-log-a",
      type: "job.completed",
      attempt: 1,
      dispatchedTo: ["artifact-archive", "job-index", "scripted"],
    });
  });

  it("duplicate", async () => {
    await sendSigned(stack, event("job-log-a"));
    expect(await lineOf({ event: "delivery", outcome: "duplicate" })).toMatchObject({ ...who, jobId: "job-log-a" });
  });

  it("a queue that refused: an error line that names it", async () => {
    await observedQueue(stack).order("job-log-q", "scripted", "refuse");
    await sendSigned(stack, event("job-log-q"));
    const refused = { ...who, level: "error", outcome: "queue_refused", attempt: 1, refusedBy: ["scripted"] };
    expect(await lineOf({ event: "delivery", jobId: "job-log-q" })).toMatchObject(refused);
  });

  it.each([
    ["unauthorized", 401, event("job-log-r"), { [SIGNATURE_HEADER]: FORGED }],
    ["bad_event", 400, "[]", {}],
    ["too_large", 413, "x".repeat(1_048_577), {}],
  ])("%s: nothing of what was sent, for none of it is to be believed", async (outcome, status, body, headers) => {
    await send(stack, body, { headers: { ...signature(body), ...headers } });
    const line = { level: "info", worker: "receiver", event: "delivery", outcome, status };
    expect(await lineOf({ event: "delivery", outcome })).toEqual(line);
  });
});

it("a consumer's line", async () => {
  const line = await lineOf({ event: "consume", jobId: "job-log-a", worker: "job-index" });
  const { messageId, ...rest } = line;
  expect(messageId).toMatch(/^[0-9a-f]+$/);
  expect(rest).toEqual({
    level: "info",
    worker: "job-index",
    event: "consume",
    outcome: "done",
    namespace: "default",
    jobId: "job-log-a",
    consumer: "job-index",
    attempt: 1,
  });
});

describe("a canary in everything that may go wrong", () => {
  const requests: [string, string, RequestOptions, number][] = [
    ["the secrets, the signature and the body", event("job-log-1", CANARY_FIELD), {}, 202],
    ["a body that is no JSON", `${CANARY}{`, {}, 400],
    ["a body that is JSON at first", `{"job_id":"job-log-2",${CANARY}}`, {}, 400],
    ["a body that is a text", `"${CANARY}"`, {}, 400],
    ["a job_id that is an object", `{"job_id":{"x":"${CANARY}"},"event":"job.completed"}`, {}, 400],
    ["a job_id over the limit", event(CANARY.repeat(50)), {}, 400],
    ["an event over the limit", event("job-log-3", "", CANARY.repeat(20)), {}, 400],
    ["an event that is a list", `{"job_id":"job-log-4","event":["${CANARY}"]}`, {}, 400],
    ["a signature that is none", event("job-log-5", CANARY_FIELD), { headers: { [SIGNATURE_HEADER]: CANARY } }, 401],
    ["an entry that is none", event("job-log-6"), { headers: { [SIGNATURE_HEADER]: `sume-v1=${CANARY}` } }, 401],
    ["a timestamp that is none", event("job-log-7"), { headers: { [TIMESTAMP_HEADER]: CANARY } }, 401],
    ["other headers", event("job-log-8"), { headers: { "user-agent": CANARY, authorization: CANARY } }, 202],
    ["the query", event("job-log-9"), { path: `/webhooks/sume?key=${CANARY}` }, 202],
    ["the path", event("job-log-10"), { path: `/${CANARY}` }, 404],
    ["the method", event("job-log-11", CANARY_FIELD), { method: "PUT" }, 405],
  ];
  it.each(requests)("%s", async (_, body, { headers, ...options }, status) => {
    for (const secret of [SECRET, `${CANARY}-secret`]) {
      const answer = await send(stack, body, { ...options, headers: { ...signed(body, secret), ...headers } });
      expect(answer.status).toBe(status === 202 && secret !== SECRET ? 200 : status);
      expect(answer.text + JSON.stringify(answer.headers)).not.toContain(CANARY);
    }
  });

  it("work that fails with the payload in its error: the record holds the error, no line does", async () => {
    const jobId = "job-log-work";
    await sendSigned(stack, event(jobId, `,"script":{"failAttempts":"${CANARY}"}`));
    const claim = await until("the claim to be released", async () => {
      const found = await stack.claimOf(jobId, "scripted");
      return found?.status === "released" ? found : undefined;
    });
    expect(claim.error).toContain(CANARY);
    expect(await lineOf({ event: "consume", jobId, worker: "scripted" })).toMatchObject({ outcome: "released" });
  });

  it("work on a body that is no JSON: the record holds the parser's error, no line does", async () => {
    const [jobId, ledger] = ["job-log-poll", ledgerAs(stack, "receiver")];
    await ledger.claim({ jobId, event: { type: "job.completed", body: `${CANARY}{`, source: "poll" }, token: CANARY });
    await ledger.complete({ jobId, token: CANARY, result: CANARY, dispatchedTo: ["scripted"] });
    await enqueue(stack, "scripted", [{ jobId, note: CANARY }]);
    expect(await lineOf({ event: "consume", jobId, worker: "scripted" })).toMatchObject({ outcome: "released" });
    expect((await stack.claimOf(jobId, "scripted"))?.error).toContain(CANARY);
  });

  it("messages that are none", async () => {
    await enqueue(stack, "scripted", [CANARY, [CANARY], { jobId: { note: CANARY } }, { jobId: "", note: CANARY }]);
    expect(await lineOf({ event: "consume", outcome: "malformed" })).toMatchObject({
      level: "error",
      worker: "scripted",
    });
  });

  it("calls to the ledger: tokens, results, errors, and arguments that it refuses", async () => {
    const [jobId, ledger] = ["job-log-rpc", ledgerAs(stack, "caller")];
    const brought = { type: "job.completed", body: CANARY, source: "webhook" };
    await ledger.claim({ jobId, event: { ...brought, source: "poll" }, token: CANARY });
    await ledger.renew({ claims: [{ jobId, token: CANARY }] });
    await ledger.release({ jobId, token: CANARY, error: CANARY });
    await ledger.complete({ jobId, token: `${CANARY}-stale`, result: { note: CANARY } });
    for (const args of [
      { jobId: CANARY.repeat(50) },
      { jobId, [CANARY]: 1 },
      { jobId, event: { ...brought, type: "" } },
    ]) {
      const { error } = await callThrough(stack, "CALLER", "claim", args);
      expect(error?.name).toBe("LedgerError");
    }
    expect(await lineOf({ event: "release", jobId, consumer: "caller" })).toMatchObject({ outcome: "ok" });
  });

  it("no captured line holds the canary, a secret or a signature; each is JSON and says who decided what", async () => {
    await sendSigned(stack, event("job-log-last"));
    await lineOf({ event: "consume", jobId: "job-log-last", worker: "job-index" });
    const lines = captured();
    expect(lines.length).toBeGreaterThan(50);
    for (const hidden of [CANARY, SECRET, "sume-v1", ...signatures]) {
      expect(lines.filter((line) => line.includes(hidden))).toEqual([]);
    }
    for (const line of lines) {
      const parsed: unknown = JSON.parse(line);
      expect(parsed).toMatchObject({
        level: expect.stringMatching(/^(info|error)$/),
        worker: expect.any(String),
        event: expect.any(String),
        outcome: expect.any(String),
      });
    }
  });
});
