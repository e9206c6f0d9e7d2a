// The operators' entrypoint over RPC: what `reopen` means for the consumer that claims next.

import { exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { EVENT, ledger, OTHER_EVENT } from "../object/job-object.ts";

const index = ledger("index");

const reopen = (jobId: string, more: object = {}) =>
  exports.LedgerAdmin.reopen({ namespace: "n", jobId, actor: "ann", consumer: "index", ...more });

describe("LedgerAdmin.reopen", () => {
  test("makes a settled claim claimable again, with its old outcome in the history and earlier tokens stale", async () => {
    const first = await index.claim({ jobId: "reopen", event: EVENT, token: "a" });
    await index.complete({ jobId: "reopen", token: "a", result: { n: 1 } });
    expect(await reopen("reopen")).toEqual({ outcome: "reopened" });
    expect(await index.complete({ jobId: "reopen", token: "a" })).toEqual({ outcome: "stale", reason: "no_claim" });
    const again = await index.claim({ jobId: "reopen", token: "b" });
    expect(again).toMatchObject({ outcome: "claimed", attempt: 1, event: EVENT });
    expect("fence" in again && again.fence).toBeGreaterThan("fence" in first ? first.fence : Number.NaN);
    expect((await index.inspect({ jobId: "reopen" }))?.claims[0]?.history).toMatchObject([
      { verb: "claim", actor: "index" },
      { verb: "complete", actor: "index" },
      { verb: "reopen", actor: "ann", status: "reopened", result: { n: 1 } },
      { verb: "claim", actor: "index", attempt: 1 },
    ]);
  });

  test("gives the consumer the other event when told to", async () => {
    await index.claim({ jobId: "reopen-other", event: EVENT, token: "a" });
    await index.complete({ jobId: "reopen-other", token: "a" });
    await index.claim({ jobId: "reopen-other", event: OTHER_EVENT });
    expect(await reopen("reopen-other", { eventType: "job.expired" })).toEqual({
      outcome: "unknown",
      missing: "event",
    });
    expect(await reopen("reopen-other", { eventType: "job.failed" })).toEqual({ outcome: "reopened" });
    expect(await index.claim({ jobId: "reopen-other" })).toMatchObject({ outcome: "claimed", event: OTHER_EVENT });
  });

  test("refuses a claim that is open, and one that there is not", async () => {
    await index.claim({ jobId: "reopen-open", event: EVENT });
    expect(await reopen("reopen-open")).toEqual({ outcome: "open", status: "claimed" });
    expect(await reopen("reopen-open", { consumer: "archive" })).toEqual({ outcome: "unknown", missing: "claim" });
    expect(await reopen("reopen-none")).toEqual({ outcome: "unknown", missing: "claim" });
    expect(await reopen("reopen-open", { namespace: "other" })).toEqual({ outcome: "unknown", missing: "claim" });
  });
});
