import { expect, test } from "vitest";
import { type Contender, measure, rateOf } from "./rounds.ts";

/** Contenders that take a fixed time per call on a clock of their own. They note what they were told. */
function contenders(perCallMs: Record<string, number>) {
  let now = 0;
  const turns: [string, number][] = [];
  const all = Object.entries(perCallMs).map(([name, ms]): Contender => ({
    name,
    run: async (count) => {
      turns.push([name, count]);
      now += ms * count;
    },
  }));
  return { all, turns, clock: () => now };
}

test("each contender runs once a round, in a turning order, and the first round is thrown away", async () => {
  const { all, turns, clock } = contenders({ a: 1, b: 1, c: 1 });
  const rates = await measure(all, { rounds: 3, windowMs: 8, clock });
  expect(turns.map(([name]) => name).join("")).toBe("abcacbcabcba");
  expect(rateOf(rates, "b")).toEqual([1_000, 1_000, 1_000]);
});

test("counts follow the rate, so that every turn takes its window", async () => {
  const { all, turns, clock } = contenders({ fast: 1, slow: 50 });
  await measure(all, { rounds: 2, windowMs: 200, clock });
  expect(turns.filter(([name]) => name === "fast").map(([, count]) => count)).toEqual([8, 200, 200]);
  expect(turns.filter(([name]) => name === "slow").map(([, count]) => count)).toEqual([8, 4, 4]);
});

test("a turn is at least one call, and a multiple of the contender's step", async () => {
  const { all, turns, clock } = contenders({ slow: 10_000 });
  await measure(all, { rounds: 1, windowMs: 100, clock });
  expect(turns.at(-1)).toEqual(["slow", 1]);

  const stepped = contenders({ slow: 100 });
  await measure(
    stepped.all.map((each) => ({ ...each, step: 5 })),
    { rounds: 1, windowMs: 1_200, clock: stepped.clock },
  );
  expect(stepped.turns).toEqual([
    ["slow", 10],
    ["slow", 15],
  ]);
});

test("when the time is up no further round begins, but a few are made in any case", async () => {
  const slow = contenders({ a: 10 });
  const rounds = async (withinMs: number) =>
    rateOf(await measure(slow.all, { rounds: 9, windowMs: 100, withinMs, clock: slow.clock }), "a").length;
  expect([await rounds(0), await rounds(520), await rounds(10_000)]).toEqual([3, 5, 9]);
});

test("what prepares a turn or settles it is not in its time", async () => {
  const { all, clock } = contenders({ a: 1 });
  const other = contenders({ a: 500 }).all[0];
  const around = async (count = 1) => await other?.run(count);
  const rates = await measure(
    all.map((each) => ({ ...each, prepare: around, settle: around })),
    { rounds: 1, windowMs: 10, clock },
  );
  expect(rateOf(rates, "a")).toEqual([1_000]);
});

test("an aborted signal ends it", async () => {
  const { all, turns, clock } = contenders({ a: 1 });
  await expect(measure(all, { rounds: 3, windowMs: 8, clock, signal: AbortSignal.abort() })).rejects.toThrow(/aborted/);
  expect(turns).toEqual([]);
});
