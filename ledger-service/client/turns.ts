// In which order a batch's jobs run: all at the same time, but for those whose earlier attempt vanished. One of these
// may kill its isolate and take along every job beside it, so each runs while no other does.

import { paused } from "./repeat.ts";

/**
 * What the claim of a message has shown. `alone`: its job is to run beside no other; `giveBack` gives back what was
 * claimed for it. Neither `run` nor `giveBack` throws.
 */
export type Turn = { run: () => Promise<void> } & ({ alone: false } | { alone: true; giveBack: () => Promise<void> });

/** Milliseconds. A claim that is slow to be answered holds back the others for no longer. */
const PATIENCE_MS = 1_000;
/**
 * Milliseconds after which nothing more is taken. Of a queue's 15 minutes, ten are then left to the job that came
 * last.
 */
const BEGIN_WITHIN_MS = 5 * 60_000;

/**
 * Takes and runs every message; answers those for which no time was left. New messages are taken all at once, and
 * whoever of them is to run alone has its claim already: it runs if there is time left, or is given back. Those that
 * came before are taken one after another: while a job runs alone, the rest are not yet claimed and lose no
 * attempt with it.
 */
export async function inTurns<M extends { attempts: number }>(
  messages: readonly M[],
  take: (message: M) => Promise<Turn>,
): Promise<M[]> {
  const begunAt = Date.now();
  const beside: Promise<void>[] = [];
  const waiting: { message: M; turn: Turn & { alone: true } }[] = [];
  const left: M[] = [];
  const isLate = () => Date.now() - begunAt > BEGIN_WITHIN_MS;

  /** Resolves when it is known whether the message must wait. */
  const begin = (message: M): Promise<void> => {
    const known = (async () => {
      const turn = await take(message);
      if (turn.alone) waiting.push({ message, turn });
      else beside.push(turn.run());
    })();
    beside.push(known);
    return known;
  };
  const runWaiting = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await allSettled(beside);
      if (isLate()) {
        left.push(next.message);
        await next.turn.giveBack();
      } else {
        await next.turn.run();
      }
    }
  };

  for (const message of messages) if (message.attempts === 1) void begin(message);
  for (const message of messages) {
    if (message.attempts === 1) continue;
    if (isLate()) {
      left.push(message);
      continue;
    }
    await Promise.race([begin(message), paused(PATIENCE_MS)]);
    await runWaiting();
  }
  await allSettled(beside);
  await runWaiting();
  return left;
}

/** Waits for all of them, also for those that are added meanwhile. */
async function allSettled(running: readonly Promise<void>[]): Promise<void> {
  for (const each of running) await each;
}
