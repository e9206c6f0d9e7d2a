// The command line of the simulation.

import { parseArgs } from "node:util";
import { parseFaults, parseOutage } from "./schedules/explore.ts";
import type { Fault, Outage } from "./platform/faults.ts";
import type { Exploration } from "./schedules/explore.ts";
import type { OutageOptions } from "./schedules/outage-verdict.ts";

export const USAGE = `npm run simulate -- [options]
  --schedules N   random schedules (2000)
  --first-seed N  the seed of the first (1)
  --no-pairs      single faults and outages only
  --no-singles    random schedules only
  --threads N     (the processors there are)
  --seed N        replay one schedule, with its trace
  --faults LIST   replay the one-job scenario with these faults, e.g. 12:late,20:hang, or none
  --outage B:F    replay it with that fault at every such boundary for hours, e.g. send:hang
  --outage-hours N   jobs that arrive while a consumer's dependency is down for so long
  --jobs N        how many of them (1000)
  --breakages     break the code on purpose, in a copy, and see whether that is found`;

export type Command =
  | { command: "explore"; what: Exploration; threads: number | null }
  | { command: "seed"; seed: number }
  | { command: "one-job"; faults?: ReadonlyMap<number, Fault>; outage?: Outage }
  | { command: "outage"; options: OutageOptions }
  | { command: "breakages" }
  | { command: "help" };

const DEFAULT_SCHEDULES = 2_000;
const DEFAULT_JOBS = 1_000;

/** @throws on an unknown option or a value that is no whole number. */
export function readCommand(args: string[]): Command {
  const { values } = parseArgs({
    args,
    allowNegative: true,
    options: {
      schedules: { type: "string" },
      "first-seed": { type: "string" },
      pairs: { type: "boolean", default: true },
      singles: { type: "boolean", default: true },
      threads: { type: "string" },
      seed: { type: "string" },
      faults: { type: "string" },
      outage: { type: "string" },
      "outage-hours": { type: "string" },
      jobs: { type: "string" },
      breakages: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return { command: "help" };
  if (values.breakages) return { command: "breakages" };
  if (values.seed !== undefined) return { command: "seed", seed: whole("seed", values.seed) };
  if (values.faults !== undefined) return { command: "one-job", faults: parseFaults(values.faults) };
  if (values.outage !== undefined) return { command: "one-job", outage: parseOutage(values.outage) };
  if (values["outage-hours"] !== undefined) {
    const hours = whole("outage-hours", values["outage-hours"]);
    return { command: "outage", options: { hours, jobs: whole("jobs", values.jobs ?? String(DEFAULT_JOBS)) } };
  }
  return {
    command: "explore",
    threads: values.threads === undefined ? null : whole("threads", values.threads),
    what: {
      singles: values.singles,
      pairs: values.singles && values.pairs,
      firstSeed: whole("first-seed", values["first-seed"] ?? "1"),
      schedules: whole("schedules", values.schedules ?? String(DEFAULT_SCHEDULES)),
    },
  };
}

function whole(name: string, value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new Error(`--${name} must be a whole number`);
  return Number(value);
}
