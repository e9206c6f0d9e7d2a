// The ledger's service bindings as structural types (a binding satisfies them, and so does a stand-in): what the client needs,
// and all there is. And who such a binding is.

import type {
  AdminCancelExpectationArgs,
  AdminInspectArgs,
  CancelExpectationArgs,
  CancelExpectationOutcome,
  ClaimArgs,
  ClaimOutcome,
  CompleteArgs,
  CompleteOutcome,
  ExpectEventArgs,
  ExpectEventOutcome,
  Identity,
  InspectArgs,
  JobView,
  ReleaseArgs,
  ReleaseOutcome,
  RenewAnswer,
  RenewArgs,
  ReopenArgs,
  ReopenOutcome,
} from "../contract/index.ts";

export type LedgerBinding = {
  whoami(): Promise<Identity>;
  claim(args: ClaimArgs): Promise<ClaimOutcome>;
  renew(args: RenewArgs): Promise<RenewAnswer[]>;
  complete(args: CompleteArgs): Promise<CompleteOutcome>;
  release(args: ReleaseArgs): Promise<ReleaseOutcome>;
};

/** All that a `Ledger` binding offers, for Workers that start jobs or look at them. */
export type LedgerService = LedgerBinding & {
  expectEvent(args: ExpectEventArgs): Promise<ExpectEventOutcome>;
  cancelExpectation(args: CancelExpectationArgs): Promise<CancelExpectationOutcome>;
  inspect(args: InspectArgs): Promise<JobView | null>;
};

/** All that a `LedgerAdmin` binding offers. */
export type LedgerAdminService = {
  inspect(args: AdminInspectArgs): Promise<JobView | null>;
  reopen(args: ReopenArgs): Promise<ReopenOutcome>;
  cancelExpectation(args: AdminCancelExpectationArgs): Promise<CancelExpectationOutcome>;
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
