// The reference model's alarm: whom to call and when, what is told, and when a job is forgotten.

import type { Settings } from "../../../ledger-service/src/job/schedule.ts";
import type { Alarm, Answer, SentAlert } from "./command.ts";
import {
  type Called,
  consumersIn,
  dispatchedBy,
  earlierBodies,
  eventsIn,
  expectationRound,
  type Fact,
  type Facts,
  hopingIn,
  isOfTheWatch,
  lifeOf,
  roundOf,
  untoldIn,
  waitingFor,
  type WatchReason,
} from "./facts.ts";
import { answer, giveUp } from "./reference.ts";

const A_DAY = 86_400_000;
/** Somebody the job waits for: how many calls he has had, when the next is due, and whether it asks Sume first. */
type Waiting = { name: string; round: number; reason: WatchReason; count: number; at: number; refresh: boolean };

/** Everybody the job waits for: those who expect the event until it comes, then those who have not finished. */
function waitingIn(facts: Facts, settings: Settings): Waiting[] {
  const [event] = eventsIn(facts);
  if (event === undefined) {
    return hopingIn(facts).map(({ by: name, dueAt: deadline }) => {
      const round = expectationRound(facts, name);
      const call = callIn(facts, "not_arrived", { name, round });
      return {
        name,
        round,
        reason: "not_arrived",
        count: call?.count ?? 0,
        at: call?.nextAt ?? deadline,
        refresh: false,
      };
    });
  }
  return waitingFor(facts).map((name) => {
    const life = lifeOf(facts, name);
    const round = roundOf(facts, name);
    const call = callIn(facts, "not_finished", { name, round });
    const isReopened = life?.latest.kind === "reopened";
    // What was reopened is dispatched at once; everything else is first left to the queues.
    const firstAt = event.at + settings.watchAfterMs;
    const quietUntil = isReopened ? life.latest.at : Math.max(firstAt, graceOf(facts, name, settings));
    return {
      name,
      round,
      reason: "not_finished",
      count: call?.count ?? 0,
      at: call === null ? quietUntil : Math.max(quietUntil, call.nextAt),
      refresh: call === null && life?.latest.kind === "reopened" && life.latest.refresh,
    };
  });
}

/** Somebody's last call, if it was in that round. */
function callIn(facts: Facts, reason: WatchReason, { name, round }: { name: string; round: number }): Called | null {
  const calls = facts.flatMap((fact) => (fact.kind === "rang" && fact.reason === reason ? fact.whom : []));
  const last = calls.findLast((called) => called.name === name);
  return last?.round === round ? last : null;
}

/** When the time is over that a message, a holder or a pause has until somebody asks. */
function graceOf(facts: Facts, consumer: string, { graceMs, watchAfterMs }: Settings): number {
  const life = lifeOf(facts, consumer);
  if (life?.latest.kind === "granted") return life.leaseEnd + graceMs;
  if (life?.latest.kind === "released") return life.latest.retryAt + graceMs;
  if (life !== null) return Number.NEGATIVE_INFINITY;
  const sent = consumersIn(facts).flatMap((other) => {
    const sender = lifeOf(facts, other);
    const isSender = sender?.latest.kind === "completed" && dispatchedBy(sender).includes(consumer);
    return isSender ? [sender.changedAt] : [];
  });
  return Math.max(...sent) + Math.min(graceMs, watchAfterMs);
}

/** What the job's silence would be alerted as, when, and the most calls that anybody has had. */
export function nextRing(facts: Facts, settings: Settings): { reason: WatchReason; count: number; at: number } | null {
  const waiting = waitingIn(facts, settings);
  const [first] = waiting;
  if (first === undefined) return null;
  return {
    reason: first.reason,
    count: Math.max(...waiting.map(({ count }) => count)),
    at: Math.min(...waiting.map(({ at }) => at)),
  };
}

/** When all is forgotten: the retention after the last change, if nothing is waited for. */
function forgottenAt(facts: Facts, settings: Settings): number | null {
  if (settings.retentionMs === null || facts.length === 0 || waitingIn(facts, settings).length > 0) return null;
  const changes = [
    ...eventsIn(facts).flatMap(({ at, type }) => [at, ...earlierBodies(facts, type).map((earlier) => earlier.at)]),
    ...consumersIn(facts).map((consumer) => lifeOf(facts, consumer)?.changedAt ?? 0),
    facts.findLast(isOfTheWatch)?.at ?? 0,
  ];
  return Math.max(...changes) + settings.retentionMs;
}

/** When the alarm has something to do; `null` for never. */
export function dueAt(facts: Facts, settings: Settings): number | null {
  const times = [untoldIn(facts)[0]?.at, nextRing(facts, settings)?.at, forgottenAt(facts, settings)];
  const due = Math.min(...times.map((at) => at ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(due) ? due : null;
}

/** Rings. What the queue refuses, and all that would have come after it, is sent at another alarm. */
export function ring(
  journal: Fact[],
  { accepts, meanwhile, slowMs }: Alarm<string>,
  { at, settings }: { at: number; settings: Settings },
): Answer & { refused: boolean; endedAt: number } {
  for (const consumer of consumersIn(journal)) {
    const life = lifeOf(journal, consumer);
    if (life !== null) giveUp(journal, life, at);
  }
  const untold = untoldIn(journal).map(({ type }) => type);
  const due = waitingIn(journal, settings).filter((waiting) => waiting.at <= at);
  const alerts: SentAlert[] = untold.map(() => ({ reason: "conflict", ring: 1, pending: [] }));
  const [first] = due;
  if (first !== undefined) {
    const { reason } = first;
    const pending = reason === "not_finished" ? due.map(({ name }) => name).toSorted() : [];
    const count = Math.max(...due.map((waiting) => waiting.count)) + 1;
    const isRefresh = due.some(({ refresh }) => refresh);
    alerts.push({ reason, ring: count, pending, ...(isRefresh && { refresh: true }) });
  }
  if (alerts.length === 0) {
    const end = forgottenAt(journal, settings);
    if (end !== null && end <= at) journal.splice(0);
    return { outcome: null, alerts, refused: false, endedAt: at };
  }

  const between = meanwhile === null ? null : answer(journal, meanwhile, at + slowMs);
  const endedAt = at + 2 * slowMs;
  const refused = alerts.length > accepts;
  const told = untold.slice(0, accepts);
  if (told.length > 0) journal.push({ kind: "told", at: endedAt, types: told });
  if (!refused) {
    // It counts for those it was for whom the job still waits for, for the same; nobody else's pause begins.
    const now = waitingIn(journal, settings);
    const whom = due.flatMap(({ name, reason, round }): Called[] => {
      const waiting = now.find((other) => other.name === name && other.reason === reason && other.round === round);
      if (waiting === undefined) return [];
      const count = waiting.count + 1;
      return [{ name, round, count, nextAt: endedAt + Math.min(settings.watchAfterMs * 2 ** (count - 1), A_DAY) }];
    });
    if (first !== undefined && whom.length > 0) journal.push({ kind: "rang", at: endedAt, reason: first.reason, whom });
  }
  return { outcome: between?.outcome ?? null, alerts: alerts.slice(0, accepts), refused, endedAt };
}
