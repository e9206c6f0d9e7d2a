// What a part of the bench is given, and what the parts share.

import type { CallRun, VerifyRun } from "./workers/driver/src/calls.ts";
import type { PartReport } from "./report.ts";
import { type Contender, measure, type Rates } from "./measure/rounds.ts";
import type { Driver } from "./driver.ts";

export type Context = {
  driver: Driver;
  /** The short form: fewer rounds, shorter turns. */
  quick: boolean;
  tell: (line: string) => void;
  signal: AbortSignal;
};

export type Part = (context: Context) => Promise<PartReport>;

/** Of a part in its full form: how many rounds, and milliseconds for one contender's turn and for all. */
export type Size = { rounds: number; windowMs: number; withinMs: number; firstCount?: number };

const QUICK_ROUNDS = 4;
/** Of the turns' time, and of all. */
const QUICK_SHARE = 0.4;
/** Milliseconds; a shorter turn tells nothing. */
const SHORTEST_WINDOW_MS = 100;
const QUICK_SHARE_OF_ALL = 0.16;

/** Measures, and tells each round. */
export async function measureRounds(
  context: Context,
  what: string,
  contenders: readonly Contender[],
  size: Size,
): Promise<Rates> {
  const { quick, tell, signal } = context;
  const rounds = quick ? Math.min(QUICK_ROUNDS, size.rounds) : size.rounds;
  const windowMs = quick ? Math.max(SHORTEST_WINDOW_MS, size.windowMs * QUICK_SHARE) : size.windowMs;
  const withinMs = quick ? size.withinMs * QUICK_SHARE_OF_ALL : size.withinMs;
  const onRound = (round: number) => tell(`${what}: ${round === 0 ? "warm-up" : `round ${round} of ${rounds}`}`);
  return await measure(contenders, { ...size, rounds, windowMs, withinMs, onRound, signal });
}

type Calls = (Omit<CallRun, "count" | "prefix"> | Omit<VerifyRun, "count" | "prefix">) & { prefix?: string };

/**
 * A contender of calls inside the driver, each of which must have that outcome. Every run has job ids of its own,
 * unless it is given their prefix.
 */
export function calls({ driver }: Context, name: string, run: Calls, outcome: string): Contender {
  return {
    name,
    run: async (count) => {
      const ran = await driver.run({ prefix: newPrefix(), ...run, count });
      expectOnly(name, ran.outcomes, outcome, count);
    },
  };
}

let prefixes = 0;

/** Begins the ids of jobs that nobody else has. */
export function newPrefix(): string {
  prefixes += 1;
  return `job-${prefixes}`;
}

/** @throws unless all calls had that outcome: a figure of calls that did something else means nothing. */
export function expectOnly(name: string, outcomes: Record<string, number>, outcome: string, count: number): void {
  if (outcomes[outcome] === count) return;
  throw new Error(`${name}: expected ${count} times «${outcome}», and got ${JSON.stringify(outcomes)}`);
}
