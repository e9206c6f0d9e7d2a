// Interleaved measuring: in every round each contender runs once, in an order that turns. So whatever else the machine
// does meets all of them alike. Called by the parts.
// Leaves out any figure of its own: rates mean something only beside others of the same round.

export type Contender = {
  name: string;
  /** Makes `count` calls. @throws if any is answered otherwise than it should be. */
  run(count: number): Promise<void>;
  /** Done before each run, and not timed. */
  prepare?(count: number): Promise<void>;
  /** Done after each run, and not timed. */
  settle?(): Promise<void>;
  /** Calls are made in multiples of this. */
  step?: number;
};

export type Rounds = {
  /** That count; one more, before them, is thrown away. */
  rounds: number;
  /** Milliseconds that one contender's turn should take: much longer than the one request that starts it. */
  windowMs: number;
  /**
   * Milliseconds after which no further round begins, once there are a few. A busy machine makes fewer rounds, not a
   * longer run.
   */
  withinMs?: number;
  /** Calls of a contender whose rate is not known yet. */
  firstCount?: number;
  /** Milliseconds since whenever. */
  clock?: () => number;
  onRound?: (round: number) => void;
  signal?: AbortSignal;
};

/** Calls per second, by contender, one figure for each round. */
export type Rates = ReadonlyMap<string, readonly number[]>;

const FIRST_COUNT = 8;
const LEAST_ROUNDS = 3;

export async function measure(contenders: readonly Contender[], options: Rounds): Promise<Rates> {
  const { rounds, windowMs, firstCount = FIRST_COUNT, clock = () => performance.now() } = options;
  const end = clock() + (options.withinMs ?? Number.POSITIVE_INFINITY);
  const taken = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  const counts = new Map<string, number>();
  for (let round = 0; round <= rounds; round += 1) {
    if (round > LEAST_ROUNDS && clock() > end) break;
    options.onRound?.(round);
    for (const contender of turned(contenders, round)) {
      options.signal?.throwIfAborted();
      const { name, step = 1 } = contender;
      const count = Math.ceil((counts.get(name) ?? firstCount) / step) * step;
      await contender.prepare?.(count);
      const start = clock();
      await contender.run(count);
      const rate = (count / (clock() - start)) * 1_000;
      await contender.settle?.();
      // The next turn is as long as this one should have been.
      counts.set(name, Math.max(1, Math.round((rate * windowMs) / 1_000)));
      if (round > 0) taken.get(name)?.push(rate);
    }
  }
  return taken;
}

/** Another one begins in each round, and every second round goes backwards: nobody always follows the same other. */
function turned<T>(items: readonly T[], round: number): T[] {
  const start = round % items.length;
  const order = [...items.slice(start), ...items.slice(0, start)];
  return round % 2 === 0 ? order : order.toReversed();
}

/** A contender's figures. @throws if there is none of that name: a bug. */
export function rateOf(rates: Rates, name: string): readonly number[] {
  const found = rates.get(name);
  if (found === undefined) throw new Error(`nothing was measured under the name ${name}`);
  return found;
}
