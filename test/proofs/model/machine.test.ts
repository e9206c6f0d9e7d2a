// The state machine, the expectation and the schedule against the reference model: random lives of a job, any clock.
// `LEDGER_MODEL_COMMANDS` and `LEDGER_MODEL_SEED` set how many commands and which; a failure prints its seed and its life.

import * as fc from "fast-check";
import { expect, inject, test } from "vitest";
import { Agreement } from "./agreement.ts";
import { instances, life } from "./arbitrary.ts";
import { Machine } from "./machine.ts";
import { tryLives } from "./run.ts";

const DAY = 86_400_000;
const MINUTE = 60_000;
const { machineCommands: commands } = inject("model");

const settings = fc.record({
  retentionMs: fc.constantFrom(30 * DAY, DAY, null),
  watchAfterMs: fc.constantFrom(15 * MINUTE, MINUTE, DAY),
  graceMs: fc.constantFrom(5 * MINUTE, MINUTE, DAY),
});

/** What random lives must meet, or the comparison is worth less than it looks. */
const TO_BE_MET = [
  ...["claimed", "in_progress", "deferred", "completed", "failed", "unknown"].map((outcome) => `claim: ${outcome}`),
  ...["claimed, vanished", "failed, abandoned"].map((outcome) => `claim: ${outcome}`),
  ...["complete", "release", "renew"].flatMap((verb) =>
    ["ok", "stale, taken", "stale, settled", "stale, no_claim"].map((outcome) => `${verb}: ${outcome}`),
  ),
  "complete: ok, abandoned",
  ...["reopened", "open", "unknown"].map((outcome) => `reopen: ${outcome}`),
  ...["abandoned", "ended", "unknown"].map((outcome) => `abandon: ${outcome}`),
  ...["expected", "arrived"].map((outcome) => `expectEvent: ${outcome}`),
  ...["cancelled", "arrived", "none"].map((outcome) => `cancelExpectation: ${outcome}`),
  ...["not_arrived", "not_finished", "conflict"].map((reason) => `alert: ${reason}`),
  ...["not_finished, refresh", "not_finished, several"].map((alert) => `alert: ${alert}`),
  "event: replaced",
  ...["failed again", "forgotten"].map((what) => `alarm: ${what}`),
];

test(
  `${commands} commands: the state machine does what the reference model does`,
  { timeout: 60_000 + 10 * commands },
  async () => {
    const met = new Set<string>();
    const tried = await tryLives(commands, fc.tuple(life, settings), async ([steps, chosen]) => {
      const agreement = new Agreement("j", { settings: chosen, met: (what) => met.add(what) });
      const machine = new Machine("j", chosen);
      for (const piece of instances(steps)) {
        await agreement.play(piece, machine);
        machine.evict();
        agreement.evicted();
      }
      await agreement.leaveAlone(machine);
    });
    expect(tried).toBeGreaterThanOrEqual(commands);
    expect(TO_BE_MET.filter((what) => !met.has(what))).toEqual([]);
  },
);
