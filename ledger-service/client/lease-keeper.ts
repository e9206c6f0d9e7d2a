// Keeps the leases of claims alive while their work runs: one timer and one `renew` call for all of them. A Worker may make
// only about 32 service-binding calls per invocation, so a call per claim would not do.

import { ClaimLostError } from "./errors.ts";
import type { LedgerBinding } from "./ledger-binding.ts";

export type HeldClaim = { jobId: string; token: string; leaseExpiresAt: number };
type Kept = HeldClaim & { abort: AbortController };

export class LeaseKeeper {
  readonly #ledger: Pick<LedgerBinding, "renew">;
  readonly #leaseMs: number;
  readonly #kept = new Set<Kept>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Renews every `leaseMs / 2`: one renewal may fail before a lease runs out. */
  constructor(ledger: Pick<LedgerBinding, "renew">, leaseMs: number) {
    this.#ledger = ledger;
    this.#leaseMs = leaseMs;
  }

  /** Keeps the claim until `stop` is called. `signal` is aborted when the claim is lost, or its lease could not be renewed. */
  keep(claim: HeldClaim): { signal: AbortSignal; stop: () => void } {
    const kept = { ...claim, abort: new AbortController() };
    this.#kept.add(kept);
    this.#schedule();
    const stop = () => {
      this.#kept.delete(kept);
      if (this.#kept.size === 0) this.#unschedule();
    };
    return { signal: kept.abort.signal, stop };
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      void this.#renew().finally(() => {
        this.#unschedule();
        if (this.#kept.size > 0) this.#schedule();
      });
    }, this.#leaseMs / 2);
  }

  #unschedule(): void {
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #renew(): Promise<void> {
    const renewing = [...this.#kept];
    const claims = renewing.map(({ jobId, token }) => ({ jobId, token }));
    const answers = await this.#ledger.renew({ claims, leaseMs: this.#leaseMs }).catch(() => []);
    const now = Date.now();
    for (const [index, kept] of renewing.entries()) {
      if (!this.#kept.has(kept)) continue; // settled meanwhile
      const answer = answers[index];
      if (answer?.outcome === "ok") kept.leaseExpiresAt = answer.leaseExpiresAt;
      else if (answer?.outcome === "stale") this.#lose(kept, `the claim is ${answer.reason}`);
      else if (now >= kept.leaseExpiresAt) this.#lose(kept, "its lease ran out and could not be renewed");
    }
  }

  #lose(kept: Kept, why: string): void {
    this.#kept.delete(kept);
    kept.abort.abort(new ClaimLostError(`job ${kept.jobId}: ${why}`));
  }
}
