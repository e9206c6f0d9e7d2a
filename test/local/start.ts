// `npm start`: the whole stack for a person to play with, in one real workerd, with Sume's simulator beside it. What the
// Workers store stays between runs. Prepares what a run needs (development variables, the database), checks the ports, and
// says where to send what.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { DEVELOPMENT_API_KEY, DEVELOPMENT_SECRET, startSume, type Sume } from "./sume/simulator.ts";
import { consumerFolders } from "../support/tools/workers.ts";
import { ROOT, wranglerEnv } from "../support/tools/wrangler-env.ts";

const WRANGLER = resolve(ROOT, "node_modules/wrangler/bin/wrangler.js");
const STATE = resolve(ROOT, ".wrangler/state");
/** The first is the one that HTTP reaches. */
const WORKERS = ["receiver", "ledger-service", ...consumerFolders()];

class UsageError extends Error {}

try {
  await start();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function start(): Promise<void> {
  const { port, sumePort } = readOptions();
  for (const folder of [...WORKERS, "consumers/job-index", "consumers/artifact-archive"])
    requireFile(`${folder}/wrangler.jsonc`);
  if (port === sumePort) throw new UsageError("--port and --sume-port must be two ports");
  await requireFreePort(port, "--port");
  await requireFreePort(sumePort, "--sume-port");
  const sumeOrigin = `http://127.0.0.1:${sumePort}`;
  provideVars("consumers/artifact-archive", { ARTIFACT_ORIGINS: sumeOrigin });
  provideVars("consumers/reconciler", { SUME_API_URL: sumeOrigin, SUME_API_KEY: DEVELOPMENT_API_KEY });
  migrate();

  const webhookUrl = `http://127.0.0.1:${port}/webhooks/sume`;
  const sume = await startSume({ port: sumePort, receiverUrl: webhookUrl, control: true });
  const wrangler = spawn(
    process.execPath,
    [
      WRANGLER,
      "dev",
      `--port=${port}`,
      "--ip=127.0.0.1",
      "--inspector-port=0",
      `--persist-to=${STATE}`,
      "--show-interactive-dev-session=false",
      ...WORKERS.flatMap((folder) => ["-c", `${folder}/wrangler.jsonc`]),
    ],
    {
      cwd: ROOT,
      env: { SUME_WEBHOOK_SECRET: DEVELOPMENT_SECRET, ...wranglerEnv() },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => wrangler.kill("SIGTERM"));
  createInterface({ input: wrangler.stdout }).on("line", (line) => {
    console.log(line);
    if (line.includes("Ready on")) guide(webhookUrl, sume);
  });
  process.exitCode = await ended(wrangler);
  await sume.close();
}

function readOptions(): { port: number; sumePort: number } {
  const options = {
    port: { type: "string", default: "8787" },
    "sume-port": { type: "string", default: "8788" },
  } as const;
  let values: { port: string; "sume-port": string };
  try {
    ({ values } = parseArgs({ options, strict: true }));
  } catch {
    throw new UsageError("usage: npm start -- [--port 8787] [--sume-port 8788]");
  }
  return { port: portOf("--port", values.port), sumePort: portOf("--sume-port", values["sume-port"]) };
}

function portOf(option: string, value: string): number {
  const port = Number(value);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new UsageError(`${option} must be a port from 1 to 65535, not «${value}»`);
}

async function requireFreePort(port: number, option: string): Promise<void> {
  const server = createServer();
  const free = await new Promise<boolean>((done) => {
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => done(true));
  });
  await new Promise((done) => server.close(done));
  if (!free) throw new UsageError(`port ${port} is taken: end what listens there, or choose another with ${option}`);
}

function requireFile(path: string): void {
  if (!existsSync(resolve(ROOT, path)))
    throw new UsageError(`${path} is missing: restore it with \`git checkout ${path}\``);
}

/** A variable of one Worker among several can only be given in its folder's `.dev.vars`; a file that a person wrote stays. */
function provideVars(folder: string, vars: Record<string, string>): void {
  const file = resolve(ROOT, folder, ".dev.vars");
  const ours = "# Written anew by `npm start`; remove this line to keep your own values.\n";
  if (existsSync(file) && !readFileSync(file, "utf8").startsWith(ours)) return;
  const lines = Object.entries(vars).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, `${ours}${lines.join("")}`);
}

function migrate(): void {
  const database = [
    "d1",
    "migrations",
    "apply",
    "DB",
    "--local",
    "--persist-to",
    STATE,
    "-c",
    "consumers/job-index/wrangler.jsonc",
  ];
  const env = { ...wranglerEnv(), CI: "true" }; // asks nothing
  const { status, stdout, stderr } = spawnSync(process.execPath, [WRANGLER, ...database], {
    cwd: ROOT,
    env,
    encoding: "utf8",
  });
  if (status !== 0) throw new UsageError(`the job index's migrations could not be applied:\n${stdout}${stderr}`);
}

function guide(webhookUrl: string, sume: Sume): void {
  console.log(`
The receiver listens at ${webhookUrl}, Sume's simulator at ${sume.origin}. In another terminal:
  npm run sume -- deliver --url ${webhookUrl} --artifact-origin ${sume.origin}               # an event, signed and retried like Sume's
  npm run sume -- redeliver --url ${webhookUrl} --artifact-origin ${sume.origin} --job ID    # the same again
  npm run sume -- help                                                                       # more
What the Workers decide is logged here, a JSON line each. State is kept in .wrangler/state; Ctrl-C ends everything.
`);
}

function ended(child: ChildProcess): Promise<number> {
  return new Promise((done) => {
    child.once("exit", (code, signal) => done(signal === null ? (code ?? 1) : 0));
  });
}
