// What the archive leaves behind when an artifact cannot be stored: no open upload, no body that keeps its connection.
// The bucket is a stand-in that fails where it is told to; what real R2 keeps is looked at in test/system/consumers.

import { createMessageBatch } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import archive from "../../../consumers/artifact-archive/src/index.ts";
import type { JobMessage, LedgerBinding } from "../../../ledger-service/client/index.ts";

const PART_BYTES = 5 * 1_024 * 1_024;
const LIMIT = PART_BYTES + 10;
const ORIGIN = "https://media.example";

/** What was called, in order, and whether the body was given up. */
let seen: string[];
/** The error that the job was released with. */
let error: string | undefined;

const ledger: LedgerBinding = {
  whoami: async () => ({ namespace: "default", consumer: "artifact-archive" }),
  claim: async () => ({
    outcome: "claimed",
    attempt: 1,
    fence: 1,
    token: "its-token",
    leaseExpiresAt: Date.now() + 240_000,
    event: { type: "job.completed", body: JSON.stringify({ url: `${ORIGIN}/0` }), source: "webhook" },
  }),
  release: async (args) => {
    ({ error } = args);
    return { outcome: "ok", status: "released", retryAt: Date.now() };
  },
  complete: async () => ({ outcome: "ok", status: "completed" }),
  renew: async () => [],
};

/** A call of the bucket's: noted, and failed where it is the one that was to fail. */
const step = async (name: string, failing: string | undefined): Promise<void> => {
  seen.push(name);
  if (name === failing) throw new Error(`${name} failed`);
};

function bucket(...failing: string[]): R2Bucket {
  const call = (name: string) =>
    step(
      name,
      failing.find((each) => each === name),
    );
  const upload = {
    key: "job/0",
    uploadPart: (partNumber: number) => call(`part ${partNumber}`),
    complete: () => call("complete"),
    abort: () => call("abort"),
  };
  const create = async () => {
    await call("create");
    return upload;
  };
  // As a binding is: what it is cannot be seen, and the archive uses no more of it.
  const made: { ARTIFACTS?: R2Bucket } = {};
  Reflect.set(made, "ARTIFACTS", { put: () => call("put"), createMultipartUpload: create });
  if (made.ARTIFACTS === undefined) throw new Error("no bucket");
  return made.ARTIFACTS;
}

/** An artifact of so many bytes, which can go on for ever and tells when it is given up. */
function artifact(bytes: number, headers: Record<string, string>): Response {
  let left = bytes;
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const into = controller.byobRequest?.view;
      const length = Math.min(left, into?.byteLength ?? 65_536);
      left -= length;
      if (length === 0) controller.close();
      if (controller.byobRequest) controller.byobRequest.respond(length);
      else if (length > 0) controller.enqueue(new Uint8Array(length));
    },
    cancel: () => void seen.push("body cancelled"),
  });
  return new Response(body, { headers });
}

async function run(response: Response, ARTIFACTS: R2Bucket): Promise<void> {
  vi.spyOn(globalThis, "fetch").mockResolvedValue(response);
  const message = { id: "0", timestamp: new Date(), attempts: 1, body: { jobId: "job" } };
  const env = { LEDGER: ledger, ARTIFACTS, ARTIFACT_ORIGINS: ORIGIN, MAX_ARTIFACT_BYTES: String(LIMIT) };
  await Reflect.apply(archive.queue, archive, [createMessageBatch<JobMessage>("artifact-archive", [message]), env]);
}

beforeEach(() => {
  [seen, error] = [[], undefined];
});
afterEach(() => vi.restoreAllMocks());

test.each<[what: string, bytes: number, length: boolean, failing: string[], seen: string[], error: string]>([
  ["too large by its length", LIMIT + 1, true, [], ["body cancelled"], "is larger than MAX_ARTIFACT_BYTES"],
  ["R2 does not take it", 10, true, ["put"], ["put", "body cancelled"], "put failed"],
  ["no upload can be begun", 10, false, ["create"], ["create", "body cancelled"], "create failed"],
  ["a part fails", LIMIT, false, ["part 1"], ["create", "part 1", "abort", "body cancelled"], "part 1 failed"],
  ["the last part fails", LIMIT, false, ["part 2"], ["create", "part 1", "part 2", "abort"], "part 2 failed"],
  [
    "too large on the way",
    2 * LIMIT,
    false,
    [],
    ["create", "part 1", "abort", "body cancelled"],
    "is larger than MAX_ARTIFACT_BYTES",
  ],
  ["the end fails", 10, false, ["complete"], ["create", "part 1", "complete", "abort"], "complete failed"],
  [
    "a part fails, and so does giving up",
    LIMIT,
    false,
    ["part 1", "abort"],
    ["create", "part 1", "abort", "body cancelled"],
    "part 1 failed",
  ],
])("%s: nothing is left open, the job has the first error", async (_, bytes, length, failing, calls, told) => {
  await run(artifact(bytes, length ? { "content-length": String(bytes) } : {}), bucket(...failing));
  expect(seen).toEqual(calls);
  expect(error).toContain(told);
});

test("stored whole: nothing is given up", async () => {
  await run(artifact(LIMIT, {}), bucket());
  expect([seen, error]).toEqual([["create", "part 1", "part 2", "complete"], undefined]);
});
