// The Worker that HTTP reaches when everything runs in one `wrangler dev`. It hands webhooks to the receiver, and shows
// what the ledger, the bucket and the database hold. Asked by what runs on test/support/stack/dev-stack.ts.
// Leaves out any judgement: what should be there is known outside.

import type { JobView } from "../../../../../ledger-service/contract/index.ts";
import { MOST_JOBS_AT_ONCE, type SeenJob, type SeenTotals } from "./seen.ts";

type Env = {
  RECEIVER: Fetcher;
  ADMIN: { inspect(args: { namespace: string; jobId: string; actor: string }): Promise<JobView | null> };
  ARTIFACTS: R2Bucket;
  DB: D1Database;
};

/** Pages of a thousand keys; bounds the count of a bucket. */
const MOST_PAGES = 1_000;

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/totals") return Response.json(await totals(env));
    if (pathname === "/object") return await object(env, searchParams.get("key") ?? "");
    if (pathname !== "/jobs") return await env.RECEIVER.fetch(request);
    const ids = searchParams.getAll("id");
    if (ids.length > MOST_JOBS_AT_ONCE) return new Response(`at most ${MOST_JOBS_AT_ONCE} jobs\n`, { status: 400 });
    return Response.json(await Promise.all(ids.map((jobId) => look(env, jobId))));
  },
} satisfies ExportedHandler<Env>;

async function look({ ADMIN, ARTIFACTS, DB }: Env, jobId: string): Promise<SeenJob> {
  const rows = DB.prepare("SELECT fence, event_type, source FROM jobs WHERE job_id = ?").bind(jobId);
  const [record, { objects }, { results }] = await Promise.all([
    ADMIN.inspect({ namespace: "default", jobId, actor: "front" }),
    ARTIFACTS.list({ prefix: `${encodeURIComponent(jobId)}/` }),
    rows.all<SeenJob["rows"][number]>(),
  ]);
  return { jobId, record, objects: objects.map(({ key, size, etag }) => ({ key, size, etag })), rows: results };
}

/** The object's bytes, or a 404. */
async function object({ ARTIFACTS }: Env, key: string): Promise<Response> {
  const stored = await ARTIFACTS.get(key);
  return stored === null ? new Response(null, { status: 404 }) : new Response(stored.body);
}

async function totals({ ARTIFACTS, DB }: Env): Promise<SeenTotals> {
  const rows = (await DB.prepare("SELECT count(*) AS rows FROM jobs").first<number>("rows")) ?? 0;
  let objects = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const listed = await ARTIFACTS.list(cursor === undefined ? {} : { cursor });
    objects += listed.objects.length;
    if (!listed.truncated) break;
    cursor = listed.cursor;
  }
  return { objects, rows };
}
