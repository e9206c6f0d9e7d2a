// The reference model's `inspect`: the journal told as the view that callers see, bodies included.

import type { ClaimStatus, ClaimView, HistoryEntry, JobView, Json } from "../../../ledger-service/contract/index.ts";
import type { JobName } from "../../../ledger-service/src/job/job-name.ts";
import type { Settings } from "../../../ledger-service/src/job/schedule.ts";
import { attemptAt, bodiesOf, bytesOf, consumersIn, dispatchedBy, earlierBodies, eventsIn } from "./facts.ts";
import { expectationsIn, type Facts, isOver, roundOf, type Life, lifeOf, waitingFor } from "./facts.ts";
import { nextRing } from "./reference-watch.ts";

const KEPT_HISTORY = 20;
/** After so many alerts a person should look. */
const RINGS_BEFORE_OVERDUE = 3;

export function inspect(facts: Facts, settings: Settings, name: JobName): JobView | null {
  if (facts.length === 0) return null;
  const events = eventsIn(facts);
  const next = nextRing(facts, settings);
  return {
    ...name,
    events: events.map((first) => {
      const { type, at } = first;
      const { source, body } = bodiesOf(facts, type).at(-1) ?? first;
      return { type, source, receivedAt: at, bytes: bytesOf(body), replaced: earlierBodies(facts, type), body };
    }),
    conflict: events.length > 1,
    claims: consumersIn(facts).flatMap((consumer) => {
      const life = lifeOf(facts, consumer);
      return life === null ? [] : [viewOf(life, roundOf(facts, consumer))];
    }),
    unfinished: waitingFor(facts),
    expectations: expectationsIn(facts).map(({ by, at, dueAt, cancelledBy }) => ({
      by,
      setAt: at,
      dueAt,
      cancelledBy,
    })),
    watch: next && {
      reason: next.reason,
      rings: next.count,
      nextAt: next.at,
      overdue: next.count >= RINGS_BEFORE_OVERDUE,
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
  abandoned: "abandoned",
};

function viewOf(life: Life, round: number): ClaimView {
  const { consumer, latest, grant, attempt, fence, eventType, claimedAt, leaseEnd, changedAt } = life;
  return {
    consumer,
    status: STATUS[latest.kind],
    eventType,
    attempt,
    fence,
    maxAttempts: grant?.limit ?? null,
    round,
    claimedAt,
    changedAt,
    leaseExpiresAt: latest.kind === "granted" ? leaseEnd : null,
    retryAt: latest.kind === "released" ? latest.retryAt : null,
    endedAt: isOver(life) ? latest.at : null,
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
    case "abandoned": {
      const before = steps[index - 1];
      const error = before?.kind === "released" ? { error: before.error } : {};
      return { at, actor: step.actor, verb: "abandon", status, ...error, attempt };
    }
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
