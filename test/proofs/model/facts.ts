// The reference model's memory: a journal of what happened to one job, and questions asked of it. Nothing here has a state;
// what a claim's status is, which attempt it is, when its lease ends, is found each time by reading the journal backwards.
// That is slow, and as unlike the ledger's own records as can be, on purpose.

import type { EventSource } from "../../../ledger-service/contract/index.ts";

export type ClaimFact = { consumer: string; at: number } & (
  | { kind: "granted"; token: string; until: number; limit: number | null }
  | { kind: "prolonged"; until: number }
  | { kind: "completed"; result: string | null; dispatchedTo: readonly string[] | null }
  | { kind: "released"; retryAt: number; error: string | null }
  /** Given up by its holder. */
  | { kind: "failed"; error: string | null }
  /** Given up by the ledger: the lease of the last attempt ran out. */
  | { kind: "exhausted"; error: string }
  | { kind: "reopened"; actor: string; eventType: string }
);

export type Fact =
  | ClaimFact
  /** `told`: whether it needs no alert, or its alert went out when it came. */
  | { kind: "event"; at: number; type: string; source: EventSource; body: string; told: boolean }
  /** The alarm has put these types' alerts on the queue. */
  | { kind: "told"; at: number; types: readonly string[] }
  | { kind: "announced"; at: number; by: string; dueAt: number }
  | { kind: "calledOff"; at: number; actor: string }
  | { kind: "rang"; at: number; reason: "not_arrived" | "not_finished"; ring: number; nextAt: number };

export type Facts = readonly Fact[];
/** What decides a claim's status: all its facts but the lengthening of a lease. */
type Step = Exclude<ClaimFact, { kind: "prolonged" }>;

const isGrant = (fact: Fact) => fact.kind === "granted";
const isReopening = (fact: Fact) => fact.kind === "reopened";

export const eventsIn = (facts: Facts) => facts.filter((fact) => fact.kind === "event");

/** Events whose alert has yet to go out. */
export function untoldIn(facts: Facts) {
  const told = new Set(facts.flatMap((fact) => (fact.kind === "told" ? fact.types : [])));
  return eventsIn(facts).filter((event) => !event.told && !told.has(event.type));
}

/** The last thing said about the event's coming, whoever said it; `open` while it is still waited for. */
export function expectationIn(facts: Facts) {
  const announced = facts.findLast((fact) => fact.kind === "announced");
  if (announced === undefined) return null;
  const calledOff = facts.slice(facts.indexOf(announced)).findLast((fact) => fact.kind === "calledOff");
  const arrived = eventsIn(facts).length > 0;
  return { ...announced, cancelledBy: calledOff?.actor ?? null, arrived, open: calledOff === undefined && !arrived };
}

export function consumersIn(facts: Facts): string[] {
  return [...new Set(facts.flatMap((fact) => ("consumer" in fact ? [fact.consumer] : [])))].toSorted();
}

export type Life = NonNullable<ReturnType<typeof lifeOf>>;

/** One consumer's part in the job, `null` if it never had the claim. */
export function lifeOf(facts: Facts, consumer: string) {
  const own = facts.filter((fact): fact is ClaimFact => "consumer" in fact && fact.consumer === consumer);
  const steps: Step[] = own.filter((fact) => fact.kind !== "prolonged");
  const latest = steps.at(-1);
  const grants = steps.filter((fact) => fact.kind === "granted");
  const grant = grants.at(-1);
  if (latest === undefined || grant === undefined) return null;
  return {
    consumer,
    steps,
    /** Its status is what this made it. */
    latest,
    grant,
    attempt: attemptAt(steps, steps.length - 1),
    fence: grants.reduce((last, { at }) => Math.max(at, last + 1), 0),
    leaseEnd: own.findLast((fact) => "until" in fact)?.until ?? grant.until,
    eventType: steps.findLast((fact) => fact.kind === "reopened")?.eventType ?? eventsIn(facts)[0]?.type ?? "",
    dispatchedTo: steps.findLast((fact) => fact.kind === "completed" && fact.dispatchedTo !== null),
    changedAt: own.at(-1)?.at ?? latest.at,
  };
}

/** The consumers that its holder sent messages to, at its last completion that named any. */
export function dispatchedBy({ dispatchedTo }: Life): readonly string[] {
  return dispatchedTo?.kind === "completed" ? (dispatchedTo.dispatchedTo ?? []) : [];
}

/** How many grants in a row, without a reopening among them, led to the last grant before that step. */
export function attemptAt(steps: readonly Step[], index: number): number {
  const upTo = steps.slice(0, steps.slice(0, index + 1).findLastIndex(isGrant) + 1);
  return upTo.slice(upTo.findLastIndex(isReopening) + 1).filter(isGrant).length;
}

/** Whether that is the last attempt the holder asked for. */
export const isLastAttempt = ({ grant, attempt }: Life) => grant.limit !== null && attempt >= grant.limit;

/** Settled for good, unless an operator reopens it. */
export const isOver = ({ latest }: Life) => ["completed", "failed", "exhausted"].includes(latest.kind);

/** Whom the job waits for: claims that are not over, and who was sent a message and never claimed. */
export function waitingFor(facts: Facts): string[] {
  const lives = consumersIn(facts).flatMap((consumer) => lifeOf(facts, consumer) ?? []);
  const known = new Set(lives.map(({ consumer }) => consumer));
  const open = lives.filter((life) => !isOver(life)).map(({ consumer }) => consumer);
  const called = lives.flatMap(dispatchedBy).filter((consumer) => !known.has(consumer));
  return [...new Set([...open, ...called])].toSorted();
}
