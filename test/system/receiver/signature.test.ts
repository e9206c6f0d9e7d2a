// Rows 2 to 14, 17, 18, 20, 21 and 45: what the receiver believes. Of a refused delivery the ledger holds nothing.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack, until } from "../../support/stack/stack.ts";
import { SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../../local/sume/webhooks/sign.ts";
import { type Answer, event, FORGED, jobObjects, now, send, signature } from "./requests.ts";

let stack: Stack;
beforeAll(async () => {
  // Blank: the default.
  stack = await startStack({ vars: { receiver: { TIMESTAMP_TOLERANCE_SECONDS: "" } } });
}, 60_000);
afterAll(() => stack.close());

/** Sends an event with the headers that `change` makes of the right ones; `undefined` leaves a header out. */
async function deliver(
  jobId: string,
  change: { timestamp?: (own: string) => string | undefined; signature?: (own: string) => string | undefined },
): Promise<Answer> {
  const body = event(jobId);
  const own = signature(body);
  const headers = {
    [TIMESTAMP_HEADER]: change.timestamp ? change.timestamp(own[TIMESTAMP_HEADER]) : own[TIMESTAMP_HEADER],
    [SIGNATURE_HEADER]: change.signature ? change.signature(own[SIGNATURE_HEADER]) : own[SIGNATURE_HEADER],
  };
  return await send(stack, body, { headers });
}

const ACCEPTED = { status: 202, type: "application/json", receiver: "completed, attempt 1" };
const REFUSED = { status: 401, type: "application/problem+json", receiver: null };

/** What was answered, and the receiver's claim in the ledger; `null` where the ledger does not know the job. */
async function outcome(jobId: string, { status, headers }: Answer) {
  const record = await stack.record(jobId);
  const claims = record?.claims.filter(({ consumer }) => consumer === "receiver");
  const told = claims?.map((claim) => `${claim.status}, attempt ${claim.attempt}`).join();
  return { status, type: headers["content-type"], receiver: told ?? null };
}

/** The bytes of a text's UTF-8, a character each: how a header carries them. */
const utf8 = (text: string) => Buffer.from(text).toString("latin1");
const hexOf = (entry: string) => entry.slice("sume-v1=".length);

describe("a header missing", () => {
  it.each([
    ["#2 no signature", "job-2-none", { signature: () => undefined }],
    ["#2 an empty signature", "job-2-empty", { signature: () => "" }],
    ["#3 no timestamp", "job-3-none", { timestamp: () => undefined }],
    ["#3 an empty timestamp", "job-3-empty", { timestamp: () => "" }],
  ])("%s: 401", async (_, jobId, change) => {
    expect(await outcome(jobId, await deliver(jobId, change))).toEqual(REFUSED);
  });
});

describe("a timestamp at the edge of the tolerance", () => {
  it.each([
    ["#4 T-600 accepted", "job-4-600", -600, ACCEPTED],
    ["#4 T-601 refused", "job-4-601", -601, REFUSED],
    ["#5 T+300 accepted", "job-5-300", 300, ACCEPTED],
    ["#5 T+301 refused", "job-5-301", 301, REFUSED],
  ])("%s", async (_, prefix, offset, expected) => {
    // The clock cannot be stopped: a try counts if it began and ended in the same second.
    for (let tries = 1; ; tries += 1) {
      const jobId = `${prefix}-${tries}`;
      const second = now();
      const body = event(jobId);
      const answer = await send(stack, body, { headers: signature(body, { timestamp: second + offset }) });
      if (now() !== second) continue;
      expect(await outcome(jobId, answer)).toEqual(expected);
      return;
    }
  });

  it.each([
    ["#4 an hour old", "job-4-hour", -3_600, "too_old"],
    ["#5 an hour ahead", "job-5-hour", 3_600, "too_early"],
  ])("%s, signed: an error line that says it is the age alone", async (_, jobId, offset, what) => {
    const body = event(jobId);
    const answer = await send(stack, body, { headers: signature(body, { timestamp: now() + offset }) });
    expect(await outcome(jobId, answer)).toEqual(REFUSED);
    const line = await until("its line", () => stack.logs().find((each) => each.jobId === jobId));
    expect(line).toMatchObject({ level: "error", worker: "receiver", event: "delivery", outcome: what, status: 401 });
    // The clock went on meanwhile.
    expect(Math.abs(Number(line["seconds"]) - 3_600)).toBeLessThan(60);
  });

  it("#4 an hour old, forged: a line like any forged one's", async () => {
    const logged = stack.logs().length;
    const headers = { [TIMESTAMP_HEADER]: now() - 3_600, [SIGNATURE_HEADER]: FORGED };
    expect((await send(stack, event("job-4-forged"), { headers })).status).toBe(401);
    const line = await until("its line", () =>
      stack
        .logs()
        .slice(logged)
        .find(({ event: what }) => what === "delivery"),
    );
    expect(line).toEqual({
      level: "info",
      worker: "receiver",
      event: "delivery",
      outcome: "unauthorized",
      status: 401,
    });
  });
});

describe("#45 the first nine attempts of a delivery are refused, at Sume's delays", () => {
  /** Seconds from an attempt to the next: each hangs for 10 s, then comes the delay. */
  const APART = 40;

  it.each([
    ["the first signature kept", "job-45-kept", false],
    ["each signed anew", "job-45-anew", true],
  ])("%s: the tenth is accepted", async (_, jobId, resign) => {
    await (await stack.refusingQueue()).refuse(jobId, 9);
    stack.sume.createJob({ id: jobId, body: event(jobId), state: "completed" });
    // Nobody waits: Sume's clock began six minutes ago, and is put forward with each attempt.
    let attempt = 1;
    const { attempts } = await stack.sume.deliver(jobId, {
      resign,
      delayMs: 0,
      now: () => Date.now() - (10 - attempt) * APART * 1_000,
      onAttempt: ({ number }) => (attempt = number + 1),
    });
    const statuses = attempts.map((each) => (each.outcome === "answered" ? each.status : each.error));
    expect(statuses).toEqual([...Array.from({ length: 9 }, () => 503), 202]);
    expect(await stack.claimOf(jobId, "receiver")).toMatchObject({ status: "completed", attempt: 10 });
  });
});

describe("a timestamp that is not unix seconds, signed as sent", () => {
  it.each([
    ["#6 milliseconds", "job-6", (T: number) => `${T}000`],
    ["#7 1.5", "job-7-1.5", () => "1.5"],
    ["#7 -1", "job-7--1", () => "-1"],
    ["#7 +1", "job-7-+1", () => "+1"],
    ["#7 1e9", "job-7-1e9", () => "1e9"],
    ["#7 0x10", "job-7-0x10", () => "0x10"],
    ["#7 NaN", "job-7-NaN", () => "NaN"],
    ["#7 a space before T", "job-7-space", (T: number) => ` ${T}`],
    ["#7 letters after T", "job-7-abc", (T: number) => `${T}abc`],
    ["#7 a fraction after T", "job-7-T.5", (T: number) => `${T}.5`],
    ["#7 a sign before T", "job-7-+T", (T: number) => `+${T}`],
    ["#7 an exponent after T", "job-7-Te0", (T: number) => `${T}e0`],
    ["#7 T in hex", "job-7-hex", (T: number) => `0x${T.toString(16)}`],
    ["#7 T with a group separator", "job-7-group", (T: number) => `${T}`.replace(/(?=\d{3}$)/, "_")],
    ["#7 T twice", "job-7-twice", (T: number) => `${T}, ${T}`],
    ["#7 more digits than any second has", "job-7-long", () => "9".repeat(400)],
  ])("%s: 401", async (_, jobId, timestamp) => {
    const body = event(jobId);
    expect(
      await outcome(jobId, await send(stack, body, { headers: signature(body, { timestamp: timestamp(now()) }) })),
    ).toEqual(REFUSED);
  });

  it("#7 digits of another script: 401", async () => {
    const body = event("job-7-arabic");
    const timestamp = String(now()).replace(/\d/g, (digit) => String.fromCodePoint(0x0660 + Number(digit)));
    const headers = { ...signature(body, { timestamp }), [TIMESTAMP_HEADER]: utf8(timestamp) };
    expect(await outcome("job-7-arabic", await send(stack, body, { headers }))).toEqual(REFUSED);
  });
});

describe("several signature entries, one of them valid", () => {
  it.each([
    ["#8 the valid one first", "job-8-first", (own: string) => `${own},${FORGED},${FORGED}`],
    ["#8 the valid one in the middle", "job-8-middle", (own: string) => `${FORGED},${own},${FORGED}`],
    ["#8 the valid one last", "job-8-last", (own: string) => `${FORGED},${FORGED},${own}`],
    ["#9 separated by a comma and a space", "job-9-space", (own: string) => `${FORGED}, ${own}`],
    ["#9 separated by a comma", "job-9-comma", (own: string) => `${FORGED},${own}`],
    ["#10 next to a sume-v2", "job-10-before", (own: string) => `sume-v2=${"a".repeat(64)},${own}`],
    ["#10 before a sume-v2", "job-10-after", (own: string) => `${own},sume-v2=abc`],
    ["#12 next to an entry without digits", "job-12-none", (own: string) => `sume-v1=,${own}`],
    ["#12 next to a short one", "job-12-short", (own: string) => `sume-v1=abc,${own}`],
    ["#12 next to empty entries", "job-12-empty", (own: string) => `,, ,${own},`],
    ["#12 next to what is no entry", "job-12-text", (own: string) => `"quoted;=" text,${own}`],
    ["#12 next to one that is not ASCII", "job-12-utf8", (own: string) => `sume-v1=${utf8("é")},${own}`],
  ])("%s: accepted", async (_, jobId, entries) => {
    expect(await outcome(jobId, await deliver(jobId, { signature: entries }))).toEqual(ACCEPTED);
  });
});

describe("no signature entry that is valid", () => {
  it.each([
    ["#11 only a sume-v2, with the right digits", "job-11-v2", (own: string) => own.replace("v1", "v2")],
    ["#11 only the bare digits", "job-11-bare", hexOf],
    ["#11 only v1=", "job-11-v1", (own: string) => `v1=${hexOf(own)}`],
    ["#13 63 digits", "job-13-63", (own: string) => own.slice(0, -1)],
    ["#13 65 digits", "job-13-65", (own: string) => `${own}0`],
    ["#13 a digit that is not hex", "job-13-hex", (own: string) => `${own.slice(0, -1)}g`],
    ["#13 not ASCII", "job-13-ascii", (own: string) => `${own.slice(0, -1)}\u00e9`],
    ["#13 64 characters that are 65 bytes", "job-13-bytes", (own: string) => `${own.slice(0, -1)}${utf8("é")}`],
    ["#13 digits of another script", "job-13-wide", () => `sume-v1=${utf8("\uff11".repeat(64))}`],
    ["#13 a space within", "job-13-space", (own: string) => `${own.slice(0, 40)} ${own.slice(40)}`],
    ["#14 upper-case digits", "job-14-hex", (own: string) => `sume-v1=${hexOf(own).toUpperCase()}`],
    ["#14 an upper-case version", "job-14-version", (own: string) => `SUME-V1=${hexOf(own)}`],
    ["a digit too few of each of three", "job-13-three", (own: string) => Array(3).fill(own.slice(0, -1)).join(",")],
  ])("%s: 401", async (_, jobId, entries) => {
    expect(await outcome(jobId, await deliver(jobId, { signature: entries }))).toEqual(REFUSED);
  });
});

describe("what was signed is not what was sent", () => {
  it("#17 one byte of the body flipped: 401", async () => {
    const body = Buffer.from(event("job-17-byte", ',"n":10'));
    const headers = signature(body);
    body.writeUInt8(body.readUInt8(body.length - 2) ^ 1, body.length - 2);
    expect(body.toString()).toBe('{"job_id":"job-17-byte","event":"job.completed","n":11}');
    expect(await outcome("job-17-byte", await send(stack, body, { headers }))).toEqual(REFUSED);
  });

  it.each([
    ["#17 the same JSON with other spaces", "job-17-space", (text: string) => text.replaceAll(",", ", ")],
    ["#17 the same JSON, parsed and serialised", "job-17-json", (text: string) => JSON.stringify(JSON.parse(text))],
    ["#17 a newline after it", "job-17-newline", (text: string) => `${text}\n`],
  ])("%s: 401", async (_, jobId, change) => {
    const signed = event(jobId, ',"n":1e2');
    const sent = change(signed);
    expect(sent).not.toBe(signed);
    expect(await outcome(jobId, await send(stack, sent, { headers: signature(signed) }))).toEqual(REFUSED);
  });

  it("#18 another timestamp than the signed one: 401", async () => {
    const answer = await deliver("job-18", { timestamp: (own) => String(Number(own) - 1) });
    expect(await outcome("job-18", answer)).toEqual(REFUSED);
  });

  it("#18 the digits moved over the dot between timestamp and body: 401", async () => {
    const body = event("job-18-dot");
    const headers = signature(`5.${body}`);
    const moved = { ...headers, [TIMESTAMP_HEADER]: `${headers[TIMESTAMP_HEADER]}.5` };
    expect(await outcome("job-18-dot", await send(stack, body, { headers: moved }))).toEqual(REFUSED);
  });

  it("#21 a forged request that names an existing job: 401, its record unchanged, nothing else stored", async () => {
    expect(await outcome("job-21", await deliver("job-21", {}))).toEqual(ACCEPTED);
    await stack.untilFinished("job-21");
    const before = [await stack.recordWithBodies("job-21"), await jobObjects(stack)];
    const body = event("job-21", ',"forged":true', "job.failed");
    const answer = await send(stack, body, { headers: signature(body, { secret: "not-the-secret" }) });
    expect(answer.status).toBe(401);
    expect([await stack.recordWithBodies("job-21"), await jobObjects(stack)]).toEqual(before);
  });
});

describe("#20 any content type is taken", () => {
  it.each([
    ["none", "job-20-none", {}],
    ["empty", "job-20-empty", { "content-type": "" }],
    ["application/json", "job-20-json", { "content-type": "application/json; charset=utf-8" }],
    ["text/plain in another charset", "job-20-text", { "content-type": "text/plain; charset=utf-16" }],
    ["a form", "job-20-form", { "content-type": "application/x-www-form-urlencoded" }],
    ["a multipart form without boundary", "job-20-multipart", { "content-type": "multipart/form-data" }],
    ["nonsense", "job-20-nonsense", { "content-type": "\u00ff;;=" }],
  ])("%s", async (_, jobId, headers) => {
    const body = event(jobId);
    expect(await outcome(jobId, await send(stack, body, { headers: { ...signature(body), ...headers } }))).toEqual(
      ACCEPTED,
    );
  });
});
