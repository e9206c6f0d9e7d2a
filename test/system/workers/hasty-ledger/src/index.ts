// A stand-in before the real ledger, bound to the artifact archive in its place. Everything passes through, but a
// released claim may be taken again at once. So tests of second attempts need not wait half a minute.

import { WorkerEntrypoint } from "cloudflare:workers";
import type { ClaimArgs, CompleteArgs, LedgerBinding, ReleaseArgs, RenewArgs } from "job-ledger/contract";

export default class HastyLedger extends WorkerEntrypoint<{ LEDGER: LedgerBinding }> {
  whoami() {
    return this.env.LEDGER.whoami();
  }
  claim(args: ClaimArgs) {
    return this.env.LEDGER.claim(args);
  }
  renew(args: RenewArgs) {
    return this.env.LEDGER.renew(args);
  }
  complete(args: CompleteArgs) {
    return this.env.LEDGER.complete(args);
  }
  release(args: ReleaseArgs) {
    return this.env.LEDGER.release({ ...args, retryAfterMs: 0 });
  }
}
