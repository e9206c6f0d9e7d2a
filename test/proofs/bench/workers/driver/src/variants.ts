// The calls that the bench times, one function each. It makes the n-th call of a run and answers the outcome's name.
// What is compared with each other carries the same arguments where it carries any.

import type { CallRun, Store } from "./calls.ts";
import { insertJob } from "../../plain/src/d1.ts";
import type { Env } from "./env.ts";

type Call = (n: number) => Promise<string>;

const KB = 1_000;

/** The call of that variant, with everything that is the same for each call made beforehand. */
export function callOf(env: Env, run: CallRun): Call {
  const { prefix, bytes = KB, jobs = 1, consumers = 1 } = run;
  const fresh = (n: number) => `${prefix}-${n}`;
  const known = (n: number) => `${prefix}-${n % jobs}`;
  const event = eventOf(bytes);
  switch (run.variant) {
    case "fresh ledger":
    case "fresh one-table":
    case "fresh d1":
    case "fresh kv": {
      const first = storeOf(env, run.variant);
      return async (n) => ((await first(fresh(n))) ? "first" : "not first");
    }
    case "fresh no-op":
      return async (n) => {
        await env.FLOOR.noop({ jobId: fresh(n) });
        return "done";
      };
    case "fresh no-op, direct":
      return async (n) => {
        await env.FLOOR_OBJECTS.getByName(fresh(n)).noop();
        return "done";
      };
    case "fresh write":
      return async (n) => {
        await env.FLOOR.write({ jobId: fresh(n), event });
        return "done";
      };
    case "warm no-op":
      return async (n) => {
        await env.FLOOR.noop({ jobId: known(n) });
        return "done";
      };
    case "warm no-op with event":
      return async (n) => (await env.FLOOR.take({ jobId: known(n), event })).outcome;
    case "duplicate":
      return async (n) => (await env.LEDGER.claim({ jobId: known(n), event })).outcome;
    case "prepare":
      return async (n) => {
        const jobId = fresh(n);
        const claimed = await env.LEDGER.claim({ jobId, event, token: jobId });
        if (claimed.outcome !== "claimed") return claimed.outcome;
        const dispatchedTo = Array.from({ length: consumers }, (_, index) => `consumer-${index + 1}`);
        return (await env.LEDGER.complete({ jobId, token: jobId, dispatchedTo })).outcome;
      };
    case "consume":
      return (n) => consumeAll(env, fresh(n), consumers);
    case "claim with event":
      return async (n) => {
        const claimed = await env.LEDGER.claim({ jobId: fresh(n), event });
        return claimed.outcome === "claimed" && claimed.event.body.length === bytes ? "moved" : claimed.outcome;
      };
    case "echo event":
      return async (n) => {
        const answer = await env.FLOOR.echo({ jobId: fresh(n), event });
        return answer.event.body.length === bytes ? "moved" : "cut";
      };
    default:
      return run.variant satisfies never;
  }
}

/** Asks the store whether this call is the first for the job. */
export function firstOf(env: Env, store: Store): (jobId: string) => Promise<boolean> {
  return storeOf(env, `fresh ${store}`);
}

function storeOf(env: Env, variant: `fresh ${Store}`): (jobId: string) => Promise<boolean> {
  const event = eventOf(KB);
  switch (variant) {
    case "fresh ledger":
      return async (jobId) => (await env.LEDGER.claim({ jobId, event })).outcome === "claimed";
    case "fresh one-table":
      return async (jobId) => {
        const stub = env.ONE_TABLE.getByName(jobId);
        const response = await stub.fetch("https://ledger/", { method: "POST", body: jobId });
        return (await response.text()) === "first";
      };
    case "fresh d1":
      return async (jobId) => (await insertJob(env.DB, jobId)).first;
    case "fresh kv":
      return async (jobId) => {
        if ((await env.KV.get(jobId)) !== null) return false;
        await env.KV.put(jobId, String(Date.now()));
        return true;
      };
    default:
      return variant satisfies never;
  }
}

/** One consumer after the other, as far as the ledger sees it: claims, and completes. */
async function consumeAll(env: Env, jobId: string, consumers: number): Promise<string> {
  for (let index = 1; index <= consumers; index += 1) {
    const ledger = env[`CONSUMER_${index}`];
    if (ledger === undefined) throw new RangeError(`there is no consumer ${index}`);
    const token = `${jobId}-${index}`;
    const claimed = await ledger.claim({ jobId, token });
    if (claimed.outcome !== "claimed") return claimed.outcome;
    const completed = await ledger.complete({ jobId, token, result: { ok: true } });
    if (completed.outcome !== "ok") return completed.outcome;
  }
  return "done";
}

function eventOf(bytes: number): { type: string; body: string; source: "webhook" } {
  const [start, end] = ['{"event":"job.completed","padding":"', '"}'];
  return {
    type: "job.completed",
    body: start + "x".repeat(bytes - start.length - end.length) + end,
    source: "webhook",
  };
}
