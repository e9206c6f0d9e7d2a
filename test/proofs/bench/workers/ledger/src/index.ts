// The production ledger, without log lines and without the table that the development server adds to its objects. It
// takes the place of the ledger service's entry module under that service's own config (test/proofs/bench/driver.ts).

import { JobLedger as Production } from "../../../../../../ledger-service/src/object/job-ledger.ts";
import { withoutDevTable } from "./without-dev-table.ts";
import { withoutLogLines } from "./without-log-lines.ts";

export { Ledger } from "../../../../../../ledger-service/src/entrypoints/ledger.ts";
export { LedgerAdmin } from "../../../../../../ledger-service/src/entrypoints/ledger-admin.ts";

withoutLogLines();

/** Under the production class's name: the entrypoint finds its objects by it. */
export class JobLedger extends Production {
  constructor(ctx: DurableObjectState, env: LedgerServiceEnv) {
    super(ctx, env);
    withoutDevTable(ctx);
  }
}

export default {
  fetch: () => new Response("Not found\n", { status: 404 }),
} satisfies ExportedHandler;
