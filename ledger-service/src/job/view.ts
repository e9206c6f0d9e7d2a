// The record as `inspect` shows it to callers and operators: without tokens, and without bodies unless they are asked for.

import type { ClaimView, JobView } from "../../contract/index.ts";
import type { JobName } from "./job-name.ts";
import { type ClaimEntry, hasEnded, type JobRecord, unfinished } from "./record.ts";
import { parseResult } from "./result.ts";
import { nextRing, OVERDUE_AFTER_RINGS, type Settings } from "./schedule.ts";

/** The record as `inspect` shows it, without bodies and without tokens. */
export function view(record: JobRecord, settings: Settings, { namespace, jobId }: JobName): JobView {
  const next = nextRing(record, settings);
  return {
    namespace,
    jobId,
    events: record.events.map(({ order: _order, ...event }) => event),
    conflict: record.events.length > 1,
    // By name: the order in memory is by arrival, that of rows read back is not.
    claims: [...record.claims.values()].map(claimView).toSorted((a, b) => (a.consumer < b.consumer ? -1 : 1)),
    unfinished: unfinished(record).toSorted(),
    expectations: (record.watch?.expectations ?? []).map(({ round: _round, ...expectation }) => expectation),
    watch: next && {
      reason: next.reason,
      rings: next.rings,
      nextAt: next.at,
      overdue: next.rings >= OVERDUE_AFTER_RINGS,
    },
  };
}

function claimView(claim: ClaimEntry): ClaimView {
  const { consumer, status, eventType, attempt, fence, maxAttempts, round, claimedAt, changedAt, dispatchedTo } = claim;
  return {
    consumer,
    status,
    eventType,
    attempt,
    fence,
    maxAttempts,
    round,
    claimedAt,
    changedAt,
    leaseExpiresAt: claim.status === "claimed" ? claim.leaseExpiresAt : null,
    retryAt: claim.status === "released" ? claim.retryAt : null,
    endedAt: endedAt(claim),
    error: claim.status === "released" || claim.status === "failed" ? claim.error : null,
    result: claim.status === "completed" ? parseResult(claim.result) : null,
    dispatchedTo,
    history: claim.history.map(({ result, ...entry }) =>
      result === undefined ? entry : { ...entry, result: parseResult(result) },
    ),
  };
}

function endedAt(claim: ClaimEntry): number | null {
  if (!hasEnded(claim)) return null;
  switch (claim.status) {
    case "completed":
      return claim.completedAt;
    case "failed":
      return claim.failedAt;
    case "abandoned":
      return claim.abandonedAt;
    default:
      return claim satisfies never;
  }
}
