// Checks Sume's webhook signature: two headers and the raw bytes, against the live secrets, at a given time. Pure. The
// forms of the headers and the signed bytes are those that Sume documents.

import { sign } from "./hmac.ts";

const encoder = new TextEncoder();

export type SignatureCheck =
  | { valid: true }
  /** Forged, malformed, or signed with a secret that is not live. */
  | { valid: false; outcome: "unauthorized"; reason: string }
  /** Signed with a live secret, and refused for its age alone. `seconds`: between its timestamp and now. */
  | { valid: false; outcome: "too_old" | "too_early"; reason: string; seconds: number };

export type SignedRequest = {
  /** `x-sume-webhook-timestamp`: unix seconds, digits only. */
  timestamp: string | null;
  /**
   * `x-sume-webhook-signature`: entries `sume-v1=<64 lower-case hex>`, comma-separated, one per secret live at Sume.
   */
  signature: string | null;
  /** `signedPrefix` of the timestamp, and the body's bytes. */
  signed: Uint8Array;
};

const VERSION = "sume-v1=";
const ENTRY_LENGTH = 72;
const HAS_ENTRY = /(^|,)\s*sume-v1=[0-9a-f]{64}\s*(,|$)/;
/** 12 digits hold any second that a tolerance could reach, and are exact as a number. */
const TIMESTAMP = /^\d{1,12}$/;

/** How far ahead of now a timestamp may be: Sume signs before it sends, so only clocks that differ explain it. */
const MAX_AHEAD_SECONDS = 300;

/**
 * Valid if one entry matches one of `keys`, and the timestamp is at most `toleranceSeconds` old and not far ahead. The
 * signature is checked whatever the age, to tell a late delivery from a forged one. Entries of another form or version
 * are passed over. Each key signs the body once, however many entries there are.
 */
export async function checkSignature(
  { timestamp, signature, signed }: SignedRequest,
  keys: readonly CryptoKey[],
  { nowSeconds, toleranceSeconds }: { nowSeconds: number; toleranceSeconds: number },
): Promise<SignatureCheck> {
  if (timestamp === null || timestamp === "") return invalid("the timestamp header is missing");
  if (!TIMESTAMP.test(timestamp)) return invalid("the timestamp header is not a number of unix seconds");
  if (signature === null || signature === "") return invalid("the signature header is missing");
  const candidates = startsOfEntries(signature);
  const header = asciiBytes(signature);
  for (const key of candidates.length === 0 ? [] : keys) {
    const expected = encoder.encode(VERSION + (await sign(key, signed)));
    if (candidates.some((start) => isSame(header, start, expected))) {
      return checkAge(nowSeconds - Number(timestamp), toleranceSeconds);
    }
  }
  return invalid(
    HAS_ENTRY.test(signature)
      ? "no signature matches the body and the timestamp"
      : "the signature header holds no entry sume-v1=<64 lower-case hex digits>",
  );
}

function checkAge(seconds: number, toleranceSeconds: number): SignatureCheck {
  if (seconds > toleranceSeconds) {
    const reason = `the timestamp is more than ${toleranceSeconds} seconds old`;
    return { valid: false, outcome: "too_old", reason, seconds };
  }
  if (seconds < -MAX_AHEAD_SECONDS) {
    const reason = `the timestamp is more than ${MAX_AHEAD_SECONDS} seconds ahead`;
    return { valid: false, outcome: "too_early", reason, seconds: -seconds };
  }
  return { valid: true };
}

/** The positions at which entries of the right length begin. */
function startsOfEntries(header: string): number[] {
  const starts: number[] = [];
  let position = 0;
  for (const entry of header.split(",")) {
    const text = entry.trim();
    if (text.length === ENTRY_LENGTH) starts.push(position + (text === entry ? 0 : entry.indexOf(text)));
    position += entry.length + 1;
  }
  return starts;
}

/** One byte for each character. A character that is not ASCII is in no entry that could match. */
function asciiBytes(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  return bytes.length === text.length ? bytes : encoder.encode(text.replaceAll(/[^ -~]/g, "?"));
}

/**
 * Whether `expected` stands at `start`. The time it takes does not depend on where they differ. A call of
 * `timingSafeEqual` would take longer than the comparison, and anybody may send a header full of entries.
 */
function isSame(header: Uint8Array, start: number, expected: Uint8Array): boolean {
  let difference = 0;
  for (let index = 0; index < ENTRY_LENGTH; index++) {
    difference |= (header[start + index] ?? 0) ^ (expected[index] ?? 0);
  }
  return difference === 0;
}

function invalid(reason: string): SignatureCheck {
  return { valid: false, outcome: "unauthorized", reason };
}
