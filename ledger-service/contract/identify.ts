// Who a ledger binding is, for log lines.

import type { LedgerBinding } from "./services.ts";
import type { Identity } from "./values.ts";

/** For the log, where a binding's identity cannot be had. */
export const UNKNOWN: Identity = { namespace: "unknown", consumer: "unknown" };

/** By binding: an isolate keeps its bindings for its whole life. */
const identities = new WeakMap<LedgerBinding, Identity>();

/**
 * Who the binding is. Each isolate asks a binding once and remembers the answer, for an invocation may make few calls.
 * Never throws: where the ledger does not answer, the identity is `UNKNOWN`.
 */
export async function identify(ledger: LedgerBinding): Promise<Identity> {
  const known = identities.get(ledger);
  if (known !== undefined) return known;
  try {
    const { namespace, consumer } = await ledger.whoami();
    identities.set(ledger, { namespace, consumer });
    return { namespace, consumer };
  } catch {
    return UNKNOWN;
  }
}
