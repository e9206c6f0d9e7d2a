// The Worker that HTTP reaches in the bench. It makes the calls that are timed, inside the runtime, so many at a time.
// So one HTTP request more or less does not count. It hands deliveries to the receivers, and tells what was counted.
// Leaves out the time: it is taken outside, by whoever asks (test/proofs/bench).

import { bytesPerJob, createTable } from "../../plain/src/d1.ts";
import { type Counts, type Copies, type Ran, type Run, STORES, type VerifyRun } from "./calls.ts";
import type { Env } from "./env.ts";
import { callOf, firstOf } from "./variants.ts";
import { verifyOf } from "./verification.ts";

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const { pathname, searchParams: query } = url;
    const to = (path: string) => new Request(new URL(path, url), request);
    switch (pathname) {
      case "/run":
        return Response.json(await runCalls(env, await request.json()));
      case "/copies":
        return Response.json(await copies(env, query));
      case "/live":
        await env.COUNTED_LEDGER.live(query.get("jobId") ?? "", Number(query.get("consumers")));
        return Response.json(null);
      case "/counts":
        return Response.json(await counts(env, query));
      case "/consumed":
        return Response.json(await env.CONSUMER.finished());
      case "/d1-bytes":
        return Response.json(await bytesPerJob(env.DB, Number(query.get("jobs"))));
      case "/setup":
        await createTable(env.DB);
        return Response.json(null);
      case "/receiver":
        return await env.RECEIVER.fetch(to("/webhooks/sume"));
      case "/receiver-one":
        return await env.RECEIVER_ONE.fetch(to("/webhooks/sume"));
      case "/receiver-two":
        return await env.RECEIVER_TWO.fetch(to("/webhooks/sume"));
      case "/verify-only":
      case "/one-table":
      case "/one-table-timed":
      case "/d1":
        return await env.PLAIN.fetch(request);
      default:
        return new Response("Not found\n", { status: 404 });
    }
  },
} satisfies ExportedHandler<Env>;

async function runCalls(env: Env, run: Run): Promise<Ran> {
  const call = isVerified(run) ? await verifyOf(run) : callOf(env, run);
  const outcomes: Record<string, number> = {};
  let next = 0;
  const callInTurn = async () => {
    while (next < run.count) {
      const outcome = await call(next++);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: run.concurrency }, callInTurn));
  return { outcomes };
}

function isVerified(run: Run): run is VerifyRun {
  return run.variant.startsWith("verify");
}

async function copies(env: Env, query: URLSearchParams): Promise<Copies> {
  const store = STORES.find((each) => each === query.get("store"));
  if (store === undefined) throw new RangeError("no such store");
  const jobId = query.get("jobId") ?? "";
  const isFirst = firstOf(env, store);
  const told = await Promise.all(Array.from({ length: Number(query.get("copies")) }, () => isFirst(jobId)));
  return { firsts: told.filter(Boolean).length };
}

async function counts(env: Env, query: URLSearchParams): Promise<Counts> {
  const jobId = query.get("jobId") ?? "";
  const queue = { ...(await env.COUNTED_CONSUMER.counts(jobId)) };
  const store = query.get("store");
  if (store === "ledger") return { queue, object: { ...(await env.COUNTED_LEDGER.counts(jobId)) } };
  if (store !== "one-table") return { queue, object: null };
  return { queue, object: { ...(await env.COUNTED_ONE_TABLE.getByName(jobId).counts()) } };
}
