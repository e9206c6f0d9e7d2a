// The reconciler's entry module: a queue consumer of the ledger's alerts.

import { takeAlerts } from "./alerts.ts";

export default {
  queue: (batch, env) => takeAlerts(batch, { ...env }),
} satisfies ExportedHandler<ReconcilerEnv>;
