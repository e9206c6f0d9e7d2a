// Deliberate breakages of production code, each of which the simulation must find. A text that is no longer there means that
// the code has changed and its breakage must be written anew.

export type Breakage = {
  name: string;
  /** From the root of the project. */
  file: string;
  /** Exactly as it stands there, once. */
  find: string;
  replace: string;
};

export const BREAKAGES: readonly Breakage[] = [
  {
    name: "no fencing: every attempt has the same fence",
    file: "ledger-service/src/job/claims.ts",
    find: "const fence = Math.max(now, from.fence + 1);",
    replace: "const fence = 1;",
  },
  {
    name: "the receiver completes before it dispatches",
    file: "receiver/src/delivery.ts",
    find: "const refused = await dispatch(queues, jobId, consumers, deadline);",
    replace: `await deadline.within(ledger.complete({ jobId, token, dispatchedTo: consumers })).catch(() => undefined);
  const refused = await dispatch(queues, jobId, consumers, deadline);`,
  },
  {
    name: "a copy that arrives while another is worked on is acknowledged",
    file: "receiver/src/answers.ts",
    find: `return problem(503, "In progress", detail, { "retry-after": String(seconds) });`,
    replace: `return problem(200, "In progress", detail, { "retry-after": String(seconds) });`,
  },
  {
    name: "no watch: the alarm does nothing",
    file: "ledger-service/src/object/job-ledger.ts",
    find: "    this.#alarmPausedUntil = 0;\n    try {",
    replace: "    if (this.#alarmRanAt > 0) return;\n    try {",
  },
  {
    name: "the watch rings, and sends nothing",
    file: "ledger-service/src/object/job-ledger.ts",
    find: "for (const alert of alerts) await withTimeout(this.#send(alert), ALERT_WITHIN_MS);",
    replace: "",
  },
  {
    name: "a lease never ends",
    file: "ledger-service/src/job/claims.ts",
    find: "const live = now < leaseExpiresAt;",
    replace: "const live = now < Infinity;",
  },
  {
    name: "a lease is never live",
    file: "ledger-service/src/job/claims.ts",
    find: "const live = now < leaseExpiresAt;",
    replace: "const live = now < 0;",
  },
  {
    name: "complete does not look at the token",
    file: "ledger-service/src/job/claims.ts",
    find: `return found.token === command.token ? found : { outcome: "stale", reason: "taken" };`,
    replace: "return found;",
  },
  {
    name: "the alarm writes back what it read before its await",
    file: "ledger-service/src/object/job-ledger.ts",
    find: "rung(record, { seen, alerts, settings: this.#settings, now })",
    replace: "rung(record === seen ? record : seen, { seen, alerts, settings: this.#settings, now })",
  },
  {
    name: "a transaction that is rolled back leaves the record in memory",
    file: "ledger-service/src/object/job-ledger.ts",
    find: "    try {\n      // A throw after",
    replace: "    this.#record = after;\n    try {\n      // A throw after",
  },
  {
    name: "a repeated claim with the same token is a stranger's",
    file: "ledger-service/src/job/claims.ts",
    find: "if (token === command.token) {",
    replace: "if (token === `${command.token}?`) {",
  },
  {
    name: "the client takes an uncertain complete for a failure",
    file: "ledger-service/client/run-once.ts",
    find: "return isRefusal(error) ? await release(new NonRetryableError(errorText(error))) : unsettled();",
    replace: "return await release(new NonRetryableError(errorText(error)));",
  },
  {
    name: "the reconciler ignores that an event has not arrived",
    file: "consumers/reconciler/src/reconcile.ts",
    find: "return await fetchEvent(alert, settings);",
    replace: `return { outcome: "ignored", level: "info" };`,
  },
];
