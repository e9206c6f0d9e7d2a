// The signature of a Sume webhook, from Sume's side.
// Called by the delivery (deliver.ts) and by tests that build a request by hand.
// Leaves out verification: that is the receiver's, and tests must not share code with what they test.

import { createHmac } from "node:crypto";

/** Carries the unix second that was signed. */
export const TIMESTAMP_HEADER = "x-sume-webhook-timestamp";
/** Carries the comma-separated signature entries. */
export const SIGNATURE_HEADER = "x-sume-webhook-signature";

/**
 * One signature entry: `sume-v1=` and 64 lower-case hex digits, the HMAC-SHA256 over `<timestamp>.` and the raw body.
 *
 * @param secret the key, as UTF-8. An empty one is accepted: tests forge with it.
 * @param timestamp unix seconds. A string is signed exactly as given, so that a test can sign a malformed one.
 * @param body the bytes as they are sent; a string stands for its UTF-8 bytes.
 */
export function sign(secret: string, timestamp: number | string, body: Uint8Array | string): string {
  const digest = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
  return `sume-v1=${digest}`;
}

/**
 * The value of the signature header: one entry for each live secret, in the order given (newest first).
 *
 * @throws TypeError when there is no secret: Sume never sends an unsigned webhook.
 */
export function signatureHeader(
  secrets: readonly string[],
  timestamp: number | string,
  body: Uint8Array | string,
): string {
  if (secrets.length === 0) throw new TypeError("sume: signing needs at least one secret");
  return secrets.map((secret) => sign(secret, timestamp, body)).join(",");
}

/**
 * Both headers of a signed webhook, ready for `fetch`.
 *
 * @throws TypeError as {@link signatureHeader} does.
 */
export function signedHeaders(
  secrets: readonly string[],
  timestamp: number | string,
  body: Uint8Array | string,
): Record<string, string> {
  return {
    [TIMESTAMP_HEADER]: `${timestamp}`,
    [SIGNATURE_HEADER]: signatureHeader(secrets, timestamp, body),
  };
}
