// When each job is delivered and when the runtime is killed, all from one seed. Called by crash.ts.

export type PlanOptions = { jobs: number; kills: number; seed: number };

export type Plan = {
  /** Milliseconds from the start at which Sume first delivers, by job. */
  deliveries: ReadonlyMap<string, number>;
  /** Milliseconds from the runtime's last start until it is killed. */
  kills: readonly number[];
};

/** Milliseconds that the runtime lives: long enough to work, short enough to be killed at it. */
const SHORTEST_LIFE_MS = 500;
const LONGEST_LIFE_MS = 7_000;
/** Milliseconds, about what wrangler needs to start it again. */
const RESTART_MS = 1_500;

/** Deliveries begin at any moment until about the last kill. */
export function plan({ jobs, kills, seed }: PlanOptions): Plan {
  const random = generator(seed);
  const between = (low: number, high: number) => Math.round(low + random() * (high - low));
  const lives = Array.from({ length: kills }, () => between(SHORTEST_LIFE_MS, LONGEST_LIFE_MS));
  const span = lives.reduce((sum, life) => sum + life + RESTART_MS, 0);
  const deliveries = Array.from({ length: jobs }, (_, index): [string, number] => [
    `job_${seed}_${index}`,
    between(0, span),
  ]);
  return { deliveries: new Map(deliveries), kills: lives };
}

/** Numbers from 0 up to 1 (Mulberry32), the same ones for the same seed; `Math.random` takes none. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
