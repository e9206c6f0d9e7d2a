// Rows 4 to 15, 17 and 18 as a pure check, at exact times. The digests come from `openssl dgst -sha256 -hmac <secret>`
// over `<timestamp>.` and the body; the secrets are «current-secret» and «previous-secret».

import { describe, expect, it } from "vitest";
import { importKey, sign, signedPrefix } from "../../../receiver/src/hmac.ts";
import { checkSignature } from "../../../receiver/src/signature.ts";

const T = 1_700_000_000;
const BODY = '{"job_id":"job_a","event":"job.completed"}';
const HEX = "8b60cec3c5efeb6eef4b0d160adb17cf61bb13c56f25ffc9b8005f327f2e32bf";
const HEX_PREVIOUS = "73099e41980cf4dfdd4022bb14db42b09d7fd14acb90cb09b4a1924288d536ec";
const VALID = `sume-v1=${HEX}`;
const FORGED = `sume-v1=${"0".repeat(64)}`;

type Given = {
  timestamp?: string | null;
  signature?: string | null;
  body?: string | Uint8Array;
  secrets?: string[];
  now?: number;
  tolerance?: number;
};

async function check({
  timestamp = String(T),
  signature = VALID,
  body = BODY,
  secrets = ["current-secret"],
  now = T,
  tolerance = 600,
}: Given) {
  const keys = await Promise.all(secrets.map(importKey));
  const signed = signedBytes(timestamp ?? "", body);
  return await checkSignature({ timestamp, signature, signed }, keys, { nowSeconds: now, toleranceSeconds: tolerance });
}

function signedBytes(timestamp: string, body: string | Uint8Array): Uint8Array {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return new Uint8Array([...signedPrefix(timestamp), ...bytes]);
}

const accepted = { valid: true };
const refused = (reason: RegExp) => ({
  valid: false,
  outcome: "unauthorized",
  reason: expect.stringMatching(reason),
});
const tooOld = (seconds: number, most: number) => ({
  valid: false,
  outcome: "too_old",
  reason: `the timestamp is more than ${most} seconds old`,
  seconds,
});
const tooEarly = (seconds: number) => ({
  valid: false,
  outcome: "too_early",
  reason: "the timestamp is more than 300 seconds ahead",
  seconds,
});

describe("the timestamp", () => {
  it.each([
    ["now", T, 600, accepted],
    ["#4 600 s ago", T + 600, 600, accepted],
    ["#4 601 s ago", T + 601, 600, tooOld(601, 600)],
    ["#5 in 300 s", T - 300, 600, accepted],
    ["#5 in 301 s", T - 301, 600, tooEarly(301)],
    ["a year ago", T + 31_536_000, 600, tooOld(31_536_000, 600)],
    ["a tolerance of nothing: this second", T, 0, accepted],
    ["a tolerance of nothing: a second ago", T + 1, 0, tooOld(1, 0)],
    ["a tolerance of nothing: ahead it is another", T - 300, 0, accepted],
    ["a tolerance of an hour: 3,600 s ago", T + 3_600, 3_600, accepted],
    ["a tolerance of an hour: 3,601 s ago", T + 3_601, 3_600, tooOld(3_601, 3_600)],
    ["a tolerance of an hour: ahead it is another", T - 301, 3_600, tooEarly(301)],
  ])("%s", async (_, now, tolerance, outcome) => {
    expect(await check({ now, tolerance })).toEqual(outcome);
  });

  it.each([
    ["a year ago", T + 31_536_000],
    ["in a year", T - 31_536_000],
  ])("#4 #5 %s and forged: told as forged, whatever its age", async (_, now) => {
    expect(await check({ now, signature: FORGED })).toEqual(refused(/^no signature matches/));
    expect(await check({ now, signature: null })).toEqual(refused(/header is missing$/));
  });

  it.each([
    ["missing", null],
    ["empty", ""],
  ])("#3 %s: refused", async (_, timestamp) => {
    expect(await check({ timestamp })).toEqual(refused(/^the timestamp header is missing$/));
  });

  it.each([
    ["#7", "1700000000000", "df64e38cf0b83f49236fec8d6aa5b6b3bc4259a8a468b78b36a7c2d2415a9f74"],
    ["#7", "1.5", "bd6322c59c1542acf8628b45da6e0ad780b14bb2c0520c3b48cd5a75b1e0c870"],
    ["#7", "-1", "66f023fb014af7378a26446355a6abae71ee0ec3dbfeceb7517b729812ad8df4"],
    ["#7", "+1", "2ab2122e3661b6786f763a60fa6ac37cc8f1c8962737dd8f3d3403fb6b874b02"],
    ["#7", "1e9", "835fdb1eceaae381548da5edf11dd36b061cbdeb288a88ff0109b96da5f70292"],
    ["#7", "0x10", "cb5f772dbc8699332023316547d5ce2a923c8a23d794c09638507e6e291581bd"],
    ["#7", "NaN", "4159fa012e9dd94f80f5697e15bc7f2b48a957ed5f425704d2cfe325429d97ea"],
    ["#7", " 1700000000", "b6744a61004c9a266ab6fe436c25d5989f5a3b4aff4ac018c1182eec97879e59"],
    ["#7", "1700000000abc", "c929e2d1d2f1923f49daf657e9a2f86c57bbf203ea81b37475b7f156f8ced8cf"],
  ])("%s %j, signed as sent: refused", async (_, timestamp, hex) => {
    const form = refused(/^the timestamp header is not a number of unix seconds$/);
    expect(await check({ timestamp, signature: `sume-v1=${hex}` })).toEqual(form);
    // For its form, not its distance: a clock that stands where a lenient parser would put it makes no difference.
    expect(await check({ timestamp, signature: `sume-v1=${hex}`, now: Number.parseFloat(timestamp) || 0 })).toEqual(
      form,
    );
  });
});

describe("the signature's entries", () => {
  it.each([
    ["one", VALID],
    ["#8 the valid one first", `${VALID},${FORGED},${FORGED}`],
    ["#8 the valid one in the middle", `${FORGED},${VALID},${FORGED}`],
    ["#8 the valid one last", `${FORGED},${FORGED},${VALID}`],
    ["#9 separated by a comma and a space", `${FORGED}, ${VALID}`],
    ["#9 separated by a comma", `${FORGED},${VALID}`],
    ["#10 a sume-v2 before it", `sume-v2=${"a".repeat(64)},${VALID}`],
    ["#10 a sume-v2 after it", `${VALID},sume-v2=abc`],
    ["#12 an entry without digits", `sume-v1=,${VALID}`],
    ["#12 an entry of 63 digits", `sume-v1=${"0".repeat(63)},${VALID}`],
    ["#12 an entry that is not hex", `sume-v1=${"z".repeat(64)},${VALID}`],
    ["#12 entries that are empty", `,, ,${VALID},`],
    ["#12 an entry of 72 characters that is not one", `${"x".repeat(72)},${VALID}`],
    ["#9 spaces around it", `  ${VALID}  `],
    ["#9 a tab after the comma", `${FORGED},\t${VALID}`],
    ["#12 what is no entry", `\u00e9 = "x;",${VALID}`],
    ["30 that match nothing, then the valid one", `${`${FORGED},`.repeat(30)}${VALID}`],
    ["30 that are no entries, then the valid one", `${"sume-v1=zz,".repeat(30)}${VALID}`],
  ])("%s: accepted", async (_, signature) => {
    expect(await check({ signature })).toEqual(accepted);
  });

  it.each([
    ["#2 none", null, /header is missing$/],
    ["#2 an empty one", "", /header is missing$/],
    ["#11 only a sume-v2", `sume-v2=${HEX}`, /holds no entry/],
    ["#11 only the bare digits", HEX, /holds no entry/],
    ["#11 only v1=", `v1=${HEX}`, /holds no entry/],
    ["#13 63 digits", VALID.slice(0, -1), /holds no entry/],
    ["#13 65 digits", `${VALID}0`, /holds no entry/],
    ["#13 a digit that is not hex", `${VALID.slice(0, -1)}g`, /holds no entry/],
    ["#13 not ASCII", `${VALID.slice(0, -1)}\u00e9`, /holds no entry/],
    ["#13 64 characters that are 65 bytes", `${VALID.slice(0, -1)}\u0661`, /holds no entry/],
    ["#13 full-width digits", `sume-v1=${"\uff11".repeat(64)}`, /holds no entry/],
    ["#13 a space within", `sume-v1=${HEX.slice(0, 32)} ${HEX.slice(32)}`, /holds no entry/],
    [
      "#13 a space within, beside one that matches nothing",
      `${FORGED},sume-v1=${HEX.slice(0, 32)} ${HEX.slice(32)}`,
      /^no/,
    ],
    ["#13 an entry of 72 characters and no more", "x".repeat(72), /holds no entry/],
    ["#13 a newline after the digits", `${VALID}\nx`, /holds no entry/],
    ["#14 upper-case digits", `sume-v1=${HEX.toUpperCase()}`, /holds no entry/],
    ["#14 an upper-case version", `SUME-V1=${HEX}`, /holds no entry/],
    ["one digit changed", `sume-v1=9${HEX.slice(1)}`, /^no signature matches/],
    ["the last digit changed", `sume-v1=${HEX.slice(0, -1)}e`, /^no signature matches/],
    ["30 that match nothing", Array.from({ length: 30 }, () => FORGED).join(","), /^no signature matches/],
    ["30 that are no entries", "sume-v1=zz,".repeat(30), /holds no entry/],
  ])("%s: refused", async (_, signature, reason) => {
    expect(await check({ signature })).toEqual(refused(reason));
  });
});

describe("#15 the secrets", () => {
  const both = ["current-secret", "previous-secret"];
  const previous = `sume-v1=${HEX_PREVIOUS}`;
  const mismatch = refused(/^no signature matches/);

  it.each([
    ["the current of two", both, VALID, accepted],
    ["the previous of two", both, previous, accepted],
    ["both of two", both, `${previous},${VALID}`, accepted],
    ["the previous, which is gone", ["current-secret"], previous, mismatch],
    ["the current, which is gone", ["previous-secret"], VALID, mismatch],
    ["one with a newline at its end", ["current-secret\n"], VALID, mismatch],
    ["none configured", [], VALID, mismatch],
    ["one beyond ASCII", ["clé"], "sume-v1=9c08d35057ca381bd30c21164cf719d819513e17b545ff54aff5a59ad7f2be20", accepted],
  ])("signed with %s", async (_, secrets, signature, outcome) => {
    expect(await check({ secrets, signature })).toEqual(outcome);
  });

  it("are imported once each", async () => {
    expect(await importKey("current-secret")).toBe(await importKey("current-secret"));
    expect(await importKey("current-secret")).not.toBe(await importKey("previous-secret"));
  });
});

describe("what was signed", () => {
  it.each([
    ["#17 one byte of the body flipped", { body: '{"job_id":"job_b","event":"job.completed"}' }],
    ["#17 the same JSON with a space", { body: '{"job_id": "job_a","event":"job.completed"}' }],
    ["#17 the same JSON in another order", { body: '{"event":"job.completed","job_id":"job_a"}' }],
    ["#17 a newline after it", { body: `${BODY}\n` }],
    ["#17 a byte order mark before it", { body: `\ufeff${BODY}` }],
    ["#17 nothing", { body: "" }],
    ["#18 another timestamp", { timestamp: "1700000001" }],
    ["#18 a zero before the timestamp", { timestamp: "01700000000" }],
  ])("%s: refused", async (_, given) => {
    expect(await check(given)).toEqual(refused(/^no signature matches/));
  });

  it.each([
    ["a byte order mark", `\ufeff${BODY}`, "b85b111646a58c762a2e33741da616d52fd555b0dbd5c8d33fad647c05543108"],
    [
      "an emoji, U+2028, CRLF",
      '{"a":"🎬\u2028"}\r\n',
      "c66546e5894535ad76f22873ee29decaf1328aab7cb93365999655ac591af309",
    ],
    [
      "bytes that are not UTF-8",
      Uint8Array.of(0xff, 0, 0xfe),
      "4637280f2b716924e028a5b41aebd037d6facd6527a490a5594e8704755b60c6",
    ],
    ["nothing", "", "6ca87b963d3270e28c3e5699d2461f6c33ed246706ca1ec932f5c49d51a9c07a"],
  ])("the bytes as they are: %s", async (_, body, hex) => {
    expect(await check({ body, signature: `sume-v1=${hex}` })).toEqual(accepted);
  });

  it("`sign` is HMAC-SHA256 over the timestamp, a dot and the body", async () => {
    expect(await sign(await importKey("current-secret"), signedBytes(String(T), BODY))).toBe(HEX);
  });
});
