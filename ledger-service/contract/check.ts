// How a value from outside is held to its schema, and how its mistake is told: the name and what it must be, never what it was.

import * as v from "valibot";
import { LedgerError } from "./errors.ts";

/**
 * Checks arguments that crossed the RPC boundary.
 * @throws {LedgerError} `too_large` over a size limit, else `invalid_argument`; the message names the argument and what it
 *   must be, and never repeats what it was: arguments may be secret.
 */
export function checked<S extends v.GenericSchema>(verb: string, schema: S, input: unknown): v.InferOutput<S> {
  const parsed = v.safeParse(schema, input, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const code = issue.type === "max_bytes" || issue.type === "max_length" ? "too_large" : "invalid_argument";
  throw new LedgerError(code, `${verb}: ${v.getDotPath(issue) ?? "arguments"} ${describeIssue(issue)}`);
}

/** What the value at fault must be, to follow its name; never what it was. */
export function describeIssue(issue: v.BaseIssue<unknown>): string {
  if (issue.received === "undefined") return "is missing";
  switch (issue.type) {
    case "max_bytes":
      return `must have at most ${String(issue.requirement)} bytes of UTF-8`;
    case "max_length":
      return `must have a length of at most ${String(issue.requirement)}`;
    case "min_length":
      return "must not be empty";
    case "integer":
      return "must be a whole number";
    case "check":
    case "regex":
    case "raw_transform":
      return issue.message;
    case "strict_object":
      return issue.expected === "never" ? "is not an argument of this call" : "must be an object";
    default:
      return `must be ${issue.expected ?? "valid"}`;
  }
}
