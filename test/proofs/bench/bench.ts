// One run: the Workers are started, the parts follow each other, and what they found is put together. Called by
// main.ts.

import type { Progress } from "../../support/tools/program.ts";
import type { Part } from "./part.ts";
import { bills } from "./parts/bill.ts";
import { duplicateClaims, freshClaims } from "./parts/claims.ts";
import { deliveries } from "./parts/deliveries.ts";
import { payloads, wholeLife } from "./parts/life.ts";
import { verification } from "./parts/verification.ts";
import type { Comparison, PartReport } from "./report.ts";
import { startBenchStack } from "./driver.ts";

const PARTS = {
  fresh: freshClaims,
  duplicate: duplicateClaims,
  life: wholeLife,
  payload: payloads,
  verification,
  delivery: deliveries,
  bill: bills,
} satisfies Record<string, Part>;

export type PartName = keyof typeof PARTS;
export const PART_NAMES = Object.keys(PARTS).filter(isPartName);

export function isPartName(name: string): name is PartName {
  return Object.hasOwn(PARTS, name);
}

export type BenchOptions = { quick: boolean; only: readonly PartName[] };

/** The `--json` document. */
export type Report = {
  quick: boolean;
  seconds: number;
  parts: Partial<Record<PartName, PartReport>>;
  /** Of all parts. */
  targets: { met: string[]; missed: string[] };
  /** Whether everything that was counted is as it should be. */
  ok: boolean;
};

/** @throws when the Workers cannot be run or fail to do their part, or when the signal ends the run. */
export async function bench({ quick, only }: BenchOptions, out: Progress, signal: AbortSignal): Promise<Report> {
  out.tell("the Workers are started");
  const stack = await startBenchStack(signal);
  try {
    const parts: Report["parts"] = {};
    for (const name of only) {
      parts[name] = await PARTS[name]({ driver: stack.driver, quick, tell: out.sometimes, signal });
    }
    const reports = Object.values(parts);
    const held = reports.flatMap(({ comparisons }) => comparisons).filter(({ target }) => target !== null);
    const named = (met: boolean) => held.filter(({ target }) => target?.met === met).map(describe);
    const ok = reports.every(({ facts }) => facts.every((fact) => fact.ok));
    return {
      quick,
      seconds: Math.round(out.seconds()),
      parts,
      targets: { met: named(true), missed: named(false) },
      ok,
    };
  } catch (error) {
    if (!signal.aborted) out.tell(`wrangler said last:\n${stack.lastLines()}`);
    throw error;
  } finally {
    await stack.close();
  }
}

function describe({ what, against, ratio }: Comparison): string {
  return `${what} / ${against}: ${ratio.median.toFixed(2)}`;
}
