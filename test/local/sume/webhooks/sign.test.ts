import { describe, expect, it } from "vitest";
import { sign, signatureHeader, signedHeaders } from "./sign.ts";

// The digests come from `openssl dgst -sha256 -hmac <secret>` over the same bytes.
const EVENT = '{"job_id":"job_a","event":"job.completed"}';
const BY_DEV = "6cb209d6515ad46de60bce715677beb023bbb7e661fa743908a01ef5ff077053";
const BY_OTHER = "7982baae13ad3e6262767118b44ec4a36205cce4b20f93e8c060eb7c69cc3355";

describe("sign", () => {
  it.each([
    ["an event", "sume-dev-secret", 1700000000, EVENT, BY_DEV],
    ["another secret", "another-secret", 1700000000, EVENT, BY_OTHER],
    [
      "an empty body",
      "sume-dev-secret",
      1700000000,
      "",
      "f926d8da55fcbf9ec9dd9be1483d250d84d96631c7e6e5b260e7f5977f2b5749",
    ],
    [
      "a BOM, an emoji, CRLF, a secret beyond ASCII",
      "clé",
      1700000000,
      '\ufeff{"note":"🎬"}\r\n',
      "1ae12e34d53be94617c369022c2024930e9b7da6a772191be11c5f849990ff32",
    ],
    [
      "bytes that are not UTF-8",
      "sume-dev-secret",
      1700000000,
      Uint8Array.of(0xff, 0, 0xfe),
      "0b7ba75da596baa6ee960de9d38f72dba292d935b26e3a64ec65068e29151a7f",
    ],
    [
      "a malformed timestamp as given",
      "sume-dev-secret",
      " 1.5",
      "{}",
      "de127136161c49cbda798ccdee8d7f5d62c53bf8d903d151e8b2e75464b6748b",
    ],
    ["an empty secret", "", 1700000000, "{}", "a9dc44c8eda3de70e9cbf3e488895f1abc26acb1461d3124a3cb886af35251cf"],
  ])("signs %s", (_, secret, timestamp, body, digest) => {
    expect(sign(secret, timestamp, body)).toBe(`sume-v1=${digest}`);
  });
});

describe("signatureHeader", () => {
  it("has one entry for each secret, in the order given", () => {
    expect(signatureHeader(["another-secret", "sume-dev-secret"], 1700000000, EVENT)).toBe(
      `sume-v1=${BY_OTHER},sume-v1=${BY_DEV}`,
    );
  });

  it("refuses to send without a secret", () => {
    expect(() => signatureHeader([], 1700000000, EVENT)).toThrow(TypeError);
  });
});

describe("signedHeaders", () => {
  it("names the two headers", () => {
    expect(signedHeaders(["sume-dev-secret"], 1700000000, EVENT)).toEqual({
      "x-sume-webhook-timestamp": "1700000000",
      "x-sume-webhook-signature": `sume-v1=${BY_DEV}`,
    });
  });
});
