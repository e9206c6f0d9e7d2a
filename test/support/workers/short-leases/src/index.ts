// The two product consumers as they are, with short leases and short pauses in place of minutes. Whoever kills the
// runtime need not wait for the lease of a holder that died with it. It takes the place of a consumer's entry module
// under that consumer's own config (test/support/stack/dev-stack.ts). The queue's name tells which of the two it is.
// Leaves out anything else: the work, and how it is claimed and settled, is the product's.

import type { JobMessage, LedgerBinding } from "job-ledger/client";
import archive from "../../../../../consumers/artifact-archive/src/index.ts";
import jobIndex from "../../../../../consumers/job-index/src/index.ts";

/** Milliseconds; many times what the work of a test takes, so that only a dead holder's lease runs out. */
const LEASE_MS = 6_000;
const RETRY_AFTER_MS = 500;

function shortened(ledger: LedgerBinding): LedgerBinding {
  return {
    whoami: () => ledger.whoami(),
    claim: (args) => ledger.claim({ ...args, leaseMs: LEASE_MS }),
    renew: (args) => ledger.renew({ ...args, leaseMs: LEASE_MS }),
    complete: (args) => ledger.complete(args),
    release: (args) => ledger.release({ ...args, retryAfterMs: RETRY_AFTER_MS }),
  };
}

export default {
  queue(batch, env) {
    const hasty = Object.assign({ ...env }, { LEDGER: shortened(env.LEDGER) });
    switch (batch.queue) {
      case "artifact-archive":
        return archive.queue(batch, hasty);
      case "job-index":
        return jobIndex.queue(batch, hasty);
      default:
        throw new Error(`nobody consumes ${batch.queue}`);
    }
  },
} satisfies ExportedHandler<ArtifactArchiveEnv & JobIndexEnv, JobMessage>;
