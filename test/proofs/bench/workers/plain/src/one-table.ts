// The ledger that most people write. It is an object per job with one table, made in the constructor. Behind `fetch` it
// does a `SELECT` and then an `INSERT` of the job's id. It tells the first from the rest and keeps nothing else: no
// event, no lease, no retry. Called directly by the bench's driver, and by the plain receiver (index.ts).

import { DurableObject } from "cloudflare:workers";
import { CountedStorage } from "../../counted-ledger/src/count-storage.ts";
import { withoutDevTable } from "../../ledger/src/without-dev-table.ts";
import type { ObjectCounts } from "../../driver/src/calls.ts";

export class OneTable extends DurableObject<object> {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS jobs (job_id TEXT PRIMARY KEY, received_at INTEGER)");
    withoutDevTable(ctx);
  }

  override async fetch(request: Request): Promise<Response> {
    const jobId = await request.text();
    const { sql } = this.ctx.storage;
    const seen = sql.exec("SELECT job_id FROM jobs WHERE job_id = ?", jobId).toArray().length > 0;
    if (!seen) sql.exec("INSERT INTO jobs (job_id, received_at) VALUES (?, ?)", jobId, Date.now());
    return new Response(seen ? "seen" : "first");
  }
}

/** The same with its storage and its requests counted, for the bill. */
export class CountedOneTable extends OneTable {
  readonly #counted: CountedStorage;

  constructor(ctx: DurableObjectState, env: object) {
    const counted = new CountedStorage(ctx.storage);
    super(ctx, env);
    this.#counted = counted;
  }

  override async fetch(request: Request): Promise<Response> {
    this.#counted.request();
    const response = await super.fetch(request);
    this.#counted.done();
    return response;
  }

  counts(): ObjectCounts {
    return this.#counted.counts();
  }
}
