// Random lives of a job for fast-check: steps as plain data, which shrink well and print as they are. A step names a token
// and a time by what they are at that point («the latest», «the end of that lease»); agreement.ts finds out which that is.

import * as fc from "fast-check";
import type { LedgerEvent } from "../../../ledger-service/contract/index.ts";
import type { Alarm, Call, Command } from "./command.ts";

/** `latest`: of the consumer's present attempt; `earlier`: used before it; `another's`: another consumer's latest. */
export type TokenChoice = "latest" | "fresh" | "earlier" | "another's";

/** What the clock does before the command. `off` is added to the time meant, so that both sides of it are met. */
export type Jump =
  | { to: "now"; off: number }
  | { to: "end of lease" | "retry time"; consumer: string; off: number }
  | { to: "due time" | "alarm"; off: number };

export type Step = {
  jump: Jump;
  command: Command<TokenChoice>;
  /** Whether the object is evicted first, so that it reads its storage again. */
  evict: boolean;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Values by weight; the first is what a failing case shrinks to. */
const oneOf = <T>(...choices: [weight: number, value: T][]): fc.Arbitrary<T> =>
  fc.oneof({ withCrossShrink: true }, ...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));

const consumer = oneOf<string>([8, "index"], [3, "receiver"], [2, "constructor"]);
const actor = fc.constantFrom("ann", "bo");
const leaseMs = fc.constantFrom(MINUTE, SECOND, 15 * MINUTE);
const claimToken = oneOf<TokenChoice>([8, "fresh"], [4, "latest"], [1, "earlier"], [1, "another's"]);
const settleToken = oneOf<TokenChoice>([10, "latest"], [1, "fresh"], [2, "earlier"], [1, "another's"]);
const eventType = oneOf<string>([6, "job.completed"], [3, "job.failed"], [2, "3"], [1, "4"], [1, "5"]);
const dispatchedTo = fc.option(fc.subarray(["index", "receiver", "constructor", "nobody"]));
const error = oneOf<string | null>([1, null], [1, "disk full"], [1, ""]);
const result = oneOf<string | null>([2, null], [1, '{"rows":3}'], [1, "false"], [1, "null"]);

const event: fc.Arbitrary<LedgerEvent> = fc.record({
  type: eventType,
  body: fc.constantFrom('{"job_id":"a"}', '{"job_id":"b"}', '{ "n": 1e400 }', '{"ü":"€"}'),
  source: fc.constantFrom("webhook", "poll"),
});

const claim = (brought: fc.Arbitrary<LedgerEvent | null>): fc.Arbitrary<Call<TokenChoice>> =>
  fc.record({
    verb: fc.constant("claim"),
    consumer,
    token: claimToken,
    event: brought,
    leaseMs,
    maxAttempts: oneOf<number | null>([3, null], [2, 1], [3, 2], [1, 3]),
  });
const complete: fc.Arbitrary<Call<TokenChoice>> = fc.record({
  verb: fc.constant("complete"),
  consumer,
  token: settleToken,
  result,
  dispatchedTo,
});
const release: fc.Arbitrary<Call<TokenChoice>> = fc.record({
  verb: fc.constant("release"),
  consumer,
  token: settleToken,
  error,
  retryAfterMs: oneOf([4, 0], [1, 1], [2, 30 * SECOND], [1, 12 * HOUR]),
  permanent: oneOf([4, false], [1, true]),
});
const renew: fc.Arbitrary<Call<TokenChoice>> = fc.record({
  verb: fc.constant("renew"),
  consumer,
  token: settleToken,
  leaseMs,
});
const reopen: fc.Arbitrary<Call<TokenChoice>> = fc.record({
  verb: fc.constant("reopen"),
  actor,
  consumer,
  eventType: oneOf<string | null>([4, null], [1, "job.completed"], [1, "job.failed"]),
  refresh: oneOf([3, false], [1, true]),
});
const abandon: fc.Arbitrary<Call<TokenChoice>> = fc.record({ verb: fc.constant("abandon"), actor, consumer });
const expecting = oneOf<string>([3, "index"], [3, "receiver"], [2, "constructor"]);
const expectEvent: fc.Arbitrary<Call<TokenChoice>> = fc.record({
  verb: fc.constant("expectEvent"),
  consumer: expecting,
  withinMs: fc.constantFrom(10 * MINUTE, 1, 30 * DAY),
});
const cancelExpectation: fc.Arbitrary<Call<TokenChoice>> = fc.record({
  verb: fc.constant("cancelExpectation"),
  consumer: fc.option(expecting),
  actor,
});

const weighted = <T>(...choices: [number, fc.Arbitrary<T>][]) =>
  fc.oneof({ withCrossShrink: true }, ...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const anyCall = weighted(
  [10, claim(fc.option(event))],
  [5, complete],
  [4, release],
  [3, renew],
  [3, reopen],
  [1, abandon],
  [1, expectEvent],
  [1, cancelExpectation],
);
/** Before the event came: what else can happen to a job that is only expected. */
const earlyCall = weighted(
  [6, expectEvent],
  [2, cancelExpectation],
  [1, claim(fc.constant(null))],
  [1, weighted([1, complete], [1, release], [1, renew], [1, reopen], [1, abandon])],
);
/** What is most easily lost while an alert is on its way. */
const crossing = weighted(
  [2, claim(event)],
  [1, complete],
  [1, reopen],
  [1, abandon],
  [1, expectEvent],
  [1, cancelExpectation],
);
const alarm = (meanwhile: fc.Arbitrary<Call<TokenChoice>>): fc.Arbitrary<Alarm<TokenChoice>> =>
  fc.record({
    verb: fc.constant("alarm"),
    accepts: oneOf([6, 9], [1, 0], [1, 1]),
    meanwhile: fc.option(meanwhile, { freq: 2 }),
    slowMs: oneOf([3, 0], [1, 1], [1, 12 * SECOND]),
  });

const jump: fc.Arbitrary<Jump> = weighted<Jump>(
  [10, fc.record({ to: fc.constant("now"), off: fc.constant(0) })],
  [3, fc.record({ to: fc.constant("now"), off: fc.constantFrom(1, SECOND, MINUTE, 15 * MINUTE, HOUR, DAY, 31 * DAY) })],
  [2, fc.record({ to: fc.constant("now"), off: fc.constantFrom(-1, -MINUTE, -HOUR, -2 * DAY) })],
  [4, fc.record({ to: fc.constantFrom("end of lease", "retry time"), consumer, off: fc.constantFrom(0, -1, 1) })],
  [3, fc.record({ to: fc.constantFrom("due time", "alarm"), off: fc.constantFrom(0, -1, 1) })],
);

const step = (call: fc.Arbitrary<Call<TokenChoice>>): fc.Arbitrary<Step> =>
  fc.record({
    jump,
    command: weighted<Command<TokenChoice>>([7, call], [1, alarm(call)], [1, alarm(crossing)]),
    evict: oneOf([9, false], [1, true]),
  });

const own = { consumer: "index", token: "latest" } as const;
const CLAIM: Command<TokenChoice> = {
  ...own,
  verb: "claim",
  token: "fresh",
  event: { type: "job.completed", body: "{}", source: "webhook" },
  leaseMs: MINUTE,
  maxAttempts: null,
};
const COMPLETE: Command<TokenChoice> = { ...own, verb: "complete", result: "1", dispatchedTo: null };
const RELEASE = { ...own, verb: "release", error: "again", retryAfterMs: 0 } as const;
const REOPEN: Command<TokenChoice> = {
  verb: "reopen",
  actor: "ann",
  consumer: "index",
  eventType: null,
  refresh: false,
};

/** One consumer, attempt after attempt, until its history is full. */
const busy: fc.Arbitrary<Step[]> = fc
  .array(
    fc.constantFrom<Command<TokenChoice>[]>(
      [CLAIM, { ...RELEASE, permanent: false }],
      [CLAIM, COMPLETE, REOPEN],
      [CLAIM, { ...RELEASE, permanent: true }, REOPEN],
    ),
    { maxLength: 16, size: "max" },
  )
  .map((rounds) => rounds.flat().map((command) => ({ jump: { to: "now", off: 0 }, command, evict: false })));

const sometimes = (share: number, steps: fc.Arbitrary<Step[]>) =>
  weighted([share, fc.constant<Step[]>([])], [1, steps]);

/** Most jobs begin with their event; some are expected first. */
export const life: fc.Arbitrary<Step[]> = fc
  .tuple(
    sometimes(2, fc.array(step(earlyCall), { maxLength: 8, size: "max" })),
    sometimes(9, busy),
    fc.array(step(anyCall), { minLength: 1, maxLength: 80, size: "max" }),
  )
  .map((parts) => parts.flat());

/** The life in pieces, each lived by one instance of the object. */
export function instances(steps: readonly Step[]): Step[][] {
  const pieces: Step[][] = [[]];
  for (const next of steps) {
    if (next.evict) pieces.push([]);
    pieces.at(-1)?.push(next);
  }
  return pieces;
}
