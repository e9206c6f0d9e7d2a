// Rows 15 and 16: our own secrets as they rotate, and a receiver that lacks a setting or has one that it cannot use. It
// then answers 503, so that Sume tries again, tells its log what to set, and verifies nothing against an empty key.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LogLine, SECRET, type Stack, startStack, until } from "../../support/stack/stack.ts";
import { SIGNATURE_HEADER, signatureHeader } from "../../local/sume/webhooks/sign.ts";
import { event, jobObjects, now, send, sendSigned, signature } from "./requests.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ workers: ["configured-receiver"] });
}, 60_000);
afterAll(() => stack.close());

type Settings = Record<string, string | { as: string } | null>;
const NEXT = "the-next-secret";

/**
 * The status of a delivery to a receiver with these settings; `null` takes one away, `as` binds what is bound as that.
 */
async function deliver(
  jobId: string,
  settings: Settings,
  { signedWith = [SECRET], timestamp = now() }: { signedWith?: readonly string[]; timestamp?: number } = {},
): Promise<number> {
  const body = event(jobId);
  const headers = {
    ...signature(body, { timestamp }),
    [SIGNATURE_HEADER]: signatureHeader(signedWith, timestamp, body),
    "x-settings": JSON.stringify(settings),
  };
  const receiver = stack.harness.getWorker("configured-receiver");
  return (await receiver.fetch("/webhooks/sume", { method: "POST", body, headers })).status;
}

async function statusInLedger(jobId: string): Promise<string | undefined> {
  return (await stack.claimOf(jobId, "receiver"))?.status;
}

describe("#15 a rotation of our secrets", () => {
  const both = { SUME_WEBHOOK_SECRET: NEXT, SUME_WEBHOOK_SECRET_PREVIOUS: SECRET };
  const next = { SUME_WEBHOOK_SECRET: NEXT };

  it.each([
    ["before it, signed with the old", { SUME_WEBHOOK_SECRET: SECRET }, "job-15-before", [SECRET], 202],
    ["both configured, signed with the previous", both, "job-15-previous", [SECRET], 202],
    ["both configured, signed with the new", both, "job-15-new", [NEXT], 202],
    ["both configured, signed with both", both, "job-15-both", [NEXT, SECRET], 202],
    ["both configured, signed with neither", both, "job-15-neither", ["another"], 401],
    ["the previous is gone, signed with the new", next, "job-15-next", [NEXT], 202],
    ["the previous is gone, signed with it", next, "job-15-gone", [SECRET], 401],
    ["the previous is blank, signed so", { ...next, SUME_WEBHOOK_SECRET_PREVIOUS: "" }, "job-15-blank", [""], 401],
  ])("%s", async (_, settings, jobId, signedWith, status) => {
    expect(await deliver(jobId, settings, { signedWith })).toBe(status);
    expect(await statusInLedger(jobId)).toBe(status === 202 ? "completed" : undefined);
  });

  it("deployed anew without the old one: 401 for it, 202 for the new", async () => {
    await stack.setReceiverSecrets(next);
    const body = event("job-15-deployed");
    expect((await sendSigned(stack, body)).status).toBe(401);
    expect(await stack.record("job-15-deployed")).toBeNull();
    expect((await send(stack, body, { headers: signature(body, { secret: NEXT }) })).status).toBe(202);
    expect(await statusInLedger("job-15-deployed")).toBe("completed");
  });
});

/** The two queues that are bound, and further ones, so that there are `count`. */
function queuesInAll(count: number): Settings {
  const more = Array.from({ length: count - 2 }, (_, index) => [
    `DISPATCH_MORE_${index}`,
    { as: "DISPATCH_JOB_INDEX" },
  ]);
  return { SUME_WEBHOOK_SECRET: SECRET, ...Object.fromEntries(more) };
}

describe("#16 a receiver that cannot work", () => {
  const set = { SUME_WEBHOOK_SECRET: SECRET };
  const queue = { as: "DISPATCH_JOB_INDEX" };

  it.each<[what: string, settings: Settings, signedWith: string[], named: string]>([
    ["no secret", {}, [SECRET], "SUME_WEBHOOK_SECRET"],
    ["no secret, signed with an empty key", {}, [""], "SUME_WEBHOOK_SECRET"],
    ["an empty secret", { SUME_WEBHOOK_SECRET: "" }, [""], "SUME_WEBHOOK_SECRET"],
    ["a blank secret", { SUME_WEBHOOK_SECRET: " \n" }, [" \n", ""], "SUME_WEBHOOK_SECRET"],
    ["both blank", { SUME_WEBHOOK_SECRET: "", SUME_WEBHOOK_SECRET_PREVIOUS: "\t" }, ["\t"], "SUME_WEBHOOK_SECRET"],
    [
      "no DISPATCH_ binding",
      { ...set, DISPATCH_ARTIFACT_ARCHIVE: null, DISPATCH_JOB_INDEX: null },
      [SECRET],
      "DISPATCH_<CONSUMER>",
    ],
    ["a DISPATCH_ variable", { ...set, DISPATCH_MAIL: "mail" }, [SECRET], "DISPATCH_MAIL"],
    ["a DISPATCH_ without a name", { ...set, DISPATCH_: queue }, [SECRET], "DISPATCH_ must name a consumer"],
    [
      "a name that the ledger would refuse",
      { ...set, DISPATCH_MAIL$: queue },
      [SECRET],
      "DISPATCH_MAIL$ must name a consumer",
    ],
    [
      "a name of 65 characters",
      { ...set, [`DISPATCH_${"M".repeat(65)}`]: queue },
      [SECRET],
      `DISPATCH_${"M".repeat(65)} must name a consumer`,
    ],
    [
      "one consumer twice",
      { ...set, DISPATCH_job_index: queue },
      [SECRET],
      "DISPATCH_job_index names the consumer job-index a second time",
    ],
    [
      "101 consumers, one more than the ledger takes",
      queuesInAll(101),
      [SECRET],
      "at most 100 queue producers as DISPATCH_<CONSUMER>: there are 101",
    ],
    [
      "a tolerance that is no number",
      { ...set, TIMESTAMP_TOLERANCE_SECONDS: "5m" },
      [SECRET],
      "TIMESTAMP_TOLERANCE_SECONDS",
    ],
  ])("%s: 503, an error line that names what to set, nothing claimed", async (_, settings, signedWith, named) => {
    const before = await jobObjects(stack);
    const logged = stack.logs().length;
    expect(await deliver("job-16", settings, { signedWith })).toBe(503);
    expect(await jobObjects(stack)).toEqual(before);
    const line = await until<LogLine>("the error line", () =>
      stack
        .logs()
        .slice(logged)
        .find(({ event: what }) => what === "configuration"),
    );
    expect(line).toMatchObject({ level: "error", worker: "receiver", detail: expect.stringContaining(named) });
    expect(line.outcome).toBe("SettingsError invalid_setting");
  });

  it("set right again: the same delivery is accepted", async () => {
    expect(await deliver("job-16", set)).toBe(202);
    expect(await statusInLedger("job-16")).toBe("completed");
  });
});

it("100 consumers, as many as the ledger takes: accepted, and the ledger knows them all", async () => {
  expect(await deliver("job-16-100", queuesInAll(100))).toBe(202);
  const claim = await stack.claimOf("job-16-100", "receiver");
  expect([claim?.status, claim?.dispatchedTo.length]).toEqual(["completed", 100]);
});

describe("the tolerance as configured", () => {
  it.each([
    ["10 s: a minute old refused", "job-tolerance-10", "10", -60, 401],
    ["10 s: a minute ahead accepted, for that is another", "job-tolerance-ahead", "10", 60, 202],
    ["an hour: half of it old accepted", "job-tolerance-hour", "3600", -1_800, 202],
    ["an hour: six minutes ahead refused", "job-tolerance-hour-ahead", "3600", 360, 401],
    ["empty, so 600 s: eleven minutes old refused", "job-tolerance-empty", "", -660, 401],
    ["empty, so 600 s: nine minutes old accepted", "job-tolerance-default", "", -540, 202],
  ])("%s", async (_, jobId, seconds, offset, status) => {
    const settings = { SUME_WEBHOOK_SECRET: SECRET, TIMESTAMP_TOLERANCE_SECONDS: seconds };
    expect(await deliver(jobId, settings, { timestamp: now() + offset })).toBe(status);
    expect(await statusInLedger(jobId)).toBe(status === 202 ? "completed" : undefined);
  });
});
