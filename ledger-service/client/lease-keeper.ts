// Keeps the leases of claims alive while their work runs: one timer and one `renew` call for all of them. A Worker may make
// only about 32 service-binding calls per invocation, so a call per claim would not do.

import { type LedgerBinding, type RenewAnswer, withTimeout } from "../contract/index.ts";
import { ClaimLostError } from "./errors.ts";

export type HeldClaim = { jobId: string; token: string; leaseExpiresAt: number };
/** A claim that is being kept. `signal` is aborted when it is lost, or its lease ran out and could not be renewed. */
export type Lease = { readonly signal: AbortSignal; readonly expiresAt: number; stop(): void };
type Kept = HeldClaim & { abort: AbortController; end: ReturnType<typeof setTimeout> | null };

export class LeaseKeeper {
  readonly #ledger: Pick<LedgerBinding, "renew">;
  readonly #leaseMs: number;
  readonly #kept = new Set<Kept>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #renewing = false;

  /** Renews every `leaseMs / 2`, and what failed again after `leaseMs / 8`: well before a lease runs out. */
  constructor(ledger: Pick<LedgerBinding, "renew">, leaseMs: number) {
    this.#ledger = ledger;
    this.#leaseMs = leaseMs;
  }

  /** Keeps the claim until `stop` is called. `askedAt`: when the claim was asked for, by this clock. */
  keep(claim: HeldClaim, askedAt: number): Lease {
    const kept: Kept = { ...claim, abort: new AbortController(), end: null };
    this.#kept.add(kept);
    this.#abortAtEnd(kept, askedAt);
    this.#schedule(askedAt + this.#leaseMs / 2 - Date.now());
    return {
      signal: kept.abort.signal,
      get expiresAt() {
        return kept.leaseExpiresAt;
      },
      stop: () => this.#drop(kept),
    };
  }

  #schedule(ms: number): void {
    if (this.#timer !== null || this.#renewing || this.#kept.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#renew();
    }, ms);
  }

  async #renew(): Promise<void> {
    this.#renewing = true;
    const askedAt = Date.now();
    const renewed = [...this.#kept];
    const claims = renewed.map(({ jobId, token }) => ({ jobId, token }));
    let answers: RenewAnswer[] = [];
    try {
      answers = await withTimeout(this.#ledger.renew({ claims, leaseMs: this.#leaseMs }), this.#leaseMs / 4);
    } catch {
      // The claims stay as they are; what cannot be renewed in time is given up by its own timer.
    }
    let failed = false;
    for (const [index, kept] of renewed.entries()) {
      if (!this.#kept.has(kept)) continue; // settled meanwhile
      const answer = answers[index];
      if (answer?.outcome === "ok") {
        kept.leaseExpiresAt = answer.leaseExpiresAt;
        this.#abortAtEnd(kept, askedAt);
      } else if (answer?.outcome === "stale") {
        this.#lose(kept, `the claim is ${answer.reason}`);
      } else {
        failed = true;
      }
    }
    this.#renewing = false;
    this.#schedule(failed ? this.#leaseMs / 8 : this.#leaseMs / 2);
  }

  #abortAtEnd(kept: Kept, askedAt: number): void {
    clearTimeout(kept.end);
    const lose = () => this.#lose(kept, "its lease ran out and could not be renewed");
    // By its length from when it was asked for, not by the time of its end: that is told by the ledger's clock, which need not
    // be this one, and an answer may have been long on its way.
    kept.end = setTimeout(lose, askedAt + this.#leaseMs - Date.now());
  }

  #lose(kept: Kept, why: string): void {
    this.#drop(kept);
    kept.abort.abort(new ClaimLostError(`job ${kept.jobId}: ${why}`));
  }

  #drop(kept: Kept): void {
    clearTimeout(kept.end);
    this.#kept.delete(kept);
    if (this.#kept.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = null;
  }
}
