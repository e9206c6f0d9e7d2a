// The artifact archive against real servers: what it copies, leaves alone, tries again and gives up. Redirects, short
// bodies and encoded ones are in real-network.test.ts, faulty settings in archive-settings.test.ts.

import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { artifactBytes } from "../../local/sume/artifacts.ts";
import { type SampleName, samplePayload, withOrigin } from "../../local/sume/webhooks/payloads.ts";
import { type Stack, startStack } from "../../support/stack/stack.ts";
import { type Answer, type ArtifactServer, startArtifactServer } from "./artifact-server.ts";
import { type ProductConsumers, productConsumers } from "./product-consumers.ts";

const MIB = 1024 * 1024;
/** The archive's part of a body without a length, and a limit for these tests that takes more than one. */
const PART_BYTES = 5 * MIB;
const MAX_BYTES = 6 * MIB;

const Result = v.object({ prefix: v.string(), count: v.number() });

let stack: Stack;
let consumers: ProductConsumers;
/** Listed. */
let artifacts: ArtifactServer;
/** Listed as well. */
let mirror: ArtifactServer;
/** The same host at another port, and not listed. */
let stranger: ArtifactServer;

beforeAll(async () => {
  [artifacts, mirror, stranger] = await Promise.all([
    startArtifactServer(),
    startArtifactServer(),
    startArtifactServer(),
  ]);
  const origins = `${artifacts.origin} , ${mirror.origin}`;
  stack = await startStack({
    vars: { "artifact-archive": { ARTIFACT_ORIGINS: origins, MAX_ARTIFACT_BYTES: String(MAX_BYTES) } },
    workers: ["hasty-ledger"],
    archiveBindings: { LEDGER: "hasty-ledger" },
  });
  consumers = productConsumers(stack);
});
afterAll(async () => {
  await stack.close();
  await Promise.all([artifacts.close(), mirror.close(), stranger.close()]);
});

/** Delivers a completed job of that id with these fields, and waits for the archive to be done with it. */
async function archive(jobId: string, fields: object) {
  const status = await consumers.deliver(JSON.stringify({ event: "job.completed", job_id: jobId, ...fields }));
  expect(status).toBe(202);
  return await consumers.untilEnded("artifact-archive", jobId);
}

describe.concurrent("what is copied", () => {
  const samples: [SampleName, string[]][] = [
    ["video", ["cut.mp4", "poster.jpg"]],
    ["images", ["0.png", "1.png", "2.png"]],
    ["nested", ["talk.mp4"]],
    ["analysis", []],
    ["minimal", []],
  ];
  test.for(samples)("the artifacts of the sample event %s, byte for byte", async ([name, files]) => {
    const jobId = `job_${name}`;
    await consumers.deliver(withOrigin(samplePayload(name, jobId), artifacts.origin));
    const { status, result } = await consumers.untilEnded("artifact-archive", jobId);
    expect({ status, result }).toEqual({ status: "completed", result: { prefix: `${jobId}/`, count: files.length } });
    expect(await consumers.keys(`${jobId}/`)).toEqual(files.map((_, position) => `${jobId}/${position}`));
    for (const [position, file] of files.entries()) {
      const stored = await consumers.stored(`${jobId}/${position}`);
      expect(stored?.bytes.equals(artifactBytes(`/${jobId}/${file}`))).toBe(true);
    }
  });

  test("nothing of an event that is not job.completed", async () => {
    const body = { event: "job.failed", job_id: "job_failed", url: `${artifacts.origin}/failed/partial.mp4` };
    await consumers.deliver(JSON.stringify(body));
    const { status, result } = await consumers.untilEnded("artifact-archive", "job_failed");
    expect({ status, result }).toEqual({ status: "completed", result: { count: 0 } });
    expect(artifacts.requests).not.toContain("/failed/partial.mp4");
    expect(await consumers.keys("job_failed/")).toEqual([]);
  });

  test("strings at a key `url` or ending in `_url`, however deep, counted in the order of the event", async () => {
    const at = (file: string) => `${artifacts.origin}/deep/${file}`;
    const { result } = await archive("job_deep", {
      url: at("0"),
      list: [[{ url: at("1") }], "text", null, { a: { b: [{ c: { preview_url: at("2") } }] } }],
      _url: at("3"),
      // None of these is such a string.
      curl: at("no"),
      url_of: at("no"),
      URL: at("no"),
      uri: at("no"),
      video_url: { value: at("no") },
      image_url: [at("no")],
      page_url: 4,
      last: { url: at("4") },
    });
    expect(result).toEqual({ prefix: "job_deep/", count: 5 });
    for (const position of [0, 1, 2, 3, 4]) {
      const stored = await consumers.stored(`job_deep/${position}`);
      expect(stored?.bytes.equals(artifactBytes(`/deep/${position}`))).toBe(true);
    }
    expect(artifacts.requests).not.toContain("/deep/no");
  });

  test("many artifacts of one job", async () => {
    const images = Array.from({ length: 30 }, (_, index) => ({ url: `${artifacts.origin}/many/${index}` }));
    expect((await archive("job_many", { images })).result).toEqual({ prefix: "job_many/", count: 30 });
    expect(await consumers.keys("job_many/")).toHaveLength(30);
    expect((await consumers.stored("job_many/29"))?.bytes.equals(artifactBytes("/many/29"))).toBe(true);
  });

  test("the content type, or that of plain bytes where the server names none", async () => {
    artifacts.script("/typed/a", { headers: { "content-type": "video/mp4; codecs=avc1" } });
    await archive("job_typed", { url: `${artifacts.origin}/typed/a`, other_url: `${artifacts.origin}/typed/b` });
    expect((await consumers.stored("job_typed/0"))?.type).toBe("video/mp4; codecs=avc1");
    expect((await consumers.stored("job_typed/1"))?.type).toBe("application/octet-stream");
  });
});

describe.concurrent("what is left alone", () => {
  test("an origin that is not listed, in every disguise; positions stay those of the event", async () => {
    const { host, port } = new URL(artifacts.origin);
    const { result } = await archive("job_unlisted", {
      other_port_url: `${stranger.origin}/unlisted/port`,
      other_host_url: `http://localhost:${port}/unlisted/host`,
      other_scheme_url: `https://${host}/unlisted/scheme`,
      user_url: `http://${host}@${new URL(stranger.origin).host}/unlisted/user`,
      suffix_url: `http://${host}.example/unlisted/suffix`,
      relative_url: "/unlisted/relative",
      data_url: "data:text/plain,unlisted",
      broken_url: "http://",
      url: `${artifacts.origin}/unlisted/listed`,
      mirror_url: `${mirror.origin}/unlisted/mirrored`,
    });
    expect(result).toEqual({ prefix: "job_unlisted/", count: 2 });
    expect(await consumers.keys("job_unlisted/")).toEqual(["job_unlisted/8", "job_unlisted/9"]);
    const asked = [artifacts, mirror, stranger].map(({ requests }) =>
      requests.filter((path) => path.startsWith("/unlisted/")),
    );
    expect(asked).toEqual([["/unlisted/listed"], ["/unlisted/mirrored"], []]);
  });
});

describe.concurrent("sizes", () => {
  const fits: [string, Answer][] = [
    ["nothing", { body: new Uint8Array() }],
    ["nothing, without a length", { body: new Uint8Array(), chunked: true }],
    ["the limit", { body: artifactBytes("/limit", MAX_BYTES) }],
    ["the limit, without a length", { body: artifactBytes("/limit", MAX_BYTES), chunked: true }],
    ["just one part, without a length", { body: artifactBytes("/part", PART_BYTES), chunked: true }],
  ];
  test.for(fits)("%s is stored", async ([name, answer], { task }) => {
    const path = `/fits/${task.id}`;
    artifacts.script(path, answer);
    const { status } = await archive(`job_fits ${name}`, { url: artifacts.origin + path });
    expect(status).toBe("completed");
    const stored = await consumers.stored(`${encodeURIComponent(`job_fits ${name}`)}/0`);
    expect(stored?.bytes.equals(answer.body ?? new Uint8Array(1))).toBe(true);
  });

  const over: [string, Answer][] = [
    ["with a length", { body: artifactBytes("/over", MAX_BYTES + 1) }],
    ["without a length", { body: artifactBytes("/over", MAX_BYTES + 1), chunked: true }],
  ];
  test.for(over)(
    "one byte over the limit, %s, is not stored, and the job fails at once",
    async ([name, answer], { task }) => {
      const path = `/over/${task.id}`;
      artifacts.script(path, answer);
      const { status, attempt, error } = await archive(`job_over ${name}`, { url: artifacts.origin + path });
      expect({ status, attempt }).toEqual({ status: "failed", attempt: 1 });
      expect(error).toMatch(/^NonRetryableError: .* is larger than MAX_ARTIFACT_BYTES$/);
      expect(await consumers.keys(encodeURIComponent(`job_over ${name}`))).toEqual([]);
    },
  );
});

describe.concurrent("what is tried again", () => {
  test.for([206, 304, 404, 410, 503])("an answer %i, until the artifact is there", async (status) => {
    const path = `/late/${status}`;
    artifacts.script(path, { status }, {});
    const fields = { first_url: `${artifacts.origin}/late/first`, url: artifacts.origin + path };
    const claim = await archive(`job_late_${status}`, fields);
    expect(claim).toMatchObject({ status: "completed", attempt: 2, result: { count: 2 } });
    const error = `Error: ${new URL(artifacts.origin).host}${path} answered ${status}`;
    expect(claim.history).toContainEqual(expect.objectContaining({ verb: "release", status: "released", error }));
    expect((await consumers.stored(`job_late_${status}/1`))?.bytes.equals(artifactBytes(path))).toBe(true);
  });

  test("a job that is done again overwrites its own keys, and the type with them", async () => {
    const again = { body: artifactBytes("/again/second"), headers: { "content-type": "image/png" } };
    artifacts.script("/again/0", { headers: { "content-type": "image/jpeg" } }, again);
    const first = await archive("job_again", { url: `${artifacts.origin}/again/0` });
    await consumers.again("artifact-archive", "job_again");
    const second = await consumers.untilEnded("artifact-archive", "job_again");
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(await consumers.keys("job_again/")).toEqual(["job_again/0"]);
    const stored = await consumers.stored("job_again/0");
    expect(stored?.bytes.equals(again.body)).toBe(true);
    expect(stored?.type).toBe("image/png");
  });
});

describe.concurrent("keys", () => {
  test("no two jobs share one, whatever their ids hold, and none is longer than R2 takes", async () => {
    const longest = "☕".repeat(170) + "ab"; // 512 bytes
    const odd = ["a/0", "a", "a/", "/a", "../a", "a%2F0", "a b", "nul\u0000", "quote\"'\\", "="];
    // One key to R2 if they were not escaped.
    const equivalent = ["caf\u00e9", "cafe\u0301"];
    const ids = [...odd, ...equivalent, longest, longest.slice(0, -1)];
    const claims = await Promise.all(
      ids.map((jobId, index) => archive(jobId, { url: `${artifacts.origin}/keys/${index}` })),
    );
    const prefixes = claims.map(({ result }) => v.parse(Result, result).prefix);
    expect(new Set(prefixes.map((prefix) => prefix.normalize("NFC"))).size).toBe(ids.length);
    for (const [index, prefix] of prefixes.entries()) {
      expect(Buffer.byteLength(`${prefix}1000000`)).toBeLessThanOrEqual(1_024);
      expect((await consumers.stored(`${prefix}0`))?.bytes.equals(artifactBytes(`/keys/${index}`))).toBe(true);
    }
    expect(prefixes[0]).toBe("a%2F0/");
  });
});
