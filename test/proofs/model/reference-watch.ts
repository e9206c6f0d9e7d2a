// The reference model's alarm: whom to call and when, what is told, and when a job is forgotten.

import type { Settings } from "../../../ledger-service/src/job/schedule.ts";
import type { Alarm, Answer, SentAlert } from "./command.ts";
import { consumersIn, eventsIn, expectationIn, type Fact, type Facts, lifeOf, untoldIn, waitingFor } from "./facts.ts";
import { answer, giveUp } from "./reference.ts";

const A_DAY = 86_400_000;

/** A message to the consumer would do nothing before this. */
function callableFrom(facts: Facts, consumer: string): number {
  const life = lifeOf(facts, consumer);
  if (life?.latest.kind === "granted") return life.leaseEnd;
  if (life?.latest.kind === "released") return life.latest.retryAt;
  return Number.NEGATIVE_INFINITY;
}

type Ring = { reason: "not_arrived" | "not_finished"; ring: number; at: number };

/** What the job's silence would be alerted as, for the how many-eth time, and when. */
export function nextRing(facts: Facts, { watchAfterMs }: Settings): Ring | null {
  const expectation = expectationIn(facts);
  if (expectation?.open) {
    const last = facts.findLast((fact) => fact.kind === "announced" || fact.kind === "rang");
    const [count, at] = last?.kind === "rang" ? [last.ring + 1, last.nextAt] : [1, expectation.dueAt];
    return { reason: "not_arrived", ring: count, at };
  }
  const waiting = waitingFor(facts);
  const [event] = eventsIn(facts);
  if (waiting.length === 0 || event === undefined) return null;
  // A reopening starts afresh, and at once. Rings for an event that had not come yet do not count.
  const last = facts.findLast(
    (fact) => fact.kind === "reopened" || (fact.kind === "rang" && fact.reason === "not_finished"),
  );
  const [count, at] = last?.kind === "rang" ? [last.ring + 1, last.nextAt] : [1, last?.at ?? event.at + watchAfterMs];
  const somebodyFrom = Math.min(...waiting.map((consumer) => callableFrom(facts, consumer)));
  return { reason: "not_finished", ring: count, at: Math.max(at, somebodyFrom) };
}

/** Facts about the job as a whole, besides its events. */
export const isOfTheJob = ({ kind }: Fact) => ["announced", "calledOff", "rang", "reopened"].includes(kind);

/** When all is forgotten: the retention after the last change, if nothing is waited for. */
function forgottenAt(facts: Facts, { retentionMs }: Settings): number | null {
  if (retentionMs === null || facts.length === 0) return null;
  if (expectationIn(facts)?.open || waitingFor(facts).length > 0) return null;
  const changes = [
    ...eventsIn(facts).map(({ at }) => at),
    ...consumersIn(facts).map((consumer) => lifeOf(facts, consumer)?.changedAt ?? 0),
    facts.findLast(isOfTheJob)?.at ?? 0,
  ];
  return Math.max(...changes) + retentionMs;
}

/** When the alarm has something to do; `null` for never. */
export function dueAt(facts: Facts, settings: Settings): number | null {
  const times = [untoldIn(facts)[0]?.at, nextRing(facts, settings)?.at, forgottenAt(facts, settings)];
  const due = Math.min(...times.map((at) => at ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(due) ? due : null;
}

/** Rings. What the queue refuses is as good as not tried: all of it is sent again at another alarm. */
export function ring(
  journal: Fact[],
  { accepts, meanwhile }: Alarm<string>,
  { at, settings }: { at: number; settings: Settings },
): Answer & { refused: boolean } {
  for (const consumer of consumersIn(journal)) {
    const life = lifeOf(journal, consumer);
    if (life !== null) giveUp(journal, life, at);
  }
  const untold = untoldIn(journal).map(({ type }) => type);
  const due = nextRing(journal, settings);
  const rings = due !== null && due.at <= at ? due : null;
  const alerts: SentAlert[] = untold.map(() => ({ reason: "conflict", ring: 1, pending: [] }));
  if (rings !== null) {
    const pending = waitingFor(journal).filter((consumer) => callableFrom(journal, consumer) <= at);
    alerts.push({ reason: rings.reason, ring: rings.ring, pending });
  }
  if (alerts.length === 0) {
    const end = forgottenAt(journal, settings);
    if (end !== null && end <= at) journal.splice(0);
    return { outcome: null, alerts, refused: false };
  }

  const told = journal.length;
  const between = meanwhile === null ? null : answer(journal, meanwhile, at);
  const sent = [...(between?.alerts ?? []), ...alerts.slice(0, accepts)];
  const refused = alerts.length > accepts;
  if (!refused) {
    if (untold.length > 0) journal.push({ kind: "told", at, types: untold });
    // It counts as a ring if the job still waits for the same, and nobody set its watch anew in the meantime.
    const isSetAnew = journal.slice(told).some(isOfTheJob);
    if (rings !== null && !isSetAnew && nextRing(journal, settings)?.reason === rings.reason) {
      // Sooner where somebody who could not be called now can be called sooner.
      const pause = at + Math.min(settings.watchAfterMs * 2 ** (rings.ring - 1), A_DAY);
      const others = waitingFor(journal).map((consumer) => callableFrom(journal, consumer));
      const nextAt = Math.min(pause, ...others.filter((from) => from > at));
      journal.push({ kind: "rang", at, reason: rings.reason, ring: rings.ring, nextAt });
    }
  }
  return { outcome: between?.outcome ?? null, alerts: sent, refused };
}
