// Random deliveries to the receiver, over real HTTP, and random calls over real service bindings. There must be
// documented answers only, no crash, and a ledger that knows of valid deliveries only. On failure fast-check prints the
// seed and the smallest input it found. `FUZZ_RUNS` (150 when left out) and `FUZZ_SEED` choose how many and which.

import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JobView } from "../../../ledger-service/contract/index.ts";
import { type Stack, startStack } from "../../support/stack/stack.ts";
import { callThrough } from "../controls.ts";
import { calls } from "./fuzz-calls.ts";
import { deliveries, deliveryOf } from "./fuzz-deliveries.ts";
import { jobObjects, send, storedBytes } from "../receiver/requests.ts";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 150);
const SEED = process.env["FUZZ_SEED"];
const parameters = { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) };
const TIMEOUT_MS = 30_000 + 500 * RUNS;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
}, 60_000);
afterAll(() => stack.close());

describe("deliveries", () => {
  /** By job, the bodies that were accepted: while its consumers are at work a newer one takes the older one's place. */
  const accepted = new Map<string, Buffer[]>();
  const refused = new Set<string>();
  let objects: string[];

  it(
    "each is answered as documented",
    async () => {
      objects = await jobObjects(stack);
      await fc.assert(
        fc.asyncProperty(deliveries, async (described) => {
          const { body, options, allowed } = deliveryOf(described);
          const { jobId, statuses } = allowed;
          const { status } = await send(stack, body, options);
          expect(statuses).toContain(status);
          if (jobId === undefined) refused.add(described.jobId);
          else accepted.set(jobId, [...(accepted.get(jobId) ?? []), body]);
        }),
        parameters,
      );
    },
    TIMEOUT_MS,
  );

  it(
    "the ledger was asked of accepted jobs alone, and has their bytes",
    async () => {
      expect(accepted.size).toBeGreaterThan(0);
      expect(await jobObjects(stack)).toHaveLength(objects.length + accepted.size);
      for (const [jobId, bodies] of accepted) {
        const stored = await storedBytes(stack, jobId);
        expect(bodies).toContainEqual(stored);
      }
      const unknown = [...refused].filter((jobId) => !accepted.has(jobId));
      for (const jobId of unknown) expect(await recordNamed(jobId)).toBeUndefined();
    },
    TIMEOUT_MS,
  );
});

describe("calls", () => {
  it(
    "each has an outcome of the contract, or is refused with a code and has changed nothing",
    async () => {
      await fc.assert(
        fc.asyncProperty(calls, async ({ method, args, outcomes }) => {
          const [binding = "", verb = ""] = method.split(" ");
          const before = await heldFor(args);
          const { value, error } = await callThrough(stack, binding, verb, args);
          const unlike = error === undefined ? outcomesOf(value).filter((each) => !outcomes.includes(each)) : [];
          const after = error === undefined ? before : await heldFor(args);
          expect({ unlike, after }).toEqual({ unlike: [], after: before });
          expect(["none", "LedgerError invalid_argument", "LedgerError too_large"]).toContain(
            error === undefined ? "none" : `${error.name} ${error.code}`,
          );
        }),
        parameters,
      );
    },
    TIMEOUT_MS,
  );
});

it("nothing crashed: all that was logged are the Workers' own lines", () => {
  const others = stack.harness.getLogs().filter(({ message }) => !message.startsWith('{"level":'));
  expect(others).toEqual([]);
});

/** The record of a job, if there is one and if that can be a job's id. */
async function recordNamed(jobId: unknown): Promise<JobView | undefined> {
  if (typeof jobId !== "string") return undefined;
  const { value } = await callThrough<JobView | null>(stack, "CALLER", "inspect", { jobId, body: true });
  return value ?? undefined;
}

/**
 * What the calls may change of the job that the arguments name. The other claims are those of consumers at their work.
 */
async function heldFor(args: unknown): Promise<unknown> {
  const jobId = typeof args === "object" && args !== null && "jobId" in args ? args.jobId : undefined;
  const record = await recordNamed(jobId);
  if (record === undefined) return undefined;
  const { events, expectations, claims } = record;
  return { events, expectations, claim: claims.find(({ consumer }) => consumer === "caller") };
}

/** Of a list of answers, each one's. */
function outcomesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(outcomesOf);
  if (typeof value !== "object" || value === null) return [String(value)];
  if ("outcome" in value) return [String(value.outcome)];
  return ["events" in value ? "record" : "consumer" in value ? "identity" : "nothing"];
}
