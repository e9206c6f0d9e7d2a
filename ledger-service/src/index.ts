// The ledger service's entry module: what wrangler deploys. It has no route; everything goes through the entrypoints.

export { JobLedger } from "./object/job-ledger.ts";
export { LedgerAdmin } from "./entrypoints/ledger-admin.ts";
export { Ledger } from "./entrypoints/ledger.ts";

export default {
  fetch: () => new Response("Not found\n", { status: 404 }),
} satisfies ExportedHandler;
