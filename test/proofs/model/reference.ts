// The reference model: what each call answers and what it adds to the journal. Written after the tables of the design, to be
// read as a second specification. The alarm and the watch are in reference-watch.ts, `inspect` in reference-view.ts.

import type {
  AbandonOutcome,
  CancelExpectationOutcome,
  ClaimOutcome,
  CompleteOutcome,
  ExpectEventOutcome,
  LedgerEvent,
  ReleaseOutcome,
  RenewOutcome,
  ReopenOutcome,
  Stale,
} from "../../../ledger-service/contract/index.ts";
import type { Answer, Call } from "./command.ts";
import {
  bodiesOf,
  dispatchedBy,
  eventsIn,
  expectationsIn,
  type Fact,
  hopingIn,
  isLastAttempt,
  isOver,
  type Life,
  lifeOf,
  vanishedBefore,
  waitingFor,
} from "./facts.ts";

type Given<Verb> = Extract<Call<string>, { verb: Verb }>;

const MOST_EVENT_TYPES = 4;

/** Answers the call; the journal tells what it changed. No call sends an alert: the alarm does. */
export function answer(journal: Fact[], call: Call<string>, at: number): Answer {
  return { outcome: outcomeOf(journal, call, at), alerts: [] };
}

/** Writes what the call changed at the end of the journal; nothing, if it changed nothing. */
function outcomeOf(journal: Fact[], call: Call<string>, at: number): object {
  switch (call.verb) {
    case "claim":
      return claim(journal, call, at);
    case "complete":
      return complete(journal, call, at);
    case "release":
      return release(journal, call, at);
    case "renew":
      return renew(journal, call, at);
    case "reopen":
      return reopen(journal, call, at);
    case "abandon":
      return abandon(journal, call, at);
    case "expectEvent":
      return expectEvent(journal, call, at);
    case "cancelExpectation":
      return cancelExpectation(journal, call, at);
    default:
      return call satisfies never;
  }
}

/** A claim brings its event first; then its consumer is given the claim, or told why not. */
function claim(journal: Fact[], call: Given<"claim">, at: number): ClaimOutcome {
  const { event } = call;
  if (event !== null) bring(journal, event, at);
  const [first] = eventsIn(journal);
  if (first === undefined) return { outcome: "unknown" };
  const outcome = claimOf(journal, call, at);
  if (event === null || event.type === first.type) return outcome;
  return { ...outcome, conflict: { recorded: first.type, received: event.type } };
}

/**
 * Each type is kept once, four at most; of each the newest body, as long as somebody has not finished. What was
 * polled never takes the place of what was signed.
 */
function bring(journal: Fact[], event: LedgerEvent, at: number): void {
  const { type, source, body } = event;
  const kept = bodiesOf(journal, type).at(-1);
  if (kept === undefined) {
    if (eventsIn(journal).length < MOST_EVENT_TYPES) journal.push({ kind: "event", at, type, source, body });
  } else if (
    kept.body !== body &&
    waitingFor(journal).length > 0 &&
    !(source === "poll" && kept.source === "webhook")
  ) {
    journal.push({ kind: "replaced", at, type, source, body });
  }
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
    case "abandoned": {
      const error = `abandoned by ${latest.actor}`;
      return { outcome: "failed", attempt, fence, failedAt: latest.at, error };
    }
    case "released":
      return at < latest.retryAt ? { outcome: "deferred", attempt, fence, retryAt: latest.retryAt } : grant();
    case "granted":
      break;
    default:
      return latest satisfies never;
  }
  if (at < life.leaseEnd) {
    // The holder itself, once more: it is told what it was told.
    if (token === life.grant?.token) return claimed(journal, consumer);
    return { outcome: "in_progress", attempt, fence, retryAt: life.leaseEnd };
  }
  // Whoever comes after the lease is a new attempt, also the holder itself with the token it had.
  return giveUp(journal, life, at) ? claimOf(journal, call, at) : grant();
}

function claimed(journal: Fact[], consumer: string): ClaimOutcome {
  const life = lifeOf(journal, consumer);
  const newest = life && bodiesOf(journal, life.eventType).at(-1);
  if (!life?.grant || !newest) throw new Error("a grant without its event");
  const { attempt, fence, leaseEnd, grant } = life;
  const { type, body, source } = newest;
  const vanished = vanishedBefore(life);
  return {
    outcome: "claimed",
    attempt,
    fence,
    token: grant.token,
    leaseExpiresAt: leaseEnd,
    event: { type, body, source },
    ...(vanished > 0 && { vanished }),
  };
}

/** The lease of the last attempt ran out: the ledger gives the claim up. Whether it did. */
export function giveUp(journal: Fact[], life: Life, at: number): boolean {
  const { consumer, latest, attempt, grant, leaseEnd } = life;
  if (latest.kind !== "granted" || at < leaseEnd || !isLastAttempt(life)) return false;
  const error = `attempts used up: the lease of attempt ${attempt} of ${grant?.limit} ran out`;
  journal.push({ kind: "exhausted", consumer, at, error });
  return true;
}

/** Whose token it is: the consumer's latest, and not from before a reopening. */
function holder(journal: Fact[], { consumer, token }: { consumer: string; token: string }): Life | Stale {
  const life = lifeOf(journal, consumer);
  if (life === null || life.latest.kind === "reopened") return { outcome: "stale", reason: "no_claim" };
  // Abandoned while nobody held it: nobody has anything to settle.
  if (life.latest.kind === "abandoned" && life.previous?.kind !== "granted") {
    return { outcome: "stale", reason: "no_claim" };
  }
  return life.grant?.token === token ? life : TAKEN;
}

const TAKEN: Stale = { outcome: "stale", reason: "taken" };
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

/** A claim that is over is made claimable again; one that is reopened already, only for another event or a fresh one. */
function reopen(journal: Fact[], call: Given<"reopen">, at: number): ReopenOutcome {
  const { actor, consumer, refresh } = call;
  const life = lifeOf(journal, consumer);
  if (life === null) return { outcome: "unknown", missing: "claim" };
  const eventType = call.eventType ?? life.eventType;
  if (!eventsIn(journal).some(({ type }) => type === eventType)) return { outcome: "unknown", missing: "event" };
  giveUp(journal, life, at);
  const latest = lifeOf(journal, consumer)?.latest;
  if (latest?.kind === "granted") return { outcome: "open", status: "claimed" };
  if (latest?.kind === "released") return { outcome: "open", status: "released" };
  const saysNothingNew = latest?.kind === "reopened" && latest.eventType === eventType && (!refresh || latest.refresh);
  const asks = refresh || (latest?.kind === "reopened" && latest.refresh);
  if (!saysNothingNew) journal.push({ kind: "reopened", consumer, at, actor, eventType, refresh: asks });
  return { outcome: "reopened" };
}

/** Whoever the job waits for is waited for no more. */
function abandon(journal: Fact[], { actor, consumer }: Given<"abandon">, at: number): AbandonOutcome {
  const known = lifeOf(journal, consumer);
  if (known !== null) giveUp(journal, known, at);
  const life = lifeOf(journal, consumer);
  if (life?.latest.kind === "abandoned") return { outcome: "abandoned" };
  if (life !== null && isOver(life)) {
    return { outcome: "ended", status: life.latest.kind === "completed" ? "completed" : "failed" };
  }
  if (!waitingFor(journal).includes(consumer)) return { outcome: "unknown" };
  journal.push({ kind: "abandoned", consumer, at, actor });
  return { outcome: "abandoned" };
}

/** Of one's own deadlines the earlier stays. */
function expectEvent(journal: Fact[], call: Given<"expectEvent">, at: number): ExpectEventOutcome {
  if (eventsIn(journal).length > 0) return { outcome: "arrived" };
  const { consumer: by } = call;
  const dueAt = at + call.withinMs;
  const standing = hopingIn(journal).find((expectation) => expectation.by === by);
  if (standing !== undefined && standing.dueAt <= dueAt) return { outcome: "expected", dueAt: standing.dueAt };
  journal.push({ kind: "announced", at, by, dueAt });
  return { outcome: "expected", dueAt };
}

/** One's own; an operator everybody's. */
function cancelExpectation(journal: Fact[], call: Given<"cancelExpectation">, at: number): CancelExpectationOutcome {
  const isMeant = ({ by }: { by: string }) => call.consumer === null || call.consumer === by;
  if (!expectationsIn(journal).some(isMeant)) return { outcome: "none" };
  if (eventsIn(journal).length > 0) return { outcome: "arrived" };
  const whose = hopingIn(journal)
    .filter(isMeant)
    .map(({ by }) => by);
  if (whose.length > 0) journal.push({ kind: "calledOff", at, actor: call.actor, whose });
  return { outcome: "cancelled" };
}
