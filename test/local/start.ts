// `npm start`: the whole stack for a person to play with, in one real workerd, with Sume's simulator beside it. What
// the Workers store stays between runs. Prepares what a run needs (development variables, the database), checks the
// ports, and says where to send what.

import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { migrate, readyUrl, spawnDev } from "../support/stack/dev-server.ts";
import { type ProductWorker, productWorkers } from "../support/stack/workers.ts";
import { UsageError } from "../support/tools/program.ts";
import { ROOT } from "../support/tools/wrangler-env.ts";
import { DEVELOPMENT_SECRET, startSume, type Sume } from "./sume/simulator.ts";

const STATE = resolve(ROOT, ".wrangler/state");

try {
  await start();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function start(): Promise<void> {
  const { port, sumePort } = readOptions();
  const workers = productWorkers(`http://127.0.0.1:${sumePort}`);
  const configs = workers.map(({ config }) => config);
  for (const config of configs) requireFile(config);
  if (port === sumePort) throw new UsageError("--port and --sume-port must be two ports");
  await requireFreePort(port, "--port");
  await requireFreePort(sumePort, "--sume-port");
  // The receiver's secret comes from the environment, where a person may set another.
  for (const worker of workers) if (worker.name !== "receiver") provideVars(worker);
  for (const config of configs) prepareDatabases(config);

  const webhookUrl = `http://127.0.0.1:${port}/webhooks/sume`;
  const sume = await startSume({ port: sumePort, receiverUrl: webhookUrl, control: true });
  const wrangler = spawnDev({
    configs,
    state: STATE,
    port,
    env: { SUME_WEBHOOK_SECRET: process.env["SUME_WEBHOOK_SECRET"] ?? DEVELOPMENT_SECRET },
    passErrors: true,
    onLine: (line) => {
      console.log(line);
      if (readyUrl(line) !== undefined) guide(webhookUrl, sume);
    },
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => wrangler.kill("SIGTERM"));
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

/**
 * A variable of one Worker among several can only be given in its folder's `.dev.vars`. A file that a person wrote
 * stays.
 */
function provideVars({ folder, vars, secrets }: ProductWorker): void {
  const lines = Object.entries({ ...vars, ...secrets }).map(([name, value]) => `${name}=${value}\n`);
  if (lines.length === 0) return;
  const file = resolve(ROOT, folder, ".dev.vars");
  const ours = "# Written anew by `npm start`; remove this line to keep your own values.\n";
  if (existsSync(file) && !readFileSync(file, "utf8").startsWith(ours)) return;
  writeFileSync(file, `${ours}${lines.join("")}`);
}

function prepareDatabases(config: string): void {
  try {
    migrate(STATE, config);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
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
