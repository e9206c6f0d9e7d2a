// What the client needs of a `Ledger` service binding, as a structural type (a binding satisfies it, and so does a
// stand-in), and who such a binding is.

import type {
  ClaimArgs,
  ClaimOutcome,
  CompleteArgs,
  CompleteOutcome,
  Identity,
  ReleaseArgs,
  ReleaseOutcome,
  RenewAnswer,
  RenewArgs,
} from "../src/contract.ts";

export type LedgerBinding = {
  whoami(): Promise<Identity>;
  claim(args: ClaimArgs): Promise<ClaimOutcome>;
  renew(args: RenewArgs): Promise<RenewAnswer[]>;
  complete(args: CompleteArgs): Promise<CompleteOutcome>;
  release(args: ReleaseArgs): Promise<ReleaseOutcome>;
};

/** For the log, where a binding's identity cannot be had. */
export const UNKNOWN: Identity = { namespace: "unknown", consumer: "unknown" };

const identities = new WeakMap<LedgerBinding, Identity>();

/**
 * Who the binding is, asked once per isolate: the calls of an invocation are few. For log lines, so it never throws; what
 * cannot be asked is «unknown».
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
