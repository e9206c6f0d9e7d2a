// Options of the command line: what each command takes, its defaults, and one clear line for each mistake.
// Called by cli.ts and its commands.
// Leaves out what the commands do. No message repeats a value that could be a secret.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { ParseArgsOptionsConfig } from "node:util";
import type { RetryPolicy } from "../webhooks/deliver.ts";
import { freshJobId } from "../jobs.ts";
import { isSampleName, SAMPLE_NAMES, samplePayload, withOrigin } from "../webhooks/payloads.ts";
import { DEVELOPMENT_API_KEY, DEVELOPMENT_SECRET } from "../simulator.ts";

/** A wrong call of the command line; the message is one line that says what to do. */
export class UsageError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

export const DEFAULT_RECEIVER_URL = "http://127.0.0.1:8787/webhooks/sume";
export const DEFAULT_PORT = 8788;
export const DEFAULT_ORIGIN = `http://127.0.0.1:${DEFAULT_PORT}`;

/** More at once than any test of a receiver needs; keeps a typing error from opening a flood of sockets. */
const MAX_COPIES = 1000;
const MAX_ATTEMPTS = 1000;
/** An hour, for delays and timeouts. */
const MAX_SECONDS = 3600;

const POLICY_OPTIONS = {
  attempts: { type: "string" },
  delay: { type: "string" },
  timeout: { type: "string" },
  resign: { type: "boolean" },
} as const;

const RECEIVER_OPTIONS = { url: { type: "string" }, secret: { type: "string", multiple: true } } as const;

const DELIVER_OPTIONS = {
  ...RECEIVER_OPTIONS,
  ...POLICY_OPTIONS,
  job: { type: "string" },
  event: { type: "string" },
  body: { type: "string" },
  sample: { type: "string" },
  "artifact-origin": { type: "string" },
  copies: { type: "string" },
  tamper: { type: "boolean" },
  timestamp: { type: "string" },
} as const;

const SERVE_OPTIONS = {
  ...RECEIVER_OPTIONS,
  ...POLICY_OPTIONS,
  port: { type: "string" },
  "api-key": { type: "string" },
} as const;

const STATUS_OPTIONS = {
  job: { type: "string" },
  "api-url": { type: "string" },
  "api-key": { type: "string" },
  timeout: { type: "string" },
} as const;

export interface DeliverCommand {
  readonly url: string;
  readonly secrets: readonly string[];
  readonly policy: Partial<RetryPolicy>;
  /** What to call the event in the output. */
  readonly title: string;
  readonly body: Uint8Array;
  readonly copies: number;
  readonly tamper: boolean;
  /** Signed as given in place of the current second. */
  readonly timestamp: string | undefined;
}

/**
 * The options of `deliver` and `redeliver`.
 *
 * @param repeat true for `redeliver`, which must be told which event to repeat.
 * @throws UsageError
 */
export function deliverOptions(args: string[], env: Environment, repeat: boolean): DeliverCommand {
  const values = parse(args, DELIVER_OPTIONS);
  if (repeat && values.job === undefined && values.body === undefined) {
    throw new UsageError("redeliver repeats an event: name its job with --job ID (or its bytes with --body FILE)");
  }
  const { title, body } = event(values);
  if (values.tamper === true && body.length === 0) throw new UsageError("--tamper needs a body with at least one byte");
  if (values.timestamp !== undefined && !/^[\x21-\x7e]+$/.test(values.timestamp)) {
    throw new UsageError("--timestamp must be text for a header, as 1700000000 (unix seconds)");
  }
  return {
    ...receiver(values, env),
    policy: policy(values),
    title,
    body,
    copies: wholeNumber("copies", values.copies, 1, MAX_COPIES) ?? 1,
    tamper: values.tamper === true,
    timestamp: values.timestamp,
  };
}

export interface ServeCommand {
  readonly port: number;
  readonly url: string;
  readonly secrets: readonly string[];
  readonly apiKey: string;
  readonly policy: Partial<RetryPolicy>;
}

/** The options of `serve`. @throws UsageError */
export function serveOptions(args: string[], env: Environment): ServeCommand {
  const values = parse(args, SERVE_OPTIONS);
  return {
    ...receiver(values, env),
    port: wholeNumber("port", values.port, 0, 65_535) ?? DEFAULT_PORT,
    apiKey: apiKey(values["api-key"], env),
    policy: policy(values),
  };
}

export interface StatusCommand {
  readonly jobId: string;
  /** Origin, and path where there is one, without a slash at the end. */
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly timeoutMs: number;
}

/** The options of `status`. @throws UsageError */
export function statusOptions(args: string[], env: Environment): StatusCommand {
  const values = parse(args, STATUS_OPTIONS);
  if (values.job === undefined || values.job === "") throw new UsageError("status needs a job: add --job ID");
  const url = httpUrl("api-url", values["api-url"] ?? (env["SUME_API_URL"] || DEFAULT_ORIGIN));
  return {
    jobId: values.job,
    apiUrl: url.href.replace(/\/+$/, ""),
    apiKey: apiKey(values["api-key"], env),
    timeoutMs: milliseconds("timeout", values.timeout, 0.001) ?? 10_000,
  };
}

function parse<Options extends ParseArgsOptionsConfig>(args: string[], options: Options) {
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if ("code" in error && error.code === "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL") {
      throw new UsageError("there is a word that belongs to no option: write each option as --name value");
    }
    if ("code" in error && error.code === "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") {
      const [option = "an option"] = /--[a-z-]+/.exec(error.message) ?? [];
      throw new UsageError(`${option} is a flag without a value, or misses one (write --name=-1 for one with a dash)`);
    }
    const [line = ""] = error.message.split(/[.\n]/);
    throw new UsageError(`${line}: see \`npm run sume -- help\``);
  }
}

function receiver(values: { url?: string | undefined; secret?: string[] | undefined }, env: Environment) {
  const secrets = values.secret ?? [env["SUME_WEBHOOK_SECRET"] || DEVELOPMENT_SECRET];
  if (secrets.includes("")) throw new UsageError("a --secret is empty: give it a value or leave it out");
  return { url: httpUrl("url", values.url ?? (env["SUME_RECEIVER_URL"] || DEFAULT_RECEIVER_URL)).href, secrets };
}

function apiKey(value: string | undefined, env: Environment): string {
  const key = value ?? (env["SUME_API_KEY"] || DEVELOPMENT_API_KEY);
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError("the API key must be printable ASCII without spaces: check --api-key or SUME_API_KEY");
}

function event(values: ReturnType<typeof parse<typeof DELIVER_OPTIONS>>): Pick<DeliverCommand, "title" | "body"> {
  const origin = httpUrl("artifact-origin", values["artifact-origin"] ?? DEFAULT_ORIGIN).origin;
  if (values.body !== undefined) {
    if ((values.job ?? values.event ?? values.sample) !== undefined) {
      throw new UsageError("--body is sent as it is: leave out --job, --event and --sample");
    }
    return { title: values.body === "-" ? "standard input" : values.body, body: withOrigin(read(values.body), origin) };
  }
  const sample = values.sample ?? "video";
  if (!isSampleName(sample)) throw new UsageError(`--sample must be one of ${SAMPLE_NAMES.join(", ")}`);
  const jobId = values.job ?? freshJobId();
  if (jobId === "") throw new UsageError("--job is empty: give it a value or leave it out");
  return { title: jobId, body: withOrigin(samplePayload(sample, jobId, values.event), origin) };
}

function read(file: string): Uint8Array {
  try {
    return readFileSync(file === "-" ? 0 : file);
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new UsageError(`--body cannot be read${reason}: name a file, or - for standard input`);
  }
}

type PolicyValues = {
  attempts?: string | undefined;
  delay?: string | undefined;
  timeout?: string | undefined;
  resign?: boolean | undefined;
};

function policy(values: PolicyValues): Partial<RetryPolicy> {
  const attempts = wholeNumber("attempts", values.attempts, 1, MAX_ATTEMPTS);
  const delayMs = milliseconds("delay", values.delay, 0);
  const timeoutMs = milliseconds("timeout", values.timeout, 0.001);
  return {
    ...(attempts === undefined ? {} : { attempts }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(values.resign === true ? { resign: true } : {}),
  };
}

function wholeNumber(name: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UsageError(`--${name} must be a whole number from ${min} to ${max}`);
}

/** Seconds, with a fraction or without, as whole milliseconds. */
function milliseconds(name: string, text: string | undefined, min: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value >= min && value <= MAX_SECONDS) return Math.round(value * 1000);
  throw new UsageError(`--${name} must be seconds from ${min} to ${MAX_SECONDS}`);
}

function httpUrl(name: string, text: string): URL {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new UsageError(`--${name} must be an http or https URL, as ${DEFAULT_RECEIVER_URL}`);
  }
  if (url.username !== "" || url.password !== "") throw new UsageError(`--${name} must not carry a user or password`);
  return url;
}
