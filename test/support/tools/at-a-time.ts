// Much work, some of it at a time. Called by the programs that deliver many jobs.

/**
 * Does the work for each item, in their order, for at most `most` of them at the same time.
 * @throws what the work throws.
 */
export async function atATime<T>(most: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values(); // all take from the same list
  const workInTurn = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: most }, workInTurn));
}
