// Mistakes in what a consumer brings must not cost it its release: the failure gets through, the claim comes free.

import { describe, expect, test } from "vitest";
import { runOnce } from "../../../ledger-service/client/index.ts";
import { arrived, claimOf, ledger, T0, useClock } from "./support.ts";

useClock();

const fail = () => Promise.reject(new Error("no disk"));

describe("a pause that cannot be reckoned is the default one", () => {
  test.each([
    [
      "it throws",
      () => {
        throw new Error("mistake");
      },
    ],
    ["it is no number", () => Number.NaN],
  ])("%s", async (name, retryAfterMs) => {
    const jobId = await arrived(`mistake-pause-${name}`);
    expect(await runOnce(ledger, { jobId, retryAfterMs }, fail)).toMatchObject({
      outcome: "released",
      retryAt: T0 + 30_000,
    });
    expect(await claimOf(jobId)).toMatchObject({ status: "released", error: "Error: no disk" });
  });
});

test.each([
  ["an object that makes no text", Object.create(null), "a thrown object"],
  ["a string", "disk", "disk"],
  ["nothing", undefined, "undefined"],
])("work that throws %s is released with what can be said of it", async (name, thrown, error) => {
  const jobId = await arrived(`mistake-thrown-${name}`);
  expect(await runOnce(ledger, { jobId }, () => Promise.reject(thrown))).toMatchObject({ outcome: "released", error });
  expect(await claimOf(jobId)).toMatchObject({ status: "released", error });
});

test("a consumer that brings its event has sixty attempts like any other", async () => {
  const event = { type: "job.completed", body: "{}", source: "webhook" } as const;
  await runOnce(ledger, { jobId: "mistake-own-event", event }, fail);
  expect(await claimOf("mistake-own-event")).toMatchObject({ maxAttempts: 60 });
});
