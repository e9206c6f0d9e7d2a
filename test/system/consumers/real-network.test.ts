// What the archive makes of redirects, short bodies and encoded bodies. These need the runtime's own network. The
// in-process stack fetches in Node, follows redirects there, and shows a body that was cut off as whole. So the Workers
// run under `wrangler dev`. Outcomes are read from their log, and the bucket through the front Worker.

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { artifactBytes } from "../../local/sume/artifacts.ts";
import { type DevStack, startDevStack } from "../../support/stack/dev-stack.ts";
import { until } from "../../support/stack/stack.ts";
import { ask } from "../../support/tools/ask.ts";
import type { SeenTotals } from "../../support/workers/front/src/seen.ts";
import { type Answer, type ArtifactServer, startArtifactServer } from "./artifact-server.ts";

/** The archive's part of a body without a length. */
const PART_BYTES = 5 * 1024 * 1024;
const MAX_BYTES = PART_BYTES + 1_000;

/** `mirror` is listed as `artifacts` is; `stranger` is not. */
type ServerName = "artifacts" | "mirror" | "stranger";
type Case = {
  name: string;
  /** Who is asked in turn, and its answer; a number is a redirect of that status to the next. */
  hops: [ServerName, number | Answer][];
  /** What the client made of the job's first attempt. */
  outcome: "done" | "released" | "gave_up";
  /** The stored bytes; left out: nothing may be stored. */
  stored?: Uint8Array;
};

const whole: Answer = { body: artifactBytes("/whole") };
const long = artifactBytes("/long", MAX_BYTES);
const encoded = (bytes: Uint8Array): Answer => ({ body: gzipSync(bytes), headers: { "content-encoding": "gzip" } });

const CASES: Case[] = [
  {
    name: "three redirects among listed origins",
    hops: [
      ["artifacts", 301],
      ["artifacts", 307],
      ["mirror", 308],
      ["artifacts", whole],
    ],
    outcome: "done",
    stored: artifactBytes("/whole"),
  },
  {
    name: "a fourth redirect",
    hops: [
      ["artifacts", 302],
      ["artifacts", 302],
      ["artifacts", 302],
      ["artifacts", 302],
      ["artifacts", whole],
    ],
    outcome: "released",
  },
  {
    name: "a redirect to an unlisted origin",
    hops: [
      ["artifacts", 302],
      ["stranger", whole],
    ],
    outcome: "gave_up",
  },
  {
    name: "a redirect to an unlisted origin by way of a listed one",
    hops: [
      ["artifacts", 302],
      ["mirror", 303],
      ["stranger", whole],
    ],
    outcome: "gave_up",
  },
  { name: "a redirect to nowhere", hops: [["artifacts", { status: 302 }]], outcome: "released" },
  { name: "a body shorter than its length", hops: [["artifacts", { ...whole, cutAfter: 500 }]], outcome: "released" },
  {
    name: "a body without a length that is cut off",
    hops: [["artifacts", { ...whole, cutAfter: 500, chunked: true }]],
    outcome: "released",
  },
  {
    name: "a body without a length that is cut off after its first part",
    hops: [["artifacts", { body: long, cutAfter: PART_BYTES + 10, chunked: true }]],
    outcome: "released",
  },
  { name: "an encoded body", hops: [["artifacts", encoded(long)]], outcome: "done", stored: long },
  {
    name: "an encoded body that is over the limit once decoded",
    hops: [["artifacts", encoded(new Uint8Array(MAX_BYTES + 1))]],
    outcome: "gave_up",
  },
];

let stack: DevStack;
const servers = new Map<ServerName, ArtifactServer>();
const outcomes = new Map<string, string>();
const unused = new AbortController().signal;

beforeAll(async () => {
  for (const name of ["artifacts", "mirror", "stranger"] as const) servers.set(name, await startArtifactServer());
  const origins = `${server("artifacts").origin},${server("mirror").origin}`;
  stack = await startDevStack({
    vars: { "artifact-archive": { ARTIFACT_ORIGINS: origins, MAX_ARTIFACT_BYTES: String(MAX_BYTES) } },
    onLog: ({ event, consumer, jobId, outcome }) => {
      if (event !== "consume" || consumer !== "artifact-archive") return;
      if (!outcomes.has(String(jobId))) outcomes.set(String(jobId), String(outcome));
    },
    signal: unused,
  });
  await Promise.all(CASES.map(({ hops }, index) => deliver(`job_${index}`, script(index, hops))));
  await until("every job's first outcome", () => (outcomes.size === CASES.length ? true : undefined));
}, 60_000);

afterAll(async () => {
  await stack.close();
  await Promise.all([...servers.values()].map((each) => each.close()));
});

test.for(CASES.map((each, index) => ({ ...each, index })))("$name: $outcome", async (each) => {
  expect(outcomes.get(`job_${each.index}`)).toBe(each.outcome);
  expect(digest(await stored(`job_${each.index}/0`))).toBe(digest(each.stored));
});

test("nobody else was asked, and nothing else was stored", async () => {
  expect(server("stranger").requests).toEqual([]);
  const { objects } = await ask<SeenTotals>(`${stack.server.url}/totals`, { signal: unused, withinMs: 10_000 });
  expect(objects).toBe(CASES.filter((each) => each.stored !== undefined).length);
});

/** What the bucket holds under the key. */
async function stored(key: string): Promise<Uint8Array | undefined> {
  const response = await fetch(`${stack.server.url}/object?key=${encodeURIComponent(key)}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status === 200) return bytes;
  expect(response.status).toBe(404);
  return undefined;
}

/** Stands for bytes in an assertion: its report stays short where they differ. */
function digest(bytes: Uint8Array | undefined): string | undefined {
  return bytes && createHash("sha256").update(bytes).digest("hex");
}

function server(name: ServerName): ArtifactServer {
  const found = servers.get(name);
  if (found === undefined) throw new Error(`the server ${name} is not started`);
  return found;
}

/** Makes the servers play a case's hops; answers the URL of the first. */
function script(index: number, hops: Case["hops"]): string {
  const url = (hop: number): string => `${server(hops[hop]?.[0] ?? "artifacts").origin}/case${index}/${hop}`;
  for (const [hop, [name, answer]] of hops.entries()) {
    // From a server to itself by path alone.
    const location = name === hops[hop + 1]?.[0] ? `/case${index}/${hop + 1}` : url(hop + 1);
    const redirect = typeof answer === "number" ? { status: answer, headers: { location } } : answer;
    server(name).script(`/case${index}/${hop}`, redirect);
  }
  return url(0);
}

async function deliver(jobId: string, url: string): Promise<void> {
  const body = JSON.stringify({ event: "job.completed", job_id: jobId, url });
  stack.sume.createJob({ id: jobId, state: "completed", body });
  expect((await stack.sume.deliver(jobId)).outcome).toBe("delivered");
}
