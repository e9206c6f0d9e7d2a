// The reference model: what each call answers and what it adds to the journal. Written after the tables of the design, to be
// read as a second specification. The alarm and the watch are in reference-watch.ts, `inspect` in reference-view.ts.

import type {
  CancelExpectationOutcome,
  ClaimOutcome,
  CompleteOutcome,
  ExpectEventOutcome,
  ReleaseOutcome,
  RenewOutcome,
  ReopenOutcome,
  Stale,
} from "../../../ledger-service/contract/index.ts";
import type { Answer, Call } from "./command.ts";
import { dispatchedBy, eventsIn, expectationIn, type Fact, isLastAttempt, type Life, lifeOf } from "./facts.ts";

type Given<Verb> = Extract<Call<string>, { verb: Verb }>;

const MOST_EVENT_TYPES = 4;

const quiet = (outcome: object): Answer => ({ outcome, alerts: [] });

/** Answers the call and writes what it changed at the end of the journal; nothing, if it changed nothing. */
export function answer(journal: Fact[], call: Call<string>, at: number): Answer {
  switch (call.verb) {
    case "claim":
      return claim(journal, call, at);
    case "complete":
      return quiet(complete(journal, call, at));
    case "release":
      return quiet(release(journal, call, at));
    case "renew":
      return quiet(renew(journal, call, at));
    case "reopen":
      return quiet(reopen(journal, call, at));
    case "expectEvent":
      return quiet(expectEvent(journal, call, at));
    case "cancelExpectation":
      return quiet(cancelExpectation(journal, call, at));
    default:
      return call satisfies never;
  }
}

/** An event is kept once for each type, four types at most; every one but the first must be told of, once. */
function claim(journal: Fact[], call: Given<"claim">, at: number): Answer {
  const { event } = call;
  const kept = eventsIn(journal);
  const isNew = event !== null && kept.length < MOST_EVENT_TYPES && !kept.some(({ type }) => type === event.type);
  const conflicts = isNew && kept.length > 0;
  if (isNew) journal.push({ kind: "event", at, ...event, told: !conflicts || call.told });
  const alerts = conflicts && call.told ? [{ reason: "conflict", ring: 1, pending: [] }] : [];

  const [first] = eventsIn(journal);
  if (first === undefined) return { outcome: { outcome: "unknown" }, alerts };
  const outcome = claimOf(journal, call, at);
  if (event === null || event.type === first.type) return { outcome, alerts };
  return { outcome: { ...outcome, conflict: { recorded: first.type, received: event.type } }, alerts };
}

/** The table of `claim`, top to bottom by what became of the consumer's claim last. */
function claimOf(journal: Fact[], call: Given<"claim">, at: number): ClaimOutcome {
  const { consumer, token } = call;
  const life = lifeOf(journal, consumer);
  const until = at + call.leaseMs;
  const grant = (): ClaimOutcome => {
    journal.push({ kind: "granted", consumer, at, token, until, limit: call.maxAttempts });
    return claimed(journal, consumer);
  };
  if (life === null) return grant();
  const { latest, attempt, fence } = life;
  switch (latest.kind) {
    case "reopened":
      return grant();
    case "completed": {
      const dispatchedTo = [...dispatchedBy(life)];
      const result = latest.result === null ? null : JSON.parse(latest.result);
      return { outcome: "completed", attempt, fence, completedAt: latest.at, result, dispatchedTo };
    }
    case "failed":
    case "exhausted":
      return { outcome: "failed", attempt, fence, failedAt: latest.at, error: latest.error };
    case "released":
      return at < latest.retryAt ? { outcome: "deferred", attempt, fence, retryAt: latest.retryAt } : grant();
    case "granted":
      break;
    default:
      return latest satisfies never;
  }
  const lives = at < life.leaseEnd;
  if (token === life.grant.token) {
    // The holder itself, once more. It is told what it was told; with a lease that lives, if it had none any more.
    if (!lives) journal.push({ kind: "prolonged", consumer, at, until });
    return claimed(journal, consumer);
  }
  if (lives) return { outcome: "in_progress", attempt, fence, retryAt: life.leaseEnd };
  return giveUp(journal, life, at) ? claimOf(journal, call, at) : grant();
}

function claimed(journal: Fact[], consumer: string): ClaimOutcome {
  const life = lifeOf(journal, consumer);
  const event = eventsIn(journal).find(({ type }) => type === life?.eventType);
  if (life === null || event === undefined) throw new Error("a grant without its event");
  const { attempt, fence, leaseEnd, grant } = life;
  const { type, body, source } = event;
  return {
    outcome: "claimed",
    attempt,
    fence,
    token: grant.token,
    leaseExpiresAt: leaseEnd,
    event: { type, body, source },
  };
}

/** The lease of the last attempt ran out: the ledger gives the claim up. Whether it did. */
export function giveUp(journal: Fact[], life: Life, at: number): boolean {
  const { consumer, latest, attempt, grant, leaseEnd } = life;
  if (latest.kind !== "granted" || at < leaseEnd || !isLastAttempt(life)) return false;
  const error = `attempts used up: the lease of attempt ${attempt} of ${grant.limit} ran out`;
  journal.push({ kind: "exhausted", consumer, at, error });
  return true;
}

/** Whose token it is: the consumer's latest, and not from before a reopening. */
function holder(journal: Fact[], { consumer, token }: { consumer: string; token: string }): Life | Stale {
  const life = lifeOf(journal, consumer);
  if (life === null || life.latest.kind === "reopened") return { outcome: "stale", reason: "no_claim" };
  return life.grant.token === token ? life : { outcome: "stale", reason: "taken" };
}

const SETTLED: Stale = { outcome: "stale", reason: "settled" };

/** Work that was done counts, unless its holder had said otherwise; said twice, it counts once. */
function complete(journal: Fact[], call: Given<"complete">, at: number): CompleteOutcome {
  const found = holder(journal, call);
  if ("outcome" in found) return found;
  const { consumer, result, dispatchedTo } = call;
  const said = found.latest.kind;
  if (said === "released" || said === "failed") return SETTLED;
  if (said !== "completed") journal.push({ kind: "completed", consumer, at, result, dispatchedTo });
  return { outcome: "ok", status: "completed" };
}

function release(journal: Fact[], call: Given<"release">, at: number): ReleaseOutcome {
  const found = holder(journal, call);
  if ("outcome" in found) return found;
  const { latest } = found;
  if (latest.kind === "released") return { outcome: "ok", status: "released", retryAt: latest.retryAt };
  if (latest.kind === "failed") return { outcome: "ok", status: "failed" };
  if (latest.kind !== "granted") return SETTLED;
  const { consumer, error } = call;
  if (call.permanent || isLastAttempt(found)) {
    journal.push({ kind: "failed", consumer, at, error });
    return { outcome: "ok", status: "failed" };
  }
  const retryAt = at + call.retryAfterMs;
  journal.push({ kind: "released", consumer, at, retryAt, error });
  return { outcome: "ok", status: "released", retryAt };
}

function renew(journal: Fact[], call: Given<"renew">, at: number): RenewOutcome {
  const found = holder(journal, call);
  if ("outcome" in found) return found;
  if (found.latest.kind !== "granted") return SETTLED;
  const until = Math.max(found.leaseEnd, at + call.leaseMs);
  if (until > found.leaseEnd) journal.push({ kind: "prolonged", consumer: call.consumer, at, until });
  return { outcome: "ok", leaseExpiresAt: until };
}

/** A claim that is over is made claimable again; one that is reopened already, only for another event. */
function reopen(journal: Fact[], call: Given<"reopen">, at: number): ReopenOutcome {
  const { actor, consumer } = call;
  const life = lifeOf(journal, consumer);
  if (life === null) return { outcome: "unknown", missing: "claim" };
  const eventType = call.eventType ?? life.eventType;
  if (!eventsIn(journal).some(({ type }) => type === eventType)) return { outcome: "unknown", missing: "event" };
  giveUp(journal, life, at);
  const status = lifeOf(journal, consumer)?.latest.kind;
  if (status === "granted") return { outcome: "open", status: "claimed" };
  if (status === "released") return { outcome: "open", status: "released" };
  const isRepeated = status === "reopened" && life.eventType === eventType;
  if (!isRepeated) journal.push({ kind: "reopened", consumer, at, actor, eventType });
  return { outcome: "reopened" };
}

/** The earlier deadline stays. */
function expectEvent(journal: Fact[], call: Given<"expectEvent">, at: number): ExpectEventOutcome {
  if (eventsIn(journal).length > 0) return { outcome: "arrived" };
  const dueAt = at + call.withinMs;
  const standing = expectationIn(journal);
  if (standing?.open && standing.dueAt <= dueAt) return { outcome: "expected", dueAt: standing.dueAt };
  journal.push({ kind: "announced", at, by: call.consumer, dueAt });
  return { outcome: "expected", dueAt };
}

/** By who set it, or by an operator. */
function cancelExpectation(journal: Fact[], call: Given<"cancelExpectation">, at: number): CancelExpectationOutcome {
  const standing = expectationIn(journal);
  if (standing === null) return { outcome: "none" };
  if (standing.arrived) return { outcome: "arrived" };
  if (!standing.open) return { outcome: "cancelled" };
  const { by } = standing;
  if (call.consumer !== null && call.consumer !== by) return { outcome: "not_yours", by };
  journal.push({ kind: "calledOff", at, actor: call.actor });
  return { outcome: "cancelled" };
}
