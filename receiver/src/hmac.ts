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

/** The signature of `<timestamp>.` followed by the body's bytes. */
export async function sign(key: CryptoKey, timestamp: string, body: Uint8Array): Promise<ArrayBuffer> {
  const prefix = encoder.encode(`${timestamp}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  return await crypto.subtle.sign("HMAC", key, signed);
}
