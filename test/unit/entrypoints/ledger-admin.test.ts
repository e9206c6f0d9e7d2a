// The operators' entrypoint over RPC: what `reopen` means for the consumer that claims next, and whose expectations end.

import { exports } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { EVENT, finish, ledger, OTHER_EVENT, rowsOf } from "../object/job-object.ts";

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

  test.each([undefined, false, true])("keeps whether the event is wanted anew: refresh %j", async (refresh) => {
    const jobId = `reopen-refresh-${refresh}`;
    await finish(jobId, "index");
    expect(await reopen(jobId, refresh === undefined ? {} : { refresh })).toEqual({ outcome: "reopened" });
    const claim = (await rowsOf(jobId)).find(({ kind }) => kind === "claim");
    expect(JSON.parse(claim?.state ?? "")).toMatchObject({ status: "reopened", refresh: refresh ?? false });
  });

  test("refuses a claim that is open, and one that there is not", async () => {
    await index.claim({ jobId: "reopen-open", event: EVENT });
    expect(await reopen("reopen-open")).toEqual({ outcome: "open", status: "claimed" });
    expect(await reopen("reopen-open", { consumer: "archive" })).toEqual({ outcome: "unknown", missing: "claim" });
    expect(await reopen("reopen-none")).toEqual({ outcome: "unknown", missing: "claim" });
    expect(await reopen("reopen-open", { namespace: "other" })).toEqual({ outcome: "unknown", missing: "claim" });
  });
});

test("LedgerAdmin.cancelExpectation calls off what every consumer expects, in the operator's name", async () => {
  const jobId = "called-off-by-ann";
  for (const consumer of ["index", "mail"]) await ledger(consumer).expectEvent({ jobId, withinMs: 60_000 });
  const cancel = () => exports.LedgerAdmin.cancelExpectation({ namespace: "n", jobId, actor: "ann" });
  expect(await cancel()).toEqual({ outcome: "cancelled" });
  expect(await index.inspect({ jobId })).toMatchObject({
    expectations: [
      { by: "index", cancelledBy: "ann" },
      { by: "mail", cancelledBy: "ann" },
    ],
    watch: null,
  });
});
