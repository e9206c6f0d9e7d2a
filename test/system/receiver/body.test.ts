// Rows 19, 22 to 27 and 44: bodies, kept byte for byte or refused by what is wrong with them; and what is not a
// delivery at all.

import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stack, startStack, until } from "../../support/stack/stack.ts";
import { SIGNATURE_HEADER } from "../../local/sume/webhooks/sign.ts";
import { ledgerAs } from "../controls.ts";
import { type Answer, event, FORGED, jobObjects, send, sendSigned, signature, storedBytes } from "./requests.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
}, 60_000);
afterAll(() => stack.close());

const MIB = 1_048_576;

/** What a consumer gets with its claim. */
async function claimedBytes(jobId: string): Promise<Buffer | undefined> {
  const claimed = await ledgerAs(stack, "caller").claim({ jobId });
  return claimed.outcome === "claimed" ? Buffer.from(claimed.event.body) : undefined;
}

/** What was answered, and whether the ledger and those who claim have the very bytes. */
async function kept(jobId: string, { status }: Answer, sent: Buffer) {
  const stored = (await storedBytes(stack, jobId))?.equals(sent);
  const claimed = (await claimedBytes(jobId))?.equals(sent);
  const events = (await stack.record(jobId))?.events.map(({ source, bytes }) => `${source}, ${bytes} bytes`);
  return { status, events, stored, claimed };
}

function keptAll(sent: Buffer) {
  return { status: 202, events: [`webhook, ${sent.length} bytes`], stored: true, claimed: true };
}

/** The detail of an answer that is problem details and says so; else `undefined`. */
function detailOf({ status, headers, text }: Answer): string | undefined {
  if (headers["content-type"] !== "application/problem+json") return undefined;
  const problem: { type: string; status: number; title: string; detail: string } = JSON.parse(text);
  return problem.type === "about:blank" && problem.status === status ? problem.detail : undefined;
}

const asItIs = (text: string) => Buffer.from(text);

function padded(jobId: string, bytes: number): Buffer {
  const frame = event(jobId, ',"pad":""').length;
  return Buffer.from(event(jobId, `,"pad":"${"p".repeat(bytes - frame)}"`));
}

describe("bytes that a parser would change", () => {
  it.each([
    ["#19 a byte order mark", "job-19-bom", "\ufeff", "", ""],
    ["#19 an emoji", "job-19-emoji", "", ',"note":"🎬 déjà vu"', ""],
    ["#19 U+2028 and U+2029, raw and escaped", "job-19-2028", "", ',"a":"\u2028\u2029","b":"\\u2028"', ""],
    ["#19 CRLF", "job-19-crlf", "\r\n", ',\r\n"a":1\r\n', "\r\n"],
    ["#19 a trailing newline", "job-19-newline", "", "", "\n"],
    ["#19 escapes where none are needed", "job-19-escapes", "", ',"\\u0061":"\\/\\u00e9"', ""],
    ["#19 a lone surrogate, escaped", "job-19-surrogate", "", ',"a":"\\ud800"', ""],
    ["#19 composed and decomposed", "job-19-nfc", "", ',"a":"\u00e9 e\u0301"', ""],
    ["#26 unknown fields", "job-26-unknown", "", ',"jobId":"another","type":["x"],"__proto__":{"event":7}', ""],
    ["#26 nested 50 deep", "job-26-deep", "", `,"a":${"[".repeat(50)}0${"]".repeat(50)}`, ""],
    ["#26 1e20", "job-26-1e20", "", ',"scale":1e20,"zero":-0,"one":1.0', ""],
    ["#26 12345678901234567890", "job-26-digits", "", ',"seed":12345678901234567890', ""],
    ["#26 a field twice", "job-26-twice", "", ',"a":1,"a":2', ""],
    ["#26 900 KB of 1e20", "job-26-900kb", "", `,"a":[${"1e20,".repeat(184_319)}1e20]`, ""],
  ])("%s: accepted, consumers get the same bytes", async (_, jobId, before, rest, after) => {
    const sent = Buffer.from(before + event(jobId, rest) + after);
    expect(await kept(jobId, await sendSigned(stack, sent), sent)).toEqual(keptAll(sent));
  });

  it("the consumers finish their work on each of them", async () => {
    for (const jobId of ["job-19-bom", "job-19-surrogate", "job-26-deep", "job-26-unknown", "job-26-900kb"]) {
      const done = await until(`the consumers of ${jobId}`, async () => {
        const job = await stack.record(jobId);
        // The claim made above, to see the bytes, stays open.
        return job?.unfinished.join() === "caller" ? job : undefined;
      });
      const completed = done.claims.filter(({ status }) => status === "completed").map(({ consumer }) => consumer);
      expect(completed.toSorted()).toEqual(["artifact-archive", "job-index", "receiver", "scripted"]);
    }
  });
});

describe("#22 a body that is no event, signed", () => {
  it.each([
    ["invalid UTF-8", Buffer.concat([Buffer.from('{"job_id":"job-22","event":"'), Buffer.of(0xff), Buffer.from('"}')])],
    [
      "UTF-8 of a surrogate",
      Buffer.concat([Buffer.from('{"job_id":"'), Buffer.of(0xed, 0xa0, 0x80), Buffer.from('"}')]),
    ],
    ["UTF-16", Buffer.from(event("job-22"), "utf16le")],
    ["truncated JSON", event("job-22").slice(0, -1)],
    ["JSON and more", `${event("job-22")}{}`],
    ["two byte order marks", `\ufeff\ufeff${event("job-22")}`],
    ["a form", "job_id=job-22&event=job.completed"],
    ["nothing", ""],
    ["spaces", "  \n"],
    ["a byte order mark alone", "\ufeff"],
    ["null", "null"],
    ["[]", "[]"],
    ["a list of events", `[${event("job-22")}]`],
    ['"x"', '"x"'],
    ["a number", "22"],
  ])("%s: 400, nothing claimed", async (_, body) => {
    const before = await jobObjects(stack);
    const answer = await sendSigned(stack, body);
    expect(answer.status).toBe(400);
    expect(detailOf(answer)).toMatch(/\.$/);
    expect(await jobObjects(stack)).toEqual(before);
    expect(await stack.record("job-22")).toBeNull();
  });
});

describe("a field that is unusable, signed", () => {
  it.each([
    ["#23 job_id missing", "job_id", '{"event":"job.completed"}'],
    ["#23 job_id null", "job_id", '{"event":"job.completed","job_id":null}'],
    ["#23 job_id a number", "job_id", '{"event":"job.completed","job_id":23}'],
    ["#23 job_id a list", "job_id", '{"event":"job.completed","job_id":["job-23"]}'],
    ["#23 job_id empty", "job_id", '{"event":"job.completed","job_id":""}'],
    ["#23 job_id of 513 bytes", "job_id", event("j".repeat(513))],
    ["#23 job_id of 171 characters that are 513 bytes", "job_id", event("€".repeat(171))],
    ["#23 job_id with a lone surrogate", "job_id", '{"event":"job.completed","job_id":"job-23-\\ud800"}'],
    ["#23 job_id spelled otherwise", "job_id", '{"event":"job.completed","jobId":"job-23","JOB_ID":"job-23"}'],
    ["#24 event missing", "event", '{"job_id":"job-24"}'],
    ["#24 event null", "event", '{"job_id":"job-24","event":null}'],
    ["#24 event a number", "event", '{"job_id":"job-24","event":24}'],
    ["#24 event an object", "event", '{"job_id":"job-24","event":{"type":"job.completed"}}'],
    ["#24 event empty", "event", '{"job_id":"job-24","event":""}'],
    ["#24 event of 129 characters", "event", event("job-24", "", "e".repeat(129))],
  ])("%s: 400 naming the field, nothing claimed", async (_, field, body) => {
    const before = await jobObjects(stack);
    const answer = await sendSigned(stack, body);
    expect(answer.status).toBe(400);
    expect(detailOf(answer)).toMatch(new RegExp(`^${field} `));
    expect(await jobObjects(stack)).toEqual(before);
  });

  it.each([
    ["#23 job_id of 512 bytes", "j".repeat(512), "job.completed"],
    ["#23 job_id of 512 bytes in fewer characters", `${"€".repeat(170)}jj`, "job.completed"],
    ["#23 job_id of one byte", "j", "job.completed"],
    ["#23 job_id with a colon, a slash, quotes and spaces", 'a:b/c "d" é\n', "job.completed"],
    ["#24 event of 128 characters", "job-24-128", "e".repeat(128)],
    ["#24 event of a type that nobody knows", "job-24-type", "ünknown event"],
  ])("%s: accepted", async (_, jobId, type) => {
    const sent = Buffer.from(event(jobId, "", type));
    expect(await kept(jobId, await sendSigned(stack, sent), sent)).toEqual(keptAll(sent));
    expect((await stack.record(jobId))?.events).toMatchObject([{ type }]);
  });
});

describe("#25 a body at the limit and over it", () => {
  it.each([
    ["1 MiB", "job-25-at", {}],
    ["1 MiB in chunks, without content-length", "job-25-chunked", { chunks: 60_000 }],
  ])("%s: accepted", async (_, jobId, options) => {
    const sent = padded(jobId, MIB);
    expect(sent.length).toBe(MIB);
    expect(await kept(jobId, await sendSigned(stack, sent, options), sent)).toEqual(keptAll(sent));
  });

  it.each([
    ["one byte over", {}, {}],
    ["one byte over, in chunks", { chunks: 60_000 }, {}],
    // An HMAC would find the signature wrong, so a 413 comes before it.
    ["one byte over, forged", {}, { [SIGNATURE_HEADER]: FORGED }],
    ["one byte over, in chunks, forged", { chunks: 60_000 }, { [SIGNATURE_HEADER]: FORGED }],
    ["one byte over, unsigned", {}, { [SIGNATURE_HEADER]: undefined }],
  ])("%s: 413, nothing claimed", async (_, options, headers) => {
    const before = await jobObjects(stack);
    const body = padded("job-25-over", MIB + 1);
    const answer = await send(stack, body, { ...options, headers: { ...signature(body), ...headers } });
    expect(answer.status).toBe(413);
    expect(detailOf(answer)).toBe("The body must have at most 1048576 bytes.");
    expect(await jobObjects(stack)).toEqual(before);
    expect(await stack.record("job-25-over")).toBeNull();
  });
});

describe("#44 a Content-Encoding, signed over the bytes as sent", () => {
  it.each([
    ["gzip", gzipSync, "gzip"],
    ["br", brotliCompressSync, "br"],
    ["GZip", gzipSync, "gzip"],
    ["identity, gzip", gzipSync, "gzip"],
    ["zstd", asItIs, "zstd"],
    ["x".repeat(33), asItIs, "that was sent"],
  ])("%s: 415 naming it, nothing claimed", async (coding, encode, named) => {
    const before = await jobObjects(stack);
    const answer = await sendSigned(stack, encode(event("job-44")), { headers: { "content-encoding": coding } });
    expect(answer.status).toBe(415);
    expect(detailOf(answer)).toContain(`without the Content-Encoding ${named}:`);
    expect(answer.headers["accept-encoding"]).toBe("identity");
    expect(await jobObjects(stack)).toEqual(before);
  });

  it("gzip, over the limit and forged: 415, the body is not read", async () => {
    const headers = { "content-encoding": "gzip", [SIGNATURE_HEADER]: FORGED };
    expect((await send(stack, padded("job-44-over", MIB + 1), { headers })).status).toBe(415);
  });

  it.each([
    ["identity", "job-44-identity"],
    ["Identity , identity", "job-44-twice"],
    ["", "job-44-empty"],
  ])("%j: accepted", async (coding, jobId) => {
    const sent = Buffer.from(event(jobId));
    const answer = await sendSigned(stack, sent, { headers: { "content-encoding": coding } });
    expect(await kept(jobId, answer, sent)).toEqual(keptAll(sent));
  });
});

describe("#27 what is not a delivery, though signed", () => {
  it.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s on the path: 405 with Allow", async (method) => {
    const body = method === "GET" || method === "HEAD" ? "" : event("job-27");
    const answer = await send(stack, body, { method, headers: signature(body) });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("POST");
    expect(answer.headers.location).toBeUndefined();
    expect(await stack.record("job-27")).toBeNull();
  });

  it.each(["/", "/webhooks", "/webhooks/", "/webhooks/sume/", "/webhooks/sumer", "/Webhooks/Sume", "//webhooks/sume"])(
    "POST %s: 404, no redirect",
    async (path) => {
      const answer = await sendSigned(stack, event("job-27"), { path });
      expect(answer.status).toBe(404);
      expect(detailOf(answer)).toBe("Sume's webhooks are received at POST /webhooks/sume.");
      expect(answer.headers.location).toBeUndefined();
      expect(await stack.record("job-27")).toBeNull();
    },
  );

  it("POST with a query: accepted, for Sume sends to the URL it was given", async () => {
    const sent = Buffer.from(event("job-27-query"));
    expect(
      await kept("job-27-query", await sendSigned(stack, sent, { path: "/webhooks/sume?from=sume" }), sent),
    ).toEqual(keptAll(sent));
  });
});
