// What a caller's mistake throws. Expected outcomes are values (contract.ts); only bad input and bugs are errors.
// Over RPC an error arrives with its `name`, `message` and `code`, not its class.

export type LedgerErrorCode =
  /** An argument has the wrong form or is out of range. */
  | "invalid_argument"
  /** The binding's `props` are missing or malformed: a mistake in the caller's wrangler config. */
  | "invalid_props"
  /** An argument exceeds a size limit. */
  | "too_large"
  /** A setting or binding of the Worker that answers is missing or unusable. */
  | "invalid_setting";

export class LedgerError extends Error {
  readonly code: LedgerErrorCode;

  constructor(code: LedgerErrorCode, message: string) {
    super(message);
    this.name = "LedgerError";
    this.code = code;
  }
}

/** A mistake in a Worker's own configuration; the message names what to set, and never a value. */
export class SettingsError extends LedgerError {
  constructor(message: string) {
    super("invalid_setting", message);
    this.name = "SettingsError";
  }
}
