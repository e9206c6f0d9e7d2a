// The ledger as a receiver meets it on a bad day, bound in place of the real one. It passes every call on under the
// receiver's identity, except those that it was told to spoil. It can also shorten leases, so that a takeover need not
// be waited for.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { ClaimArgs, CompleteArgs, Identity, LedgerBinding, ReleaseArgs } from "job-ledger/contract";
import { answerCall } from "../../../../support/workers/remote/answer-calls.ts";

type Verb = "claim" | "complete" | "release";
/** `lose`: the call is carried out and its answer lost; `hang`: nothing is done and nothing answered. */
type Fault = "throw" | "overloaded" | "lose" | "hang";

/** Milliseconds; longer than any caller's patience. */
const HANG_MS = 30_000;

const faults = new Map<string, Fault>();
const leases = new Map<string, number>();
let identityHangs = false;
let hanging = 0;

export default class FaultyLedger extends WorkerEntrypoint<{ LEDGER: LedgerBinding }> {
  override fetch(request: Request): Promise<Response> {
    return answerCall(request, this);
  }

  /** Spoils the next call of that verb for the job. */
  spoil(jobId: string, verb: Verb, fault: Fault): void {
    faults.set(`${verb} ${jobId}`, fault);
  }

  /** The job's claims get leases of `ms` milliseconds, whatever they ask for. */
  shortenLease(jobId: string, ms: number): void {
    leases.set(jobId, ms);
  }

  /** The next `whoami` is not answered. */
  hangIdentity(): void {
    identityHangs = true;
  }

  /** How many calls hang at present. */
  hanging(): number {
    return hanging;
  }

  async whoami(): Promise<Identity> {
    if (identityHangs) {
      identityHangs = false;
      await hang();
    }
    return await this.env.LEDGER.whoami();
  }

  async claim(args: ClaimArgs) {
    const leaseMs = leases.get(args.jobId);
    const asked = leaseMs === undefined ? args : { ...args, leaseMs };
    return await spoiled("claim", args.jobId, () => this.env.LEDGER.claim(asked));
  }

  async complete(args: CompleteArgs) {
    return await spoiled("complete", args.jobId, () => this.env.LEDGER.complete(args));
  }

  async release(args: ReleaseArgs) {
    return await spoiled("release", args.jobId, () => this.env.LEDGER.release(args));
  }
}

async function spoiled<T>(verb: Verb, jobId: string, call: () => Promise<T>): Promise<T> {
  const fault = faults.get(`${verb} ${jobId}`);
  faults.delete(`${verb} ${jobId}`);
  switch (fault) {
    case undefined:
      return await call();
    case "throw":
      throw new Error("the object was reset");
    case "overloaded":
      throw Object.assign(new Error("the object is overloaded"), { overloaded: true, retryable: true });
    case "lose":
      await call();
      throw new Error("the answer was lost");
    case "hang":
      await hang();
      return await call();
    default:
      return fault satisfies never;
  }
}

async function hang(): Promise<void> {
  hanging += 1;
  await new Promise((resume) => setTimeout(resume, HANG_MS));
  hanging -= 1;
}
