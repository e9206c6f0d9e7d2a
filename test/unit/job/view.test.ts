// What `inspect` shows of a claim, state by state: when it ended, if it has, and what of its state stands beside that.

import { describe, expect, test } from "vitest";
import { view } from "../../../ledger-service/src/job/view.ts";
import { type StateName, STATES } from "./states.ts";

const SETTINGS = { retentionMs: 2_592_000_000, watchAfterMs: 900_000, graceMs: 300_000 };
const NONE = { leaseExpiresAt: null, retryAt: null, endedAt: null, error: null, result: null };

describe("a claim in view", () => {
  test.each<[state: StateName, shown: object]>([
    ["claimed", { ...NONE, leaseExpiresAt: 1_060_000 }],
    ["released", { ...NONE, retryAt: 1_040_000, error: "disk full" }],
    ["reopened", NONE],
    ["completed", { ...NONE, endedAt: 1_020_000, result: { rows: 3 } }],
    ["failed", { ...NONE, endedAt: 1_020_000, error: "no such artifact" }],
    ["abandoned", { ...NONE, endedAt: 1_030_000 }],
  ])("%s: %o", (state, shown) => {
    const { claims } = view(STATES[state], SETTINGS, { namespace: "n", jobId: "a" });
    expect(claims.find(({ consumer }) => consumer === "index")).toMatchObject(shown);
  });
});
