// Keeps the leases of claims alive while their work runs: one timer and one `renew` call for all of them. A Worker
// may make only about 32 service-binding calls per invocation, so a call per claim would not do.

import { errorName, type LedgerBinding, type RenewAnswer, withTimeout } from "../contract/index.ts";
import { ClaimLostError } from "./errors.ts";
import type { Tell } from "./lines.ts";

export type HeldClaim = { jobId: string; token: string; leaseExpiresAt: number };
/** A claim that is being kept. `signal` is aborted when it is lost, or its lease ran out and could not be renewed. */
export type Lease = {
  readonly signal: AbortSignal;
  readonly expiresAt: number;
  /** The holder's own settle is on its way: that a renewal finds the claim settled is no loss from now on. */
  settling(): void;
  stop(): void;
};
type Kept = HeldClaim & { abort: AbortController; end: ReturnType<typeof setTimeout> | null; settling: boolean };

/** Milliseconds. The claims of a batch are lost within moments of one another; one line tells of all of them. */
const GATHER_MS = 1_000;

export class LeaseKeeper {
  readonly #ledger: Pick<LedgerBinding, "renew">;
  readonly #leaseMs: number;
  readonly #tell: Tell;
  readonly #kept = new Set<Kept>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #renewing = false;
  /** The last renewal failed, and a line has told so: there is no other until one has succeeded. */
  #failing = false;
  #lost: string[] = [];

  /** Renews every `leaseMs / 2`, and what failed again after `leaseMs / 8`: well before a lease runs out. */
  constructor(ledger: Pick<LedgerBinding, "renew">, leaseMs: number, tell: Tell) {
    this.#ledger = ledger;
    this.#leaseMs = leaseMs;
    this.#tell = tell;
  }

  /** Keeps the claim until `stop` is called. `since`: a time by this clock, not after the lease began. */
  keep(claim: HeldClaim, since: number): Lease {
    const kept: Kept = { ...claim, abort: new AbortController(), end: null, settling: false };
    this.#kept.add(kept);
    this.#loseAtEnd(kept, since);
    this.#schedule(since + this.#leaseMs / 2 - Date.now());
    return {
      signal: kept.abort.signal,
      get expiresAt() {
        return kept.leaseExpiresAt;
      },
      settling: () => {
        kept.settling = true;
      },
      stop: () => this.#drop(kept),
    };
  }

  /** Tells now of claims whose loss has not been told; to be called before the invocation ends. */
  async close(): Promise<void> {
    const jobIds = this.#lost;
    this.#lost = [];
    if (jobIds.length > 0) await this.#line("lease_lost", jobIds);
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
    let error: string | undefined;
    try {
      answers = await withTimeout(this.#ledger.renew({ claims, leaseMs: this.#leaseMs }), this.#leaseMs / 4);
    } catch (thrown) {
      // The claims stay as they are; what cannot be renewed in time is given up by its own timer.
      error = errorName(thrown);
    }
    const failed: string[] = [];
    for (const [index, kept] of renewed.entries()) {
      if (!this.#kept.has(kept)) continue; // settled meanwhile
      const answer = answers[index];
      if (answer?.outcome === "ok") {
        kept.leaseExpiresAt = answer.leaseExpiresAt;
        this.#loseAtEnd(kept, askedAt);
      } else if (answer?.outcome === "stale") {
        // What its own holder has settled is not lost: the answer of that call is on its way. But a claim may also
        // have been abandoned.
        if (answer.reason === "settled" && kept.settling) this.#drop(kept);
        else this.#lose(kept, `the claim is ${answer.reason}`);
      } else {
        failed.push(kept.jobId);
      }
    }
    if (failed.length > 0 && !this.#failing) void this.#line("failed", failed, error);
    this.#failing = failed.length > 0;
    this.#renewing = false;
    this.#schedule(this.#failing ? this.#leaseMs / 8 : this.#leaseMs / 2);
  }

  /**
   * Loses the claim `leaseMs` after `since`, unless it is renewed before. `since` is taken by this clock before the
   * call: the ledger's clock may differ, and its answer may have been long on its way.
   */
  #loseAtEnd(kept: Kept, since: number): void {
    clearTimeout(kept.end);
    kept.end = setTimeout(
      () => this.#lose(kept, "its lease ran out and could not be renewed"),
      since + this.#leaseMs - Date.now(),
    );
  }

  #lose(kept: Kept, why: string): void {
    this.#drop(kept);
    if (this.#lost.length === 0) setTimeout(() => void this.close(), GATHER_MS);
    this.#lost.push(kept.jobId);
    kept.abort.abort(new ClaimLostError(`job ${kept.jobId}: ${why}`));
  }

  #drop(kept: Kept): void {
    clearTimeout(kept.end);
    this.#kept.delete(kept);
    if (this.#kept.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  #line(outcome: "failed" | "lease_lost", jobIds: readonly string[], error?: string): Promise<void> {
    return this.#tell({ event: "renew", outcome, count: jobIds.length, jobIds, error }, "error");
  }
}
