// The ledger's entrypoints as structural types: a service binding satisfies them, and so does a stand-in.

import type {
  AbandonArgs,
  AdminCancelExpectationArgs,
  AdminInspectArgs,
  CancelExpectationArgs,
  ClaimArgs,
  CompleteArgs,
  ExpectEventArgs,
  InspectArgs,
  ReleaseArgs,
  RenewArgs,
  ReopenArgs,
} from "./calls.ts";
import type {
  AbandonOutcome,
  CancelExpectationOutcome,
  ClaimOutcome,
  CompleteOutcome,
  ExpectEventOutcome,
  ReleaseOutcome,
  RenewAnswer,
  ReopenOutcome,
} from "./outcomes.ts";
import type { Identity } from "./values.ts";
import type { JobView } from "./views.ts";

/** What the client needs. */
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
  abandon(args: AbandonArgs): Promise<AbandonOutcome>;
  cancelExpectation(args: AdminCancelExpectationArgs): Promise<CancelExpectationOutcome>;
};
