// What the archive makes of redirects, short bodies and encoded bodies. These need the runtime's own network: the test
// harness fetches in Node, follows redirects there, and shows a body that was cut off as one that ended. So the Workers run
// under `wrangler dev`; outcomes are read from their log, and the bucket from what they leave on disk.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { getPlatformProxy } from "wrangler";
import { afterAll, beforeAll, expect, test } from "vitest";
import { artifactBytes } from "../../local/sume/artifacts.ts";
import { signedHeaders } from "../../local/sume/webhooks/sign.ts";
import { quietWrangler, ROOT, wranglerEnv } from "../../support/tools/wrangler-env.ts";
import { type Answer, type ArtifactServer, startArtifactServer } from "./artifact-server.ts";
import { type Bucket, until } from "./consumers-stack.ts";

const SECRET = "real-network-test-secret";
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const NOT_INTERACTIVE = ["--port", "0", "--inspector-port", "0", "--show-interactive-dev-session=false"];
const ARCHIVE = join(ROOT, "consumers/artifact-archive");
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

/** For the Workers' storage and the archive's config. */
let folder: string;
const servers = new Map<ServerName, ArtifactServer>();
const outcomes = new Map<string, string>();
const stored = new Map<string, Buffer>();

beforeAll(async () => {
  for (const name of ["artifacts", "mirror", "stranger"] as const) servers.set(name, await startArtifactServer());
  folder = await mkdtemp(join(tmpdir(), "real-network-"));
  const state = join(folder, "state");
  // `wrangler dev` takes no variables for any but its first Worker, so the archive runs from a copy of its config.
  const archive = join(folder, "wrangler.jsonc");
  const origins = `${server("artifacts").origin},${server("mirror").origin}`;
  const config = (await readFile(join(ARCHIVE, "wrangler.jsonc"), "utf8"))
    .replace(/(?<="main": )".*"/, JSON.stringify(join(ARCHIVE, "src/index.ts")))
    .replace(/(?<="ARTIFACT_ORIGINS": )".*"/, JSON.stringify(origins))
    .replace(/(?<="MAX_ARTIFACT_BYTES": )".*"/, JSON.stringify(String(MAX_BYTES)));
  await writeFile(archive, config);

  const wrangler = await startWrangler(state, archive);
  try {
    await Promise.all(CASES.map(({ hops }, index) => deliver(wrangler.url, `job_${index}`, script(index, hops))));
    await until("every job's first outcome", () => (outcomes.size === CASES.length ? true : undefined));
  } finally {
    await wrangler.stop();
  }
  quietWrangler();
  const persist = { path: join(state, "v3") };
  const proxy = await getPlatformProxy<{ ARTIFACTS: Bucket }>({ configPath: archive, persist });
  const { objects } = await proxy.env.ARTIFACTS.list({ prefix: "" });
  for (const { key } of objects) {
    const object = await proxy.env.ARTIFACTS.get(key);
    if (object !== null) stored.set(key, Buffer.from(await object.arrayBuffer()));
  }
  await proxy.dispose();
}, 60_000);

afterAll(async () => {
  await Promise.all([...servers.values()].map((each) => each.close()));
  await rm(folder, { recursive: true });
});

test.for(CASES.map((each, index) => ({ ...each, index })))("$name: $outcome", (each) => {
  expect(outcomes.get(`job_${each.index}`)).toBe(each.outcome);
  const bytes = stored.get(`job_${each.index}/0`);
  expect(digest(bytes)).toBe(digest(each.stored));
});

test("nobody else was asked, and nothing else was stored", () => {
  expect(server("stranger").requests).toEqual([]);
  expect(stored.size).toBe(CASES.filter((each) => each.stored !== undefined).length);
});

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

async function deliver(receiverUrl: string, jobId: string, url: string): Promise<void> {
  const body = JSON.stringify({ event: "job.completed", job_id: jobId, url });
  const headers = signedHeaders([SECRET], Math.floor(Date.now() / 1_000), body);
  const response = await fetch(new URL("/webhooks/sume", receiverUrl), { method: "POST", headers, body });
  if (response.status !== 202) throw new Error(`the receiver answered ${response.status}: ${await response.text()}`);
}

/** Runs the Workers until `stop`; the archive's log lines fill `outcomes`. */
async function startWrangler(state: string, archive: string): Promise<{ url: string; stop(): Promise<void> }> {
  const configs = ["receiver", "ledger-service", "consumers/job-index"].map((path) => `${path}/wrangler.jsonc`);
  const wrangler = spawn(
    process.execPath,
    [
      WRANGLER,
      "dev",
      ...[...configs, archive].flatMap((config) => ["-c", config]),
      ...NOT_INTERACTIVE,
      "--persist-to",
      state,
    ],
    {
      cwd: ROOT,
      env: { ...wranglerEnv(), SUME_WEBHOOK_SECRET: SECRET, WRANGLER_LOG: "log" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const exited = new Promise<void>((done) => wrangler.once("exit", () => done()));
  const stop = async () => {
    wrangler.kill("SIGTERM");
    await exited;
  };
  let url: string | undefined;
  // Error lines go to the other stream; both streams decorate what a Worker logs.
  for (const output of [wrangler.stdout, wrangler.stderr]) {
    createInterface({ input: output }).on("line", (line) => {
      url ??= /Ready on (http\S+)/.exec(line)?.[1];
      const logged = /{"level":.*}/.exec(line)?.[0];
      if (logged === undefined) return;
      const { event, consumer, jobId, outcome }: Record<string, string | undefined> = JSON.parse(logged);
      if (event !== "consume" || consumer !== "artifact-archive" || !jobId || !outcome) return;
      if (!outcomes.has(jobId)) outcomes.set(jobId, outcome);
    });
  }
  try {
    return { url: await until("wrangler to be ready", () => url), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
