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
  /** Given up by an operator, perhaps before the consumer ever had it. */
  | { kind: "abandoned"; actor: string }
  | { kind: "reopened"; actor: string; eventType: string; refresh: boolean }
);

export type WatchReason = "not_arrived" | "not_finished";
type Body = { at: number; type: string; source: EventSource; body: string };

/** Facts of the watch: they share a row. */
type WatchFact = { at: number } & (
  | { kind: "announced"; by: string; dueAt: number }
  | { kind: "calledOff"; actor: string; whose: readonly string[] }
  /** Conflict alerts are on the queue, for these types. */
  | { kind: "told"; types: readonly string[] }
  /** An alert is on the queue; each whom it is for has a count and a pause of his own. */
  | { kind: "rang"; reason: WatchReason; whom: readonly Called[] }
);
export type Called = { name: string; round: number; count: number; nextAt: number };

/** `replaced`: another body of a type that came before, kept in the earlier one's place. */
export type Fact = ClaimFact | WatchFact | ({ kind: "event" } & Body) | ({ kind: "replaced" } & Body);

export type Facts = readonly Fact[];
/** What decides a claim's status: all its facts but the lengthening of a lease. */
type Step = Exclude<ClaimFact, { kind: "prolonged" }>;

const MOST_KEPT = 20;

const isGrant = (fact: Fact) => fact.kind === "granted";
const isReopening = (fact: Fact) => fact.kind === "reopened";

export const isOfTheWatch = ({ kind }: Fact) => ["announced", "calledOff", "told", "rang"].includes(kind);

/** The first of each type. */
export const eventsIn = (facts: Facts) => facts.filter((fact) => fact.kind === "event");

/** All bodies of a type that were ever kept, oldest first. */
export function bodiesOf(facts: Facts, type: string) {
  return facts.filter((fact) => fact.kind === "event" || fact.kind === "replaced").filter((body) => body.type === type);
}

/** The bodies that gave way to a newer one: when, and how large they were; the last 20. */
export function earlierBodies(facts: Facts, type: string): { at: number; bytes: number }[] {
  const bodies = bodiesOf(facts, type);
  return bodies
    .slice(1)
    .map(({ at }, index) => ({ at, bytes: bytesOf(bodies[index]?.body ?? "") }))
    .slice(-MOST_KEPT);
}

export const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** Events that conflict with the first, and whose alert has yet to go out. */
export function untoldIn(facts: Facts) {
  const told = new Set(facts.flatMap((fact) => (fact.kind === "told" ? fact.types : [])));
  return eventsIn(facts)
    .slice(1)
    .filter(({ type }) => !told.has(type));
}

/** What each consumer said last about the event's coming, in the order in which they said it; `open` while it is waited for. */
export function expectationsIn(facts: Facts) {
  const hasArrived = eventsIn(facts).length > 0;
  return facts.flatMap((fact, index) => {
    if (fact.kind !== "announced") return [];
    const later = facts.slice(index + 1);
    if (later.some((other) => other.kind === "announced" && other.by === fact.by)) return [];
    const calledOff = later.find((other) => other.kind === "calledOff" && other.whose.includes(fact.by));
    const cancelledBy = calledOff?.kind === "calledOff" ? calledOff.actor : null;
    return [{ ...fact, index, cancelledBy, open: cancelledBy === null && !hasArrived }];
  });
}

export function consumersIn(facts: Facts): string[] {
  return [...new Set(facts.flatMap((fact) => ("consumer" in fact ? [fact.consumer] : [])))].toSorted();
}

export type Life = NonNullable<ReturnType<typeof lifeOf>>;

/** One consumer's part in the job, `null` if it never had the claim and nobody gave it up for it. */
export function lifeOf(facts: Facts, consumer: string) {
  const own = facts.filter((fact): fact is ClaimFact => "consumer" in fact && fact.consumer === consumer);
  const steps: Step[] = own.filter((fact) => fact.kind !== "prolonged");
  const [first] = steps;
  const latest = steps.at(-1);
  if (first === undefined || latest === undefined) return null;
  const grants = steps.filter((fact) => fact.kind === "granted");
  const [event] = eventsIn(facts);
  const reopening = steps.findLast((fact) => fact.kind === "reopened");
  return {
    consumer,
    steps,
    /** Its status is what this made it. */
    latest,
    /** The one before. */
    previous: steps.at(-2),
    grants,
    grant: grants.at(-1),
    claimedAt: grants.at(-1)?.at ?? first.at,
    attempt: attemptAt(steps, steps.length - 1),
    fence: grants.reduce((last, { at }) => Math.max(at, last + 1), 0),
    leaseEnd: own.findLast((fact) => "until" in fact)?.until ?? Number.NEGATIVE_INFINITY,
    eventType: reopening?.eventType ?? event?.type ?? "",
    dispatchedTo: steps.findLast((fact) => fact.kind === "completed" && fact.dispatchedTo !== null),
    changedAt: own.at(-1)?.at ?? latest.at,
  };
}

/** The consumers that its holder sent messages to, at its last completion that named any. */
export function dispatchedBy({ dispatchedTo }: Life): readonly string[] {
  return dispatchedTo?.kind === "completed" ? (dispatchedTo.dispatchedTo ?? []) : [];
}

/** How often the consumer's part was opened: with the part of whoever sent it the first message, and by each reopening. */
export function roundOf(facts: Facts, consumer: string): number {
  const first = facts.findIndex((fact) => "consumer" in fact && fact.consumer === consumer);
  const before = first === -1 ? facts : facts.slice(0, first);
  const dispatchers = consumersIn(before)
    .filter((other) => other !== consumer)
    .filter((other) => dispatchedBy(lifeIn(before, other)).includes(consumer));
  const reopenings = facts.filter((fact) => isReopening(fact) && "consumer" in fact && fact.consumer === consumer);
  return Math.max(1, ...dispatchers.map((other) => roundOf(before, other))) + reopenings.length;
}

/** How often the consumer has set a deadline that counted. */
export function expectationRound(facts: Facts, by: string): number {
  return facts.filter((fact) => fact.kind === "announced" && fact.by === by).length;
}

function lifeIn(facts: Facts, consumer: string): Life {
  const life = lifeOf(facts, consumer);
  if (life === null) throw new Error(`${consumer} has no part in the job`);
  return life;
}

/** How many grants in a row, without a reopening among them, led to the last grant before that step. */
export function attemptAt(steps: readonly Step[], index: number): number {
  const upTo = steps.slice(0, steps.slice(0, index + 1).findLastIndex(isGrant) + 1);
  return upTo.slice(upTo.findLastIndex(isReopening) + 1).filter(isGrant).length;
}

/** Holders in a row, before the present one, of whom nothing was heard: a grant that follows another, with nothing between. */
export function vanishedBefore({ steps }: Life): number {
  return steps.length - 1 - (steps.findLastIndex((step) => !isGrant(step)) + 1);
}

/** Whether that is the last attempt the holder asked for. */
export function isLastAttempt({ grant, attempt }: Life): boolean {
  const limit = grant?.limit ?? null;
  return limit !== null && attempt >= limit;
}

/** Ended, unless an operator reopens it. */
export const isOver = ({ latest }: Life) => ["completed", "failed", "exhausted", "abandoned"].includes(latest.kind);

/** Whom the job waits for: claims that are not over, and who was sent a message and never claimed. */
export function waitingFor(facts: Facts): string[] {
  const lives = consumersIn(facts).flatMap((consumer) => lifeOf(facts, consumer) ?? []);
  const known = new Set(lives.map(({ consumer }) => consumer));
  const open = lives.filter((life) => !isOver(life)).map(({ consumer }) => consumer);
  const called = lives.flatMap(dispatchedBy).filter((consumer) => !known.has(consumer));
  return [...new Set([...open, ...called])].toSorted();
}

/** Who still waits for the event to come. */
export const hopingIn = (facts: Facts) => expectationsIn(facts).filter(({ open }) => open);
