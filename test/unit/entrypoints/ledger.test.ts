// The entrypoints as a caller sees them, over RPC: identity from the binding's props alone, namespaces apart, what is
// assumed where the caller says nothing, and that a record never shows a token.

import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import { endLease, EVENT, evict, jobObject, ledger, OTHER_EVENT, rowsOf } from "../object/job-object.ts";

const index = ledger("index");

describe("identity", () => {
  test("whoami tells a binding who it is", async () => {
    expect(await exports.Ledger({ props: { namespace: "media", consumer: "job-index" } }).whoami()).toEqual({
      namespace: "media",
      consumer: "job-index",
    });
  });

  test("two consumers of a namespace each have their own claim on the one job", async () => {
    await index.claim({ jobId: "shared", event: EVENT });
    expect(await ledger("archive").claim({ jobId: "shared" })).toMatchObject({
      outcome: "claimed",
      attempt: 1,
      event: EVENT,
    });
    const view = await index.inspect({ jobId: "shared" });
    expect(view?.claims.map(({ consumer }) => consumer).toSorted()).toEqual(["archive", "index"]);
    expect(view?.claims.map(({ history }) => history[0]?.actor).toSorted()).toEqual(["archive", "index"]);
  });

  test("two bindings with one identity are one consumer", async () => {
    await index.claim({ jobId: "one", event: EVENT });
    expect(await ledger("index").claim({ jobId: "one" })).toMatchObject({ outcome: "in_progress" });
  });
});

describe("namespaces", () => {
  test("hold a job of the same id apart", async () => {
    const [a, b] = [ledger("index", "a"), ledger("index", "b")];
    await a.claim({ jobId: "same", event: EVENT, token: "t" });
    expect(await b.inspect({ jobId: "same" })).toBeNull();
    expect(await b.claim({ jobId: "same" })).toEqual({ outcome: "unknown" });
    expect(await b.complete({ jobId: "same", token: "t" })).toEqual({ outcome: "stale", reason: "no_claim" });
    expect(await b.claim({ jobId: "same", event: OTHER_EVENT })).toMatchObject({ outcome: "claimed", attempt: 1 });
    expect(await a.inspect({ jobId: "same" })).toMatchObject({ namespace: "a", events: [{ type: "job.completed" }] });
    expect(await b.inspect({ jobId: "same" })).toMatchObject({ namespace: "b", events: [{ type: "job.failed" }] });
  });

  test("end at the first colon, whatever the job id holds", async () => {
    await ledger("index", "a").claim({ jobId: "b:c", event: EVENT });
    expect(await ledger("index", "a").inspect({ jobId: "b:c" })).toMatchObject({ namespace: "a", jobId: "b:c" });
    expect(await ledger("index", "a").inspect({ jobId: "c" })).toBeNull();
    expect(await ledger("index", "b").inspect({ jobId: "c" })).toBeNull();
    expect(await jobObject("b:c", "a").inspect(false)).toMatchObject({ namespace: "a", jobId: "b:c" });
  });
});

describe("job ids", () => {
  test.each([":", "a/b?c#d", 'a"b\\', "é🎬", " a ", "a\nb", "a\u0000b", "x".repeat(512), "🎬".repeat(128)])(
    "%j is taken as it is",
    async (jobId) => {
      expect(await index.claim({ jobId, event: EVENT })).toMatchObject({ outcome: "claimed" });
      expect(await index.inspect({ jobId })).toMatchObject({ namespace: "n", jobId });
    },
  );

  test("that differ in one character, in case or in form are different jobs", async () => {
    await index.claim({ jobId: "Job-é", event: EVENT });
    for (const jobId of ["job-é", "Job-e\u0301", "Job-é ", "Job-É"]) {
      expect(await index.inspect({ jobId })).toBeNull();
    }
  });
});

describe("claim", () => {
  test.each<[what: string, jobId: string, args: object, maxAttempts: number | null]>([
    ["60 for a claim without an event", "attempts-consumer", {}, 60],
    ["none for a claim with one", "attempts-receiver", { event: EVENT }, null],
    ["what the caller says, without", "attempts-3", { maxAttempts: 3 }, 3],
    ["what the caller says, with", "attempts-4", { event: EVENT, maxAttempts: 4 }, 4],
    ["no limit, when the caller says so", "attempts-null", { maxAttempts: null }, null],
  ])("limits attempts to %s", async (_, jobId, args, maxAttempts) => {
    await ledger("receiver").claim({ jobId, event: EVENT });
    await index.claim({ jobId, ...args });
    const view = await index.inspect({ jobId });
    expect(view?.claims.find(({ consumer }) => consumer === "index")).toMatchObject({ maxAttempts });
  });

  test("lasts 60 s where the caller names no lease, and renews for as long", async () => {
    const claimed = await index.claim({ jobId: "lease", event: EVENT, token: "a" });
    const view = await index.inspect({ jobId: "lease" });
    expect(claimed).toMatchObject({ leaseExpiresAt: (view?.claims[0]?.claimedAt ?? 0) + 60_000 });
    await endLease("lease", "index", 1_000);
    await index.renew({ claims: [{ jobId: "lease", token: "a" }] });
    const renewed = (await index.inspect({ jobId: "lease" }))?.claims[0];
    expect(renewed?.leaseExpiresAt).toBe((renewed?.changedAt ?? 0) + 60_000);
  });

  test("lasts as long as the caller says", async () => {
    await index.claim({ jobId: "lease-long", event: EVENT, leaseMs: 900_000 });
    const claim = (await index.inspect({ jobId: "lease-long" }))?.claims[0];
    expect(claim?.leaseExpiresAt).toBe((claim?.claimedAt ?? 0) + 900_000);
  });

  test("makes a token of its own for each caller that brings none", async () => {
    const claims = await Promise.all(["a", "b"].map((name) => ledger(name).claim({ jobId: "tokens", event: EVENT })));
    const tokens = claims.map((claim) => (claim.outcome === "claimed" ? claim.token : ""));
    expect(tokens).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect(tokens[0]).not.toBe(tokens[1]);
  });

  test("takes a body of 1 MiB of which one character needs two bytes in memory", async () => {
    const body = `"${"x".repeat(1_048_571)}€"`;
    const claimed = await index.claim({ jobId: "two-byte", event: { ...EVENT, body } });
    expect("event" in claimed && claimed.event.body === body).toBe(true);
    await evict("two-byte");
    const view = await index.inspect({ jobId: "two-byte", body: true });
    expect(view?.events[0]?.body === body).toBe(true);
  });

  test("gives back the body letter for letter: a BOM, an escape, a number too large for a double, a megabyte", async () => {
    const body = `\ufeff{"n":12345678901234567890,"e":1e20,"t":"\\u2028\u2028🎬","x":"${"é".repeat(500_000)}"}\r\n`;
    await ledger("receiver").claim({ jobId: "body", event: { ...EVENT, body } });
    await evict("body");
    const claimed = await index.claim({ jobId: "body" });
    expect(claimed.outcome === "claimed" && claimed.event.body === body).toBe(true);
    expect((await index.inspect({ jobId: "body" }))?.events[0]?.bytes).toBe(new TextEncoder().encode(body).length);
  });

  test("with another event type gets the job's outcome, the first event and the conflict", async () => {
    await ledger("receiver").claim({ jobId: "ledger-conflict", event: EVENT });
    expect(await index.claim({ jobId: "ledger-conflict", event: OTHER_EVENT })).toMatchObject({
      outcome: "claimed",
      event: EVENT,
      conflict: { recorded: "job.completed", received: "job.failed" },
    });
    expect(await index.inspect({ jobId: "ledger-conflict" })).toMatchObject({ conflict: true });
  });
});

describe("settling", () => {
  test("complete keeps the result and the consumers dispatched to, each once", async () => {
    await index.claim({ jobId: "complete", event: EVENT, token: "a" });
    const result = { keys: ["é", 1.5, null], nested: { ok: true } };
    expect(
      await index.complete({ jobId: "complete", token: "a", result, dispatchedTo: ["mail", "archive", "mail"] }),
    ).toEqual({ outcome: "ok", status: "completed" });
    expect(await index.claim({ jobId: "complete" })).toMatchObject({
      outcome: "completed",
      result,
      dispatchedTo: ["mail", "archive"],
    });
    expect((await index.inspect({ jobId: "complete" }))?.unfinished.toSorted()).toEqual(["archive", "mail"]);
  });

  test("release without a delay is claimable at once; its error is shown, cut to 2 KiB", async () => {
    await index.claim({ jobId: "release", event: EVENT, token: "a" });
    await index.release({ jobId: "release", token: "a", error: `x${"🎬".repeat(512)}` });
    const view = await index.inspect({ jobId: "release" });
    expect(view?.claims[0]).toMatchObject({ status: "released", error: `x${"🎬".repeat(511)}` });
    expect(await index.claim({ jobId: "release" })).toMatchObject({ outcome: "claimed", attempt: 2 });
  });

  test("release for good fails the claim", async () => {
    await index.claim({ jobId: "fail", event: EVENT, token: "a" });
    expect(await index.release({ jobId: "fail", token: "a", error: "e", permanent: true })).toEqual({
      outcome: "ok",
      status: "failed",
    });
    expect(await index.claim({ jobId: "fail" })).toMatchObject({ outcome: "failed", error: "e" });
  });

  test("the sixtieth release of a consumer that named no limit fails the claim", async () => {
    await ledger("receiver").claim({ jobId: "sixtieth", event: EVENT });
    const statuses: string[] = [];
    for (let attempt = 1; attempt <= 60; attempt++) {
      expect(await index.claim({ jobId: "sixtieth", token: `t${attempt}` })).toMatchObject({
        outcome: "claimed",
        attempt,
      });
      const released = await index.release({ jobId: "sixtieth", token: `t${attempt}` });
      statuses.push("status" in released ? released.status : released.outcome);
    }
    expect(statuses).toEqual([...Array.from({ length: 59 }, () => "released"), "failed"]);
    expect(await index.claim({ jobId: "sixtieth" })).toMatchObject({ outcome: "failed", attempt: 60 });
  });
});

describe("a call whose connection was lost", () => {
  const lost = Object.assign(new Error("lost by the test"), { retryable: true });

  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  test("is made again, and waits no longer than the rest of its time", async () => {
    await ledger("index").claim({ jobId: "repeated", event: EVENT });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const claim = vi.spyOn(JobLedger.prototype, "claim").mockImplementationOnce(async () => {
      vi.setSystemTime(Date.now() + 3_000);
      throw lost;
    });
    claim.mockResolvedValueOnce({ outcome: "unknown" });
    await index.claim({ jobId: "repeated", waitMs: 5_000 });
    expect(claim.mock.calls.map(([, , waitMs]) => waitMs)).toEqual([5_000, 2_000]);
  });

  test("is made again with the token that it had", async () => {
    const claim = vi.spyOn(JobLedger.prototype, "claim").mockRejectedValueOnce(lost);
    expect(await index.claim({ jobId: "same-token", event: EVENT })).toMatchObject({ outcome: "claimed", attempt: 1 });
    const tokens = claim.mock.calls.map(([{ token }]) => token);
    expect(tokens).toEqual([tokens[0], tokens[0]]);
  });
});

describe("renew", () => {
  test("answers each claim, in the order given", async () => {
    for (const jobId of ["r1", "r2", "r3"]) await index.claim({ jobId, event: EVENT, token: `t-${jobId}` });
    await endLease("r1", "index", 1_000);
    await index.complete({ jobId: "r3", token: "t-r3" });
    const answers = await index.renew({
      claims: [
        { jobId: "r3", token: "t-r3" },
        { jobId: "none", token: "t" },
        { jobId: "r1", token: "t-r1" },
        { jobId: "r2", token: "other" },
        { jobId: "r2", token: "t-r2" },
      ],
      leaseMs: 120_000,
    });
    const ends = answers.map((answer) => ("leaseExpiresAt" in answer ? answer.leaseExpiresAt : 0));
    expect(answers).toEqual([
      { jobId: "r3", outcome: "stale", reason: "settled" },
      { jobId: "none", outcome: "stale", reason: "no_claim" },
      { jobId: "r1", outcome: "ok", leaseExpiresAt: ends[2] },
      { jobId: "r2", outcome: "stale", reason: "taken" },
      { jobId: "r2", outcome: "ok", leaseExpiresAt: ends[4] },
    ]);
    for (const [jobId, end] of [
      ["r1", ends[2]],
      ["r2", ends[4]],
    ] as const) {
      const claim = (await index.inspect({ jobId }))?.claims[0];
      expect(claim).toMatchObject({ leaseExpiresAt: end, changedAt: (end ?? 0) - 120_000 });
    }
  });

  test("one job that cannot be reached does not hold up the rest", async () => {
    for (const jobId of ["before", "broken", "after"]) await index.claim({ jobId, event: EVENT, token: "a" });
    await runInDurableObject(jobObject("broken"), (_, { storage }) => {
      vi.spyOn(storage, "transactionSync").mockImplementationOnce(() => {
        throw new Error("lost by the test");
      });
    });
    const answers = await index.renew({
      claims: ["before", "broken", "after"].map((jobId) => ({ jobId, token: "a" })),
    });
    expect(answers.map(({ jobId, outcome }) => [jobId, outcome])).toEqual([
      ["before", "ok"],
      ["broken", "unavailable"],
      ["after", "ok"],
    ]);
  });

  test("one job whose object hangs is unavailable in time for the others, whose leases are renewed", async () => {
    for (const jobId of ["prompt", "hanging"]) await index.claim({ jobId, event: EVENT, token: "a" });
    const own = Object.getOwnPropertyDescriptor(JobLedger.prototype, "renew");
    let calls = 0;
    Reflect.set(JobLedger.prototype, "renew", function (this: JobLedger, ...args: unknown[]) {
      return calls++ === 0 ? new Promise(() => undefined) : Reflect.apply(own?.value, this, args);
    });
    onTestFinished(() => void Object.defineProperty(JobLedger.prototype, "renew", { ...own }));
    const claims = ["hanging", "prompt"].map((jobId) => ({ jobId, token: "a" }));
    const answers = await index.renew({ claims, leaseMs: 1_000 });
    expect(answers.map(({ outcome }) => outcome)).toEqual(["unavailable", "ok"]);
  });

  test.each([
    ["an eighth of the lease", 1_000, 125],
    ["an eighth of a longer lease, which is the limit", 80_000, 10_000],
    ["10 s, of a lease that is longer still", 900_000, 10_000],
  ])("gives each object %s", async (_, leaseMs, ms) => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    await index.renew({ claims: [{ jobId: "given", token: "a" }], leaseMs });
    expect(timers.mock.calls.map(([, delay]) => delay)).toEqual([ms]);
  });
});

describe("inspect", () => {
  test("shows bodies on request only", async () => {
    await index.claim({ jobId: "bodies", event: EVENT });
    await index.claim({ jobId: "bodies", event: OTHER_EVENT });
    const bodies = async (body?: boolean) => {
      const view = await index.inspect(body === undefined ? { jobId: "bodies" } : { jobId: "bodies", body });
      return view?.events.map((event) => event.body);
    };
    expect(await bodies()).toEqual([undefined, undefined]);
    expect(await bodies(false)).toEqual([undefined, undefined]);
    expect(await bodies(true)).toEqual([EVENT.body, OTHER_EVENT.body]);
  });

  test("shows no token, in any state, to consumers and operators alike", async () => {
    const jobId = "no-token";
    const token = "canary-7f3a";
    const look = async () => {
      const views = [
        await index.inspect({ jobId, body: true }),
        await exports.LedgerAdmin.inspect({ namespace: "n", jobId, actor: "ann", body: true }),
      ];
      expect(views[0]).toEqual(views[1]);
      expect(JSON.stringify(views)).not.toContain(token);
      expect(JSON.stringify(views)).not.toContain('"token"');
      return views[0]?.claims[0]?.status;
    };
    const statuses: unknown[] = [];
    await index.claim({ jobId, event: EVENT, token });
    statuses.push(await look());
    await index.release({ jobId, token });
    statuses.push(await look());
    await index.claim({ jobId, token });
    await index.complete({ jobId, token });
    statuses.push(await look());
    await exports.LedgerAdmin.reopen({ namespace: "n", jobId, actor: "ann", consumer: "index" });
    statuses.push(await look());
    await index.claim({ jobId, token });
    await index.release({ jobId, token, permanent: true });
    statuses.push(await look());
    expect(statuses).toEqual(["claimed", "released", "completed", "reopened", "failed"]);
    // The token was there to be seen.
    expect(JSON.stringify(await rowsOf(jobId))).toContain(token);
  });

  test("of a job that the ledger does not know is null", async () => {
    expect(await index.inspect({ jobId: "unheard-of", body: true })).toBeNull();
    expect(await exports.LedgerAdmin.inspect({ namespace: "n", jobId: "unheard-of", actor: "ann" })).toBeNull();
  });
});

test("the service has no route: every request is 404", async () => {
  for (const path of ["/", "/webhooks/sume", "/jobs/a"]) {
    const response = await exports.default.fetch(`https://ledger.example${path}`, { method: "POST" });
    expect(response.status).toBe(404);
  }
});
