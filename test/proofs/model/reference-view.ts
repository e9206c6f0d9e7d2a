// The reference model's `inspect`: the journal told as the view that callers see, bodies included.

import type { ClaimStatus, ClaimView, HistoryEntry, JobView, Json } from "../../../ledger-service/contract/index.ts";
import type { JobName } from "../../../ledger-service/src/entrypoints/identity.ts";
import type { Settings } from "../../../ledger-service/src/job/schedule.ts";
import { attemptAt, consumersIn, dispatchedBy, eventsIn, expectationIn, type Facts } from "./facts.ts";
import { type Life, lifeOf, waitingFor } from "./facts.ts";
import { nextRing } from "./reference-watch.ts";

const KEPT_HISTORY = 20;
/** More alerts than this, and a person should look. */
const RINGS_BEFORE_OVERDUE = 3;

export function inspect(facts: Facts, settings: Settings, name: JobName): JobView | null {
  if (facts.length === 0) return null;
  const events = eventsIn(facts);
  const expectation = expectationIn(facts);
  const next = nextRing(facts, settings);
  return {
    ...name,
    events: events.map(({ type, source, at, body }) => ({
      type,
      source,
      receivedAt: at,
      bytes: new TextEncoder().encode(body).length,
      body,
    })),
    conflict: events.length > 1,
    claims: consumersIn(facts).flatMap((consumer) => {
      const life = lifeOf(facts, consumer);
      return life === null ? [] : [viewOf(life)];
    }),
    unfinished: waitingFor(facts),
    expectation: expectation && {
      by: expectation.by,
      setAt: expectation.at,
      dueAt: expectation.dueAt,
      cancelledBy: expectation.cancelledBy,
      arrived: expectation.arrived,
    },
    watch: next && {
      reason: next.reason,
      rings: next.ring - 1,
      nextAt: next.at,
      overdue: next.ring > RINGS_BEFORE_OVERDUE,
    },
  };
}

const STATUS: Record<Life["latest"]["kind"], ClaimStatus> = {
  granted: "claimed",
  released: "released",
  reopened: "reopened",
  completed: "completed",
  failed: "failed",
  exhausted: "failed",
};

function viewOf(life: Life): ClaimView {
  const { consumer, latest, grant, attempt, fence, eventType, leaseEnd, changedAt } = life;
  const isSettled = STATUS[latest.kind] === "completed" || STATUS[latest.kind] === "failed";
  return {
    consumer,
    status: STATUS[latest.kind],
    eventType,
    attempt,
    fence,
    maxAttempts: grant.limit,
    claimedAt: grant.at,
    changedAt,
    leaseExpiresAt: latest.kind === "granted" ? leaseEnd : null,
    retryAt: latest.kind === "released" ? latest.retryAt : null,
    settledAt: isSettled ? latest.at : null,
    error: "error" in latest ? latest.error : null,
    result: latest.kind === "completed" ? valueOf(latest.result) : null,
    dispatchedTo: [...dispatchedBy(life)],
    history: life.steps
      .map((_, index) => index)
      .slice(-KEPT_HISTORY)
      .map((index) => historyAt(life, index)),
  };
}

function historyAt({ consumer, steps }: Life, index: number): HistoryEntry {
  const step = steps[index];
  if (step === undefined) throw new RangeError("no such step");
  const { at } = step;
  const status = STATUS[step.kind];
  const attempt = attemptAt(steps, index);
  switch (step.kind) {
    case "granted":
      return { at, actor: consumer, verb: "claim", status, attempt };
    case "completed":
      return { at, actor: consumer, verb: "complete", status, attempt };
    case "released":
    case "failed":
      return { at, actor: consumer, verb: "release", status, error: step.error, attempt };
    case "exhausted":
      return { at, actor: "ledger", verb: "exhausted", status, error: step.error, attempt };
    case "reopened":
      return { at, actor: step.actor, verb: "reopen", status, ...endedBy(steps[index - 1]), attempt };
    default:
      return step satisfies never;
  }
}

/** The outcome that a reopening put aside. */
function endedBy(before: Life["latest"] | undefined): { error?: string | null; result?: Json } {
  if (before?.kind === "failed" || before?.kind === "exhausted") return { error: before.error };
  if (before?.kind === "completed" && before.result !== null) return { result: valueOf(before.result) };
  return {};
}

const valueOf = (text: string | null): Json => (text === null ? null : JSON.parse(text));
