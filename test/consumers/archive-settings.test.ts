// The archive's settings: a faulty one stops every job until somebody mends it, so nothing is fetched, the claim is released
// and the job comes again by itself.

import { expect, test } from "vitest";
import { startArtifactServer } from "./artifact-server.ts";
import { startConsumers } from "./stack.ts";

const LISTED = "the origin that serves the artifact";

test.for([
  { origins: "", maxBytes: "1000000", names: "ARTIFACT_ORIGINS" },
  { origins: `${LISTED}/folder`, maxBytes: "1000000", names: "ARTIFACT_ORIGINS" },
  { origins: `${LISTED},media.example`, maxBytes: "1000000", names: "ARTIFACT_ORIGINS" },
  { origins: LISTED, maxBytes: "1 GB", names: "MAX_ARTIFACT_BYTES" },
])("origins «$origins», limit «$maxBytes»: released for half a minute", async ({ origins, maxBytes, names }) => {
  const artifacts = await startArtifactServer();
  const stack = await startConsumers({ origins: origins.replace(LISTED, artifacts.origin), maxBytes });
  try {
    const url = `${artifacts.origin}/settings/0`;
    await stack.deliver(JSON.stringify({ event: "job.completed", job_id: "job_settings", url }));
    const claim = await stack.untilStatus("artifact-archive", "job_settings", "released", "completed", "failed");
    expect(claim).toMatchObject({ status: "released", attempt: 1, retryAt: claim.changedAt + 30_000 });
    expect(claim.error).toContain(names);
    expect(artifacts.requests).toEqual([]);
  } finally {
    await stack.close();
    await artifacts.close();
  }
});
