// Verification of one body over and over, without any request or call. It is done by the receiver's own code, by the
// platform's verify, and by the `standardwebhooks` package. Clocks stand still in a Worker while it computes, so the
// time is taken outside.

import { Webhook } from "standardwebhooks";
import { importKey, sign, signedPrefix } from "../../../../../../receiver/src/hmac.ts";
import { checkSignature } from "../../../../../../receiver/src/signature.ts";
import type { VerifyRun } from "./calls.ts";

type Verify = () => Promise<string>;

const TIMESTAMP = "1800000000";
const now = { nowSeconds: Number(TIMESTAMP), toleranceSeconds: 300 };
const ID = "msg_bench";

export async function verifyOf({ variant, bytes = 1_000, ...run }: VerifyRun): Promise<Verify> {
  const body = new Uint8Array(bytes).fill(120);
  switch (variant) {
    case "verify":
      return await receiver(body, run);
    case "verify bare":
      return await bare(body);
    case "verify standardwebhooks":
      return standardWebhooks(body);
    default:
      return variant satisfies never;
  }
}

/** As the receiver's reading of a body leaves them. */
function signedBytes(body: Uint8Array): Uint8Array {
  const prefix = signedPrefix(TIMESTAMP);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  return signed;
}

async function receiver(
  body: Uint8Array,
  { secrets = 1, entries = 1, forged = false }: Pick<VerifyRun, "secrets" | "entries" | "forged">,
): Promise<Verify> {
  const keys = await Promise.all(Array.from({ length: secrets }, (_, index) => importKey(`secret ${index}`)));
  const last = keys.at(-1);
  if (last === undefined) throw new RangeError("at least one secret");
  const signed = signedBytes(body);
  const right = await sign(last, signed);
  const signature = Array.from({ length: entries }, (_, index) =>
    index === entries - 1 && !forged ? right : index.toString(16).padStart(64, "0"),
  );
  const request = { timestamp: TIMESTAMP, signature: signature.map((hex) => `sume-v1=${hex}`).join(","), signed };
  return async () => ((await checkSignature(request, keys, now)).valid ? "valid" : "invalid");
}

async function bare(body: Uint8Array): Promise<Verify> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const secret = new TextEncoder().encode("secret 0");
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign", "verify"]);
  const signed = signedBytes(body);
  const signature = await crypto.subtle.sign("HMAC", key, signed);
  return async () => ((await crypto.subtle.verify("HMAC", key, signature, signed)) ? "valid" : "invalid");
}

/** Its verify refuses old timestamps by the clock, so it signs with the present one. */
function standardWebhooks(body: Uint8Array): Verify {
  const webhook = new Webhook(btoa("secret 0"));
  const text = new TextDecoder().decode(body);
  const at = new Date();
  const headers = {
    "webhook-id": ID,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": webhook.sign(ID, at, text),
  };
  return async () => {
    webhook.verify(text, headers, { jsonParse: false });
    return "valid";
  };
}
