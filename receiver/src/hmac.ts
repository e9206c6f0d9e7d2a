// HMAC-SHA256 over Sume's signed bytes, and the import of secrets, once per isolate.

const encoder = new TextEncoder();
const keys = new Map<string, CryptoKey>();

/** The key of a secret. A rotated secret's key stays until the isolate ends: there are a handful in an isolate's life. */
export async function importKey(secret: string): Promise<CryptoKey> {
  const known = keys.get(secret);
  if (known !== undefined) return known;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  keys.set(secret, key);
  return key;
}

/** What Sume signs before the body's bytes. */
export function signedPrefix(timestamp: string): Uint8Array {
  return encoder.encode(`${timestamp}.`);
}

/** The signature of those bytes, as lower-case hex. */
export async function sign(key: CryptoKey, signed: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)).toHex();
}
