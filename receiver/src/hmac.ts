// HMAC-SHA256 over the bytes that Sume signs. Each secret is imported once per isolate.

const encoder = new TextEncoder();
const keys = new Map<string, CryptoKey>();

/** The key of a secret. The key of a retired secret stays until the isolate ends, for an isolate meets few secrets. */
export async function importKey(secret: string): Promise<CryptoKey> {
  const known = keys.get(secret);
  if (known !== undefined) return known;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  keys.set(secret, key);
  return key;
}

/** The bytes that Sume signs before the body's. */
export function signedPrefix(timestamp: string): Uint8Array {
  return encoder.encode(`${timestamp}.`);
}

/** The signature of those bytes, as lower-case hex. */
export async function sign(key: CryptoKey, signed: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)).toHex();
}
