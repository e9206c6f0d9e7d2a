// A consumer of the job ledger: one row per ended job in D1, whatever the event's type. It keeps what is sure to be there
// (the job, the event's type, how it came) and nothing of the event's body, which varies with the kind of job.

import { consume, type Job, type JobMessage } from "job-ledger/client";

// A claim whose lease ran out may still write, after the claim that took over. Its fence is lower, so it changes nothing.
const UPSERT = `
  INSERT INTO jobs (job_id, event_type, source, fence, indexed_at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (job_id) DO UPDATE SET
    event_type = excluded.event_type, source = excluded.source, fence = excluded.fence, indexed_at = excluded.indexed_at
  WHERE excluded.fence > jobs.fence`;

export default {
  queue: (batch, env) => consume(batch, env.LEDGER, (job) => index(job, env.DB)),
} satisfies ExportedHandler<JobIndexEnv, JobMessage>;

/** `written` is false when a later claim's row is there already. */
async function index({ jobId, event, fence }: Job, db: D1Database): Promise<{ written: boolean }> {
  const { meta } = await db.prepare(UPSERT).bind(jobId, event.type, event.source, fence, Date.now()).run();
  return { written: meta.changes > 0 };
}
