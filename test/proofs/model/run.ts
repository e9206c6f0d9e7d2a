// Running a property over random lives until enough commands were tried.

import * as fc from "fast-check";
import { inject } from "vitest";
import type { Step } from "./arbitrary.ts";

/** Commands in a random life, at the least that a run of lives has on average: the first ones of a run are short. */
const PER_LIFE = 15;

/**
 * Lets `play` meet random lives until `commands` commands were tried. What fails is shrunk and printed, with the seed that
 * `LEDGER_MODEL_SEED` takes. Answers how many were tried.
 */
export async function tryLives<T extends [Step[], ...unknown[]]>(
  commands: number,
  lives: fc.Arbitrary<T>,
  play: (life: T) => Promise<void>,
): Promise<number> {
  const { seed } = inject("model");
  let tried = 0;
  let isShrinking = false;
  const property = fc.asyncProperty(lives, async (life) => {
    if (tried >= commands && !isShrinking) return;
    tried += life[0].length;
    try {
      await play(life);
    } catch (error) {
      isShrinking = true;
      throw error;
    }
  });
  await fc.assert(property, { numRuns: Math.ceil(commands / PER_LIFE), ...(seed === null ? {} : { seed }) });
  return tried;
}
