import { describe, expect, it } from "vitest";
import { deliver } from "./deliver.ts";
import type { Attempt, Delivery } from "./deliver.ts";
import { startReceiver } from "./scripted-receiver.ts";
import { SIGNATURE_HEADER, signatureHeader, TIMESTAMP_HEADER } from "./sign.ts";

const SECRETS = ["one", "two"];
const BODY = new TextEncoder().encode('{"job_id":"job_a","event":"job.completed"}');
const FAST = { delayMs: 1, timeoutMs: 5_000 };

const outcomes = (delivery: Delivery) =>
  delivery.attempts.map((attempt) => (attempt.outcome === "answered" ? attempt.status : attempt.error));

describe("deliver", () => {
  it.each([200, 202, 204, 299])("stops at the first 2xx (%i)", async (status) => {
    await using receiver = await startReceiver(503, status, 500);
    const delivery = await deliver({ url: receiver.url, body: BODY, secrets: SECRETS }, FAST);
    expect([delivery.outcome, outcomes(delivery)]).toEqual(["delivered", [503, status]]);
    expect(receiver.received).toHaveLength(2);
  });

  it("gives up after 10 attempts unless told otherwise", async () => {
    await using receiver = await startReceiver(503);
    const delivery = await deliver({ url: receiver.url, body: BODY, secrets: SECRETS }, FAST);
    expect([delivery.outcome, delivery.attempts.length, receiver.received.length]).toEqual(["gave_up", 10, 10]);
  });

  it("retries every answer that is not a 2xx and follows no redirect", async () => {
    await using receiver = await startReceiver("redirect", 400, 401, 404, 413, 429, 500, 200);
    const delivery = await deliver({ url: receiver.url, body: BODY, secrets: SECRETS }, FAST);
    expect(outcomes(delivery)).toEqual([302, 400, 401, 404, 413, 429, 500, 200]);
  });

  it("counts a cut connection and a closed port as attempts", async () => {
    const receiver = await startReceiver("cut");
    const cut = await deliver({ url: receiver.url, body: BODY, secrets: SECRETS }, { ...FAST, attempts: 1 });
    await receiver[Symbol.asyncDispose]();
    const closed = await deliver({ url: receiver.url, body: BODY, secrets: SECRETS }, { ...FAST, attempts: 2 });
    expect([cut.outcome, outcomes(cut)]).toEqual(["gave_up", ["UND_ERR_SOCKET"]]);
    expect([closed.outcome, outcomes(closed)]).toEqual(["gave_up", ["ECONNREFUSED", "ECONNREFUSED"]]);
  });

  it("counts a timeout as an attempt", async () => {
    await using receiver = await startReceiver("hang");
    const policy = { attempts: 2, delayMs: 1, timeoutMs: 30 };
    const delivery = await deliver({ url: receiver.url, body: BODY, secrets: SECRETS }, policy);
    expect(delivery.outcome).toBe("gave_up");
    expect(outcomes(delivery)).toEqual(["no answer within 30 ms", "no answer within 30 ms"]);
  });

  it("sends the same bytes, timestamp and signature with each retry", async () => {
    await using receiver = await startReceiver(503, 503, 200);
    let seconds = 1_700_000_000;
    const now = () => seconds++ * 1000;
    await deliver({ url: receiver.url, body: BODY, secrets: SECRETS }, { ...FAST, now });
    for (const { method, headers, body } of receiver.received) {
      expect([method, headers["content-type"], body.equals(BODY)]).toEqual(["POST", "application/json", true]);
      expect(headers[TIMESTAMP_HEADER]).toBe("1700000000");
      expect(headers[SIGNATURE_HEADER]).toBe(signatureHeader(SECRETS, 1_700_000_000, BODY));
    }
    expect(receiver.received).toHaveLength(3);
  });

  it("signs each retry anew when asked, with the secrets of that moment", async () => {
    await using receiver = await startReceiver(503, 200);
    const secrets = ["old"];
    let seconds = 1_700_000_000;
    const now = () => seconds++ * 1000;
    const onAttempt = () => secrets.unshift("new");
    await deliver({ url: receiver.url, body: BODY, secrets }, { ...FAST, now, resign: true, onAttempt });
    expect(receiver.received.map(({ headers }) => headers[SIGNATURE_HEADER])).toEqual([
      signatureHeader(["old"], 1_700_000_000, BODY),
      signatureHeader(["new", "old"], 1_700_000_001, BODY),
    ]);
  });

  it("flips one bit after signing when asked", async () => {
    await using receiver = await startReceiver(200);
    await deliver({ url: receiver.url, body: BODY, secrets: SECRETS }, { ...FAST, tamper: true, timestamp: "17" });
    const [request] = receiver.received;
    expect(request?.headers[SIGNATURE_HEADER]).toBe(signatureHeader(SECRETS, "17", BODY));
    expect(request?.body.filter((byte, at) => byte !== BODY[at])).toHaveLength(1);
  });

  it("tells of each attempt as it ends", async () => {
    await using receiver = await startReceiver(503, 200);
    const told: Attempt[] = [];
    const delivery = await deliver(
      { url: receiver.url, body: BODY, secrets: SECRETS },
      { ...FAST, onAttempt: (attempt) => told.push(attempt) },
    );
    expect(told).toEqual(delivery.attempts);
    expect(told).toMatchObject([
      { number: 1, outcome: "answered", status: 503, body: "answer 1" },
      { number: 2, outcome: "answered", status: 200, body: "answer 2" },
    ]);
  });

  it("is ended by its signal: before, while sending, while waiting", async () => {
    await using silent = await startReceiver("hang");
    await using refusing = await startReceiver(503);
    const toSilent = { url: silent.url, body: BODY, secrets: SECRETS };
    const toRefusing = { url: refusing.url, body: BODY, secrets: SECRETS };

    const before = await deliver(toRefusing, { signal: AbortSignal.abort() });
    expect(before).toEqual({ outcome: "aborted", attempts: [] });

    const sending = await deliver(toSilent, { signal: AbortSignal.timeout(50) });
    expect([sending.outcome, outcomes(sending)]).toEqual(["aborted", ["aborted"]]);

    const controller = new AbortController();
    const waiting = await deliver(toRefusing, { signal: controller.signal, onAttempt: () => controller.abort() });
    expect([waiting.outcome, outcomes(waiting)]).toEqual(["aborted", [503]]);
  });

  it.each([
    [{ attempts: 0 }],
    [{ attempts: 1.5 }],
    [{ delayMs: -1 }],
    [{ delayMs: 2 ** 31 }],
    [{ timeoutMs: 0 }],
    [{ timeoutMs: 2 ** 31 }],
  ])("refuses the policy %j", async (policy) => {
    await expect(deliver({ url: "http://127.0.0.1/", body: BODY, secrets: SECRETS }, policy)).rejects.toThrow(
      TypeError,
    );
  });

  it("refuses a URL that is none, a missing secret, and nothing to tamper with", async () => {
    const request = { url: "http://127.0.0.1/", body: BODY, secrets: SECRETS };
    await expect(deliver({ ...request, url: "nowhere" })).rejects.toThrow(TypeError);
    await expect(deliver({ ...request, secrets: [] })).rejects.toThrow(TypeError);
    await expect(deliver({ ...request, body: new Uint8Array() }, { tamper: true })).rejects.toThrow(TypeError);
  });
});
