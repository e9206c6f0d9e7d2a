// The errors that a consumer's work throws or is handed, and how the client tells kinds of failure apart.

import type { LedgerErrorCode } from "../contract/index.ts";

/** Thrown by work that will fail again however often it is tried: the job is released as permanently failed. */
export class NonRetryableError extends Error {
  override name = "NonRetryableError";
}

/** The reason of an aborted `job.signal`: the claim is no longer this holder's, what it still does another does too. */
export class ClaimLostError extends Error {
  override name = "ClaimLostError";
}

/** An invocation has no call left for what was to be done; its message is for another one. */
export class CallsUsedUpError extends Error {
  override name = "CallsUsedUpError";
}

/** Also by name, so that a class of that name from another copy of this package, or from Workflows, counts as well. */
export function isNonRetryable(error: unknown): boolean {
  try {
    return error instanceof NonRetryableError || (error instanceof Error && error.name === "NonRetryableError");
  } catch {
    return false;
  }
}

/** Calling again would be one more to the load; the platform marks its errors so. */
export function isOverloaded(error: unknown): boolean {
  return error instanceof Error && "overloaded" in error && error.overloaded === true;
}

const REFUSALS: readonly LedgerErrorCode[] = ["invalid_argument", "invalid_props", "too_large", "invalid_setting"];
const FINAL: readonly LedgerErrorCode[] = ["invalid_argument", "too_large"];

/** The ledger refused the call: the same call would be refused again, until somebody mends what is wrong. */
export function isRefusal(error: unknown): boolean {
  return hasCode(error, REFUSALS);
}

/** The ledger refused what the caller brought. Of other refusals a setting is the cause, and a deploy mends it. */
export function isFinal(error: unknown): boolean {
  return hasCode(error, FINAL);
}

/** Errors of other origin may carry a `code` as well. */
function hasCode(error: unknown, codes: readonly LedgerErrorCode[]): boolean {
  return error instanceof Error && "code" in error && codes.some((code) => code === error.code);
}

/** The text kept in the ledger for a failure. */
export function errorText(error: unknown): string {
  try {
    if (error instanceof Error) return `${error.name}: ${error.message}`;
    // Of a thrown object nothing is known, not even that it can be turned into text.
    return typeof error === "object" && error !== null ? "a thrown object" : String(error);
  } catch {
    // What is thrown may run code of its own when it is looked at.
    return "an error whose text cannot be made";
  }
}
