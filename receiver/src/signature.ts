// Sume's webhook signature: a pure check of two headers and the raw bytes against the live secrets, at a given time. Header
// forms and the signed bytes are those of Sume's documentation (design, section 6).

import { sign } from "./hmac.ts";

export type SignatureCheck = { valid: true } | { valid: false; reason: string };

export type SignedRequest = {
  /** `x-sume-webhook-timestamp`: unix seconds, digits only. */
  timestamp: string | null;
  /** `x-sume-webhook-signature`: entries `sume-v1=<64 lower-case hex>`, comma-separated, one per secret live at Sume. */
  signature: string | null;
  body: Uint8Array;
};

const ENTRY = /^sume-v1=([0-9a-f]{64})$/;
/** Digits; enough for any second that a tolerance could reach, few enough to be exact as a number. */
const TIMESTAMP = /^\d{1,12}$/;

/**
 * Valid when one entry matches one of `keys` and the timestamp is within `toleranceSeconds` of `nowSeconds`, either way.
 * Entries of another form or version are passed over. Each key signs the body once, however many entries there are.
 */
export async function checkSignature(
  { timestamp, signature, body }: SignedRequest,
  keys: readonly CryptoKey[],
  { nowSeconds, toleranceSeconds }: { nowSeconds: number; toleranceSeconds: number },
): Promise<SignatureCheck> {
  if (timestamp === null || timestamp === "") return invalid("the timestamp header is missing");
  if (!TIMESTAMP.test(timestamp)) return invalid("the timestamp header is not a number of unix seconds");
  if (Math.abs(nowSeconds - Number(timestamp)) > toleranceSeconds) {
    return invalid(`the timestamp is more than ${toleranceSeconds} seconds away from now`);
  }
  if (signature === null || signature === "") return invalid("the signature header is missing");
  const candidates = signature
    .split(",")
    .map((entry) => ENTRY.exec(entry.trim())?.[1])
    .filter((hex) => hex !== undefined)
    .map((hex) => Uint8Array.fromHex(hex));
  if (candidates.length === 0) return invalid("the signature header holds no entry sume-v1=<64 lower-case hex digits>");

  for (const key of keys) {
    const expected = await sign(key, timestamp, body);
    if (candidates.some((candidate) => crypto.subtle.timingSafeEqual(candidate, expected))) return { valid: true };
  }
  return invalid("no signature matches the body and the timestamp");
}

function invalid(reason: string): SignatureCheck {
  return { valid: false, reason };
}
