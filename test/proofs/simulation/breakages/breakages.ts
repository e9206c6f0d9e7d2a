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
    find: "fence: Math.max(now, from.fence + 1),",
    replace: "fence: 1,",
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
    find: "    this.#alarm.began(decidedAt);\n    try {",
    replace: "    this.#alarm.began(decidedAt);\n    if (decidedAt > 0) return;\n    try {",
  },
  {
    name: "the watch rings, and sends nothing",
    file: "ledger-service/src/object/job-ledger.ts",
    find: "await withTimeout(this.#send(name, alert), ALERT_WITHIN_MS);",
    replace: "",
  },
  {
    name: "a lease never ends",
    file: "ledger-service/src/job/claims.ts",
    find: "if (now < held.leaseExpiresAt) {",
    replace: "if (now < Infinity) {",
  },
  {
    name: "a lease is never live",
    file: "ledger-service/src/job/claims.ts",
    find: "if (now < held.leaseExpiresAt) {",
    replace: "if (now < 0) {",
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
    find: `    const alerted = (record: JobRecord, now: number) =>
      watch.alerted(record, {`,
    replace: `    const seen = this.#read();
    const alerted = (_record: JobRecord, now: number) =>
      watch.alerted(seen, {`,
  },
  {
    name: "a transaction that is rolled back leaves the record in memory",
    file: "ledger-service/src/object/job-ledger.ts",
    find: "    this.ctx.storage.transactionSync(() => {",
    replace: "    this.#record = after;\n    this.ctx.storage.transactionSync(() => {",
  },
  {
    name: "a repeated claim with the same token is a stranger's",
    file: "ledger-service/src/job/claims.ts",
    find: "return held.token === command.token",
    replace: "return held.token === `${command.token}?`",
  },
  {
    name: "a token that comes again after its lease is the same attempt",
    file: "ledger-service/src/job/claims.ts",
    find: "if (now < held.leaseExpiresAt) {",
    replace: "if (now < held.leaseExpiresAt || held.token === command.token) {",
  },
  {
    name: "an event's first body stays, whatever comes",
    file: "ledger-service/src/job/events.ts",
    find: "if (!event.differs || isLesser || unfinished(record).length === 0)",
    replace: "if (event.differs || isLesser || unfinished(record).length === 0)",
  },
  {
    name: "what was polled takes a signed body's place",
    file: "ledger-service/src/job/events.ts",
    find: "if (!event.differs || isLesser || unfinished",
    replace: "if (!event.differs || unfinished",
  },
  {
    name: "abandoning ends no waiting",
    file: "ledger-service/src/job/record.ts",
    find: ` || claim.status === "abandoned"`,
    replace: "",
  },
  {
    name: "who calls off an expectation calls off everybody's",
    file: "ledger-service/src/job/watch.ts",
    find: "command.consumer === null || command.consumer === by",
    replace: "by !== command.actor || command.consumer === by",
  },
  {
    name: "a conflict is not alerted",
    file: "ledger-service/src/job/schedule.ts",
    find: "return events.slice(1 + (watch?.conflictsTold ?? 0));",
    replace: "return events.slice(events.length + (watch?.conflictsTold ?? 0));",
  },
  {
    name: "an alert comes at the very moment of the ordinary retry",
    file: "ledger-service/src/object/settings.ts",
    find: 'graceMs: watchMinutes("WATCH_GRACE_MINUTES", DEFAULT_WATCH_GRACE_MINUTES),',
    replace: "graceMs: 0,",
  },
  {
    name: "the client takes an uncertain complete for a failure",
    file: "ledger-service/client/run-once.ts",
    find: "const completed = await settled(() => ledger.complete({ jobId, token, result }));",
    replace: `const completed = await ledger.complete({ jobId, token, result }).catch(async (error: unknown) => {
        await settled(() => ledger.release({ jobId, token, error: errorText(error), permanent: true }));
        throw error;
      });`,
  },
  {
    name: "the reconciler ignores that an event has not arrived",
    file: "consumers/reconciler/src/reconcile.ts",
    find: "return await fetchEvent(alert, settings);",
    replace: `return { outcome: "ignored", level: "info" };`,
  },
];
