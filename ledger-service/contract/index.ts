// `job-ledger/contract`: all that crosses between the ledger service and other Workers. It knows nothing of how the ledger
// keeps its promises, and imports nothing from outside this folder but valibot.

export * from "./calls.ts";
export { checked, describeIssue } from "./check.ts";
export * from "./errors.ts";
export { identify, UNKNOWN } from "./identify.ts";
export { type JsonProblem, jsonTextOf } from "./json.ts";
export * from "./limits.ts";
export { errorName, log, type LogLine } from "./log.ts";
export type * from "./messages.ts";
export type * from "./outcomes.ts";
export type * from "./services.ts";
export { TimeoutError, withTimeout } from "./timeout.ts";
export { EventSource, EventType, type Identity, JobId, type Json, LedgerEvent, Name, parseBody } from "./values.ts";
export * from "./views.ts";
