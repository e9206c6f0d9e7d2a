-- One row per job, written by src/index.ts. No index beside the key: each would cost a row more per write; add what you ask for.
CREATE TABLE jobs (
  job_id TEXT PRIMARY KEY,
  event_type TEXT NOT NULL, -- such as job.completed
  source TEXT NOT NULL, -- webhook or poll: how the event reached the ledger
  fence INTEGER NOT NULL, -- of the claim that wrote the row; only a higher one may overwrite it
  indexed_at INTEGER NOT NULL -- epoch milliseconds
) STRICT, WITHOUT ROWID;
