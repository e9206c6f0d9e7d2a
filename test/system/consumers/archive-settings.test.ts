// The archive's settings. A faulty one stops every job until somebody mends it. So nothing is fetched, the claim is
// released, and the job comes again by itself.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Stack, startStack } from "../../support/stack/stack.ts";
import { type ArtifactServer, startArtifactServer } from "./artifact-server.ts";
import { type ProductConsumers, productConsumers } from "./product-consumers.ts";

const LISTED = "the origin that serves the artifact";

let artifacts: ArtifactServer;
let stack: Stack;
let consumers: ProductConsumers;
beforeAll(async () => {
  artifacts = await startArtifactServer();
  stack = await startStack({ archive: "configured-archive" });
  consumers = productConsumers(stack);
});
afterAll(async () => {
  await stack.close();
  await artifacts.close();
});

/** Delivers a job whose id is, for the archive, its settings, and waits for what becomes of it there. */
async function archive(settings: Record<string, string>) {
  const jobId = JSON.stringify(settings).replace(LISTED, artifacts.origin);
  const url = `${artifacts.origin}/settings/0`;
  await consumers.deliver(JSON.stringify({ event: "job.completed", job_id: jobId, url }));
  return await consumers.untilStatus("artifact-archive", jobId, "released", "completed", "failed");
}

test.for([
  { origins: "", maxBytes: "1000000", names: "ARTIFACT_ORIGINS" },
  { origins: `${LISTED}/folder`, maxBytes: "1000000", names: "ARTIFACT_ORIGINS" },
  { origins: `${LISTED},media.example`, maxBytes: "1000000", names: "ARTIFACT_ORIGINS" },
  { origins: LISTED, maxBytes: "1 GB", names: "MAX_ARTIFACT_BYTES" },
])(
  "origins «$origins», limit «$maxBytes»: released for half a minute at most",
  async ({ origins, maxBytes, names }) => {
    const claim = await archive({ ARTIFACT_ORIGINS: origins, MAX_ARTIFACT_BYTES: maxBytes });
    expect(claim).toMatchObject({ status: "released", attempt: 1 });
    expect(claim.retryAt).toBeGreaterThanOrEqual(claim.changedAt + 15_000);
    expect(claim.retryAt).toBeLessThanOrEqual(claim.changedAt + 30_000);
    expect(claim.error).toContain(names);
    expect(artifacts.requests).toEqual([]);
  },
);

test("right settings: it is copied", async () => {
  const claim = await archive({ ARTIFACT_ORIGINS: LISTED, MAX_ARTIFACT_BYTES: "1000000" });
  expect(claim).toMatchObject({ status: "completed", attempt: 1, result: { count: 1 } });
});
