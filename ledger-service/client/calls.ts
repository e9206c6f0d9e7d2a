// The calls that one invocation makes to the ledger. A Worker may make only about 32, so they are counted: what every
// held claim still needs is reserved, and what must be repeated draws on the rest.

import type { LedgerBinding } from "../contract/index.ts";
import { CallsUsedUpError } from "./errors.ts";
import { Line } from "./repeat.ts";

/** Calls over service bindings: 32 of the platform's, less the one by which the log learns who the binding is. */
const MAX_CALLS = 32 - 1;
/** Milliseconds; a queue's invocation lasts no longer. */
const INVOCATION_MS = 15 * 60_000;
/** Renewals of a 4-minute lease in those 15 minutes. Shorter leases need more than can be reserved. */
const MAX_RENEWALS = 7;

/** What is kept for one claim: its settle, and a share in the renewals. */
export type Reserve = {
  /**
   * To be called before each call for the claim, so that what is claimed can also be settled.
   * @throws {CallsUsedUpError} if there are not enough calls left for that.
   */
  take(): void;
  /** No renewal is needed after that time: by then the claim is settled or given up. */
  endsBy(time: number): void;
  free(): void;
};

export class Calls {
  /** The binding; each call over it counts. */
  readonly ledger: LedgerBinding;
  /** Of little worth, and given up soon: their pauses need not grow as calls run out. */
  readonly claims: Line = new Line(() => Number.POSITIVE_INFINITY);
  readonly settles: Line = new Line(() => this.spare());
  readonly #leaseMs: number;
  readonly #endsAt = Date.now() + INVOCATION_MS;
  readonly #kept = new Set<{ until: number }>();
  #left = MAX_CALLS;

  constructor(ledger: LedgerBinding, leaseMs: number) {
    this.#leaseMs = leaseMs;
    this.ledger = {
      whoami: () => this.#counted(ledger.whoami()),
      claim: (args) => this.#counted(ledger.claim(args)),
      renew: (args) => this.#counted(ledger.renew(args)),
      complete: (args) => this.#counted(ledger.complete(args)),
      release: (args) => this.#counted(ledger.release(args)),
    };
  }

  /** For one claim; nothing is kept yet. */
  reserve(): Reserve {
    const kept = { until: this.#endsAt };
    return {
      take: () => {
        this.#kept.add(kept);
        if (this.spare() >= 1) return;
        this.#kept.delete(kept);
        throw new CallsUsedUpError("no call is left for another claim");
      },
      endsBy: (time) => {
        kept.until = Math.min(time, this.#endsAt);
      },
      free: () => void this.#kept.delete(kept),
    };
  }

  /** Calls that are left when all are made that are reserved; below zero a failed settle has used its own. */
  spare(): number {
    const until = Math.max(0, ...[...this.#kept].map((kept) => kept.until));
    const renewals = Math.floor(Math.max(0, until - Date.now()) / (this.#leaseMs / 2));
    return this.#left - this.#kept.size - Math.min(renewals, MAX_RENEWALS);
  }

  #counted<T>(call: Promise<T>): Promise<T> {
    this.#left -= 1;
    return call;
  }
}
