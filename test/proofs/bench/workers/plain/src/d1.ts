// One row per job in D1: the first to insert it is the first. Called by the plain receiver and by the bench's driver.

const CREATE = "CREATE TABLE IF NOT EXISTS jobs (job_id TEXT PRIMARY KEY, received_at INTEGER)";
const INSERT = "INSERT INTO jobs (job_id, received_at) VALUES (?, ?) ON CONFLICT DO NOTHING";

/** Whether a call was the first for its job, and what D1 itself says that it has cost. */
export type Inserted = { first: boolean; rowsRead: number; rowsWritten: number };

/** To be called once, before anything else. */
export async function createTable(database: D1Database): Promise<void> {
  await database.prepare(CREATE).run();
}

export async function insertJob(database: D1Database, jobId: string): Promise<Inserted> {
  const { meta } = await database.prepare(INSERT).bind(jobId, Date.now()).run();
  return { first: meta.changes > 0, rowsRead: meta.rows_read, rowsWritten: meta.rows_written };
}

/** Bytes that the table and its index take for each of `jobs` further rows. */
export async function bytesPerJob(database: D1Database, jobs: number): Promise<number> {
  const insert = database.prepare(INSERT);
  const before = await insert.bind(crypto.randomUUID(), Date.now()).run();
  const rows = Array.from({ length: jobs }, () => insert.bind(crypto.randomUUID(), Date.now()));
  const after = (await database.batch(rows)).at(-1);
  if (after === undefined) throw new RangeError("at least one job");
  return (after.meta.size_after - before.meta.size_after) / jobs;
}
