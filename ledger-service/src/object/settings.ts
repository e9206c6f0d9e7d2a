// The ledger service's variables, read and checked.

import { DAY_MS, LedgerError } from "../../contract/index.ts";
import type { Settings } from "../job/schedule.ts";

const DEFAULT_RETENTION_DAYS = 30;
/** Longer than a delivery's ten attempts (about five minutes) and a consumer's first few; short enough to be of use. */
const DEFAULT_WATCH_AFTER_MINUTES = 15;
/**
 * The queue's own message comes first, within seconds, or minutes behind a backlog. An alert before it would add a second
 * message that lives on by itself, and an outage would multiply them.
 */
const DEFAULT_WATCH_GRACE_MINUTES = 5;
const MINUTE_MS = 60_000;
/** A century. An alarm cannot be set for ever ahead; who wants that sets 0. */
const MAX_RETENTION_DAYS = 36_500;
/** A day: the watch's longest pause. */
const MAX_WATCH_MINUTES = 1_440;

/** @throws {LedgerError} `invalid_setting`, naming the variable. */
export function readSettings(env: {
  RETENTION_DAYS?: string | number;
  WATCH_AFTER_MINUTES?: string | number;
  WATCH_GRACE_MINUTES?: string | number;
}): Settings {
  const retentionDays = numberOf("RETENTION_DAYS", env.RETENTION_DAYS, DEFAULT_RETENTION_DAYS, MAX_RETENTION_DAYS);
  const watchMinutes = (name: "WATCH_AFTER_MINUTES" | "WATCH_GRACE_MINUTES", fallback: number) => {
    const minutes = numberOf(name, env[name], fallback, MAX_WATCH_MINUTES);
    if (minutes === 0) throw new LedgerError("invalid_setting", `${name} must be more than 0`);
    return Math.ceil(minutes * MINUTE_MS);
  };
  return {
    retentionMs: retentionDays === 0 ? null : Math.ceil(retentionDays * DAY_MS),
    watchAfterMs: watchMinutes("WATCH_AFTER_MINUTES", DEFAULT_WATCH_AFTER_MINUTES),
    graceMs: watchMinutes("WATCH_GRACE_MINUTES", DEFAULT_WATCH_GRACE_MINUTES),
  };
}

function numberOf(name: string, value: string | number | undefined, fallback: number, most: number): number {
  if (value === undefined || String(value).trim() === "") return fallback;
  const number = Number(value);
  if (number >= 0 && number <= most) return number;
  throw new LedgerError("invalid_setting", `${name} must be a number from 0 to ${most}, such as ${fallback}`);
}
