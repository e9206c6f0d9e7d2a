// The command line of the simulated Sume: `npm run sume -- <command>`.
// Called by people and scripts, to try a receiver without the real Sume; it keeps no state between calls.
// Leaves out cases that a test should hold instead: it sends events, it asserts nothing.

import {
  DEFAULT_ORIGIN,
  DEFAULT_PORT,
  DEFAULT_RECEIVER_URL,
  deliverOptions,
  serveOptions,
  statusOptions,
  UsageError,
} from "./cli-options.ts";
import type { DeliverCommand, ServeCommand, StatusCommand } from "./cli-options.ts";
import { deliver } from "../webhooks/deliver.ts";
import type { Attempt } from "../webhooks/deliver.ts";
import { SAMPLE_NAMES } from "../webhooks/payloads.ts";
import { DEVELOPMENT_API_KEY, DEVELOPMENT_SECRET, startSume } from "../simulator.ts";

/** Exit codes: the answer was a 2xx; it was not, or nothing answered; the call was wrong. */
const OK = 0;
const GAVE_UP = 1;
const WRONG_USAGE = 2;

const HELP = `Usage: npm run sume -- <command> [options]

  deliver     send a signed webhook, with retries, until the first 2xx
  redeliver   the same event again (same --job, --event and --sample), freshly signed
  serve       run as a program: status, redeliver and control endpoints, artifacts
  status      ask for a job's status
  help        this text

deliver, redeliver
  --url URL               receiver; or SUME_RECEIVER_URL; default ${DEFAULT_RECEIVER_URL}
  --secret SECRET         repeat it for each live secret, newest first; or SUME_WEBHOOK_SECRET;
                          default: the development secret, ${DEVELOPMENT_SECRET}
  --job ID                default: a fresh one (redeliver needs it)
  --event TYPE            default: the sample's own, job.completed or job.failed
  --sample NAME           ${SAMPLE_NAMES.join(", ")}; default video
  --body FILE             send these bytes in place of a sample; - reads standard input
  --artifact-origin URL   stands for %ORIGIN% in the body; default ${DEFAULT_ORIGIN}
  --copies N              send N copies at once; default 1
  --tamper                flip one bit of the body after signing
  --timestamp SECONDS     sign this in place of the current time
  --attempts N            default 10
  --delay SECONDS         between attempts; default 30
  --timeout SECONDS       for one attempt; default 10
  --resign                sign each attempt anew, at its own time; default: all keep the first one's signature

serve takes --url, --secret, --attempts, --delay, --timeout, --resign, and
  --port PORT             default ${DEFAULT_PORT}; 0 picks a free one
  --api-key KEY           or SUME_API_KEY; default: the development key, ${DEVELOPMENT_API_KEY}

status takes --job, --api-key, --timeout, and
  --api-url URL           or SUME_API_URL; default ${DEFAULT_ORIGIN}

Exit code: 0 after a 2xx, 1 without one, 2 for a wrong call.
`;

async function main([command = "", ...args]: readonly string[]): Promise<number> {
  switch (command) {
    case "deliver":
    case "redeliver":
      return runDeliver(deliverOptions(args, process.env, command === "redeliver"));
    case "serve":
      return runServe(serveOptions(args, process.env));
    case "status":
      return runStatus(statusOptions(args, process.env));
    case "help":
    case "--help":
      process.stdout.write(HELP);
      return OK;
    default:
      throw new UsageError("name a command: deliver, redeliver, serve, status or help");
  }
}

async function runDeliver(command: DeliverCommand): Promise<number> {
  const { url, secrets, body, copies, timestamp } = command;
  print(`sending ${command.title}, ${body.length} bytes, to ${shown(url)}`);
  const send = async (copy: number) => {
    const prefix = copies === 1 ? "" : `copy ${copy}  `;
    const { outcome, attempts } = await deliver(
      { url, body, secrets },
      {
        ...command.policy,
        tamper: command.tamper,
        ...(timestamp === undefined ? {} : { timestamp }),
        onAttempt: (attempt) => print(prefix + attemptLine(attempt)),
      },
    );
    const count = `${attempts.length} attempt${attempts.length === 1 ? "" : "s"}`;
    print(`${prefix}${outcome === "delivered" ? "delivered" : "gave up on"} ${command.title} after ${count}`);
    return outcome === "delivered";
  };
  const delivered = await Promise.all(Array.from({ length: copies }, (_, index) => send(index + 1)));
  return delivered.every(Boolean) ? OK : GAVE_UP;
}

async function runServe(command: ServeCommand): Promise<number> {
  const sume = await startSume({
    port: command.port,
    receiverUrl: command.url,
    secrets: command.secrets,
    apiKey: command.apiKey,
    policy: command.policy,
    control: true,
    onAttempt: (jobId, attempt) => print(`${jobId}  ${attemptLine(attempt)}`),
  }).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return null;
    throw error;
  });
  if (sume === null) {
    console.error(`sume: port ${command.port} is taken: end the program that has it, or choose another with --port`);
    return GAVE_UP;
  }
  print(`serving on ${sume.origin}, webhooks go to ${shown(command.url)}
  end a job    curl -X POST ${sume.origin}/control/jobs -d '{"sample":"video"}'
               fields: job_id, sample, event, state, deliver (false: the webhook is lost)
  status       curl -H "authorization: Bearer $SUME_API_KEY" ${sume.origin}/v1/jobs/JOB/status
  redeliver    curl -X POST -H "authorization: Bearer $SUME_API_KEY" ${sume.origin}/v1/jobs/JOB/webhook/redeliver
  artifacts    ${sume.origin}/JOB/NAME
  end with Ctrl+C`);
  await new Promise<void>((done) => {
    process.once("SIGINT", () => done());
    process.once("SIGTERM", () => done());
  });
  await sume.close();
  return OK;
}

async function runStatus({ apiUrl, apiKey, jobId, timeoutMs }: StatusCommand): Promise<number> {
  const url = `${apiUrl}/v1/jobs/${encodeURIComponent(jobId)}/status`;
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(timeoutMs),
    });
    print(`${response.status}  ${oneLine(await response.text())}`);
    return response.ok ? OK : GAVE_UP;
  } catch {
    console.error(`sume: no answer from ${apiUrl}: start it with \`npm run sume -- serve\`, or set --api-url`);
    return GAVE_UP;
  }
}

function attemptLine(attempt: Attempt): string {
  const head = `attempt ${attempt.number}  `;
  if (attempt.outcome === "error") return `${head}error  ${attempt.ms} ms  ${oneLine(attempt.error)}`;
  return `${head}${attempt.status}  ${attempt.ms} ms  ${oneLine(attempt.body)}`;
}

/** A URL without its query, which may hold a token. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** Foreign text for one line of a terminal, without control characters. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, " ").trim();
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`sume: ${error.message}`);
  process.exitCode = WRONG_USAGE;
}
