// The client's log lines. They say which jobs and what became of them, never why in words: an error's message may
// quote what is secret, and stands in the record for whoever may inspect it.

import { errorName, identify, type LedgerBinding, log, type LogLine, UNKNOWN, withTimeout } from "../contract/index.ts";
import type { RunOutcome } from "./job.ts";

/** What became of a message's job: what `runOnce` answered, or the error for which no claim could be made. */
export type Ran = RunOutcome | { outcome: "error"; error: unknown };
/** A line without the names of who writes it. */
type Line = { event: string; outcome: string; [detail: string]: LogLine[string] };
/** Writes the line in the name of the binding. */
export type Tell = (line: Line, level?: "info" | "error") => Promise<void>;

/** Milliseconds; the log line is not worth more waiting than this. */
const IDENTIFY_WITHIN_MS = 1_000;

/** The binding is asked who it is when there is something to say, and once. */
export function teller(ledger: LedgerBinding): Tell {
  let asked: ReturnType<typeof identify> | undefined;
  return async (line, level) => {
    asked ??= withTimeout(identify(ledger), IDENTIFY_WITHIN_MS).catch(() => UNKNOWN);
    const { namespace, consumer } = await asked;
    log({ worker: consumer, namespace, consumer, ...line }, level);
  };
}

export function consumeLine(jobId: string, messageId: string, ran: Ran): Line {
  return {
    event: "consume",
    outcome: ran.outcome,
    jobId,
    attempt: "attempt" in ran ? ran.attempt : undefined,
    messageId,
    error: ran.outcome === "error" ? nameOf(ran.error) : undefined,
  };
}

/** An error may throw another when its name is read. */
function nameOf(error: unknown): string {
  try {
    return errorName(error);
  } catch {
    return "nameless";
  }
}

/**
 * Errors are what does not heal by itself: a claim given up, whichever way that came about, and a job that is not
 * there.
 */
export function levelOf({ outcome }: Ran): "info" | "error" {
  switch (outcome) {
    case "gave_up":
    case "failed":
    case "unknown":
    case "error":
      return "error";
    case "done":
    case "completed":
    case "released":
    case "lost":
    case "unsettled":
    case "in_progress":
    case "deferred":
      return "info";
    default:
      return outcome satisfies never;
  }
}
