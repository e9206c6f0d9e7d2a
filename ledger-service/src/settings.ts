// The ledger service's variables, read and checked.

import { LedgerError } from "./errors.ts";
import { DAY_MS } from "./limits.ts";
import type { Settings } from "./schedule.ts";

const DEFAULT_RETENTION_DAYS = 30;

/** @throws {LedgerError} `invalid_setting`, naming the variable. */
export function readSettings(env: { RETENTION_DAYS?: string | number }): Settings {
  const retentionDays = numberOf("RETENTION_DAYS", env.RETENTION_DAYS, DEFAULT_RETENTION_DAYS);
  return { retentionMs: retentionDays === 0 ? null : Math.ceil(retentionDays * DAY_MS) };
}

function numberOf(name: string, value: string | number | undefined, fallback: number): number {
  if (value === undefined || value === "") return fallback;
  const number = Number(value);
  if (Number.isFinite(number) && number >= 0) return number;
  throw new LedgerError("invalid_setting", `${name} must be a number of at least 0, such as ${fallback}`);
}
