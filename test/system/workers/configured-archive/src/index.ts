// The artifact archive, deployed with other settings for every job. The job's id holds, as JSON, what its environment
// is to have instead.

import type { JobMessage } from "job-ledger/client";
import archive from "../../../../../consumers/artifact-archive/src/index.ts";

export default {
  queue: async (batch, env) => {
    const [message] = batch.messages;
    const settings: Partial<ArtifactArchiveEnv> = JSON.parse(message?.body.jobId ?? "{}");
    await archive.queue(batch, { ...env, ...settings });
  },
} satisfies ExportedHandler<ArtifactArchiveEnv, JobMessage>;
