// The record as `inspect` shows it to callers and operators: without tokens, and without bodies unless they are asked for.

import type { ClaimView, JobView } from "../../contract/index.ts";
import type { JobName } from "../entrypoints/identity.ts";
import { type ClaimEntry, type JobRecord, parseResult, unfinished } from "./record.ts";
import { nextRing, OVERDUE_AFTER_RINGS, type Settings } from "./schedule.ts";

/** The record as `inspect` shows it, without bodies and without tokens. */
export function view(record: JobRecord, settings: Settings, { namespace, jobId }: JobName): JobView {
  const expectation = record.job?.expectation ?? null;
  const next = nextRing(record, settings);
  return {
    namespace,
    jobId,
    events: record.events.map(({ order: _order, alerted: _alerted, ...event }) => event),
    conflict: record.events.length > 1,
    // By name: the order in memory is by arrival, that of rows read back is not.
    claims: [...record.claims.values()].map(claimView).toSorted((a, b) => (a.consumer < b.consumer ? -1 : 1)),
    unfinished: unfinished(record).toSorted(),
    expectation: expectation && { ...expectation, arrived: record.events.length > 0 },
    watch: next && {
      reason: next.reason,
      rings: next.ring - 1,
      nextAt: next.at,
      overdue: next.ring > OVERDUE_AFTER_RINGS,
    },
  };
}

function claimView(claim: ClaimEntry): ClaimView {
  const { consumer, status, eventType, attempt, fence, maxAttempts, claimedAt, changedAt, dispatchedTo } = claim;
  return {
    consumer,
    status,
    eventType,
    attempt,
    fence,
    maxAttempts,
    claimedAt,
    changedAt,
    leaseExpiresAt: claim.status === "claimed" ? claim.leaseExpiresAt : null,
    retryAt: claim.status === "released" ? claim.retryAt : null,
    settledAt: claim.status === "completed" ? claim.completedAt : claim.status === "failed" ? claim.failedAt : null,
    error: claim.status === "released" || claim.status === "failed" ? claim.error : null,
    result: claim.status === "completed" ? parseResult(claim.result) : null,
    dispatchedTo,
    history: claim.history.map(({ result, ...entry }) =>
      result === undefined ? entry : { ...entry, result: parseResult(result) },
    ),
  };
}
