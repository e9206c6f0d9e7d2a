// The receiver's configuration, read from its environment: secrets, tolerance, and the queues to dispatch to.

import { type JobMessage, MAX_DISPATCHED_TO, Name, SettingsError } from "job-ledger/contract";
import * as v from "valibot";

/**
 * Sume's tenth attempt begins up to 360 s after the first: 9 attempts of 10 s, 9 delays of 30 s. It is not documented
 * whether it is signed anew. The rest is for clocks that differ.
 */
const DEFAULT_TOLERANCE_SECONDS = 600;
const DISPATCH_PREFIX = "DISPATCH_";

export type SignatureSettings = {
  /** Live secrets, newest first; at least one. */
  secrets: readonly string[];
  /** How old a delivery's timestamp may be; `signature.ts` says how far ahead. */
  toleranceSeconds: number;
};

export type JobQueue = Pick<Queue<JobMessage>, "send">;
/** By consumer name. */
export type DispatchQueues = ReadonlyMap<string, JobQueue>;

/** @throws {SettingsError} without a usable secret, or with a malformed tolerance. */
export function readSignatureSettings(env: Record<string, unknown>): SignatureSettings {
  const secrets = [env.SUME_WEBHOOK_SECRET, env.SUME_WEBHOOK_SECRET_PREVIOUS].filter(isUsableSecret);
  if (secrets.length === 0) {
    throw new SettingsError(
      "set the secret SUME_WEBHOOK_SECRET (wrangler secret put) to Sume's webhook signing secret",
    );
  }
  const set = env.TIMESTAMP_TOLERANCE_SECONDS ?? "";
  const tolerance = typeof set === "string" ? set.trim() : set;
  const toleranceSeconds = tolerance === "" ? DEFAULT_TOLERANCE_SECONDS : Number(tolerance);
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0) {
    throw new SettingsError("TIMESTAMP_TOLERANCE_SECONDS must be a number of seconds, such as 600");
  }
  return { secrets, toleranceSeconds };
}

/**
 * Every queue producer bound as `DISPATCH_<CONSUMER>`, under the consumer's name: DISPATCH_ARTIFACT_ARCHIVE is
 * `artifact-archive`. The name decides; what a binding is cannot be seen from its properties.
 * @throws {SettingsError} if there is none, if one is malformed, or if the ledger takes no job dispatched to so many.
 */
export function readDispatchQueues(env: Record<string, unknown>): DispatchQueues {
  const queues = new Map<string, JobQueue>();
  for (const [name, binding] of Object.entries(env)) {
    if (!name.startsWith(DISPATCH_PREFIX)) continue;
    if (!isQueue(binding)) {
      throw new SettingsError(
        `${name} must be a queue producer: list it under "queues.producers" in the wrangler config`,
      );
    }
    const consumer = name.slice(DISPATCH_PREFIX.length).toLowerCase().replaceAll("_", "-");
    if (!v.is(Name, consumer))
      throw new SettingsError(`${name} must name a consumer: [a-z0-9-]{1,64}, dashes as underscores`);
    if (queues.has(consumer)) throw new SettingsError(`${name} names the consumer ${consumer} a second time`);
    queues.set(consumer, binding);
  }
  if (queues.size > MAX_DISPATCHED_TO) {
    throw new SettingsError(
      `bind at most ${MAX_DISPATCHED_TO} queue producers as DISPATCH_<CONSUMER>: there are ${queues.size}`,
    );
  }
  if (queues.size === 0) {
    throw new SettingsError('bind at least one queue producer as DISPATCH_<CONSUMER> under "queues.producers"');
  }
  return queues;
}

function isUsableSecret(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** Rules out variables. More cannot be told: every property of a service binding looks like a function. */
function isQueue(binding: unknown): binding is JobQueue {
  return typeof binding === "object" && binding !== null;
}
