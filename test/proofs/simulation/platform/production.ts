// The production code, loaded as it is. It is written for the Workers runtime, whose types a program for Node does not know;
// so it is imported by names made at run time, and what the simulation uses of it is declared here by its structure.
// `cloudflare:workers` is answered by a stub of its two base classes.

import { registerHooks } from "node:module";
import { installGlobals } from "./globals.ts";

type Constructor = new (ctx: object, env: object) => object;
export type Ack = {
  id: string;
  body: unknown;
  attempts: number;
  ack(): void;
  retry(options?: { delaySeconds?: number }): void;
};
export type Batch = { messages: Ack[] };
export type Job = {
  jobId: string;
  event: { type: string; body: string };
  attempt: number;
  fence: number;
  signal: AbortSignal;
};
type Work = (job: Job) => Promise<object>;

type LedgerService = { JobLedger: Constructor; Ledger: Constructor; LedgerAdmin: Constructor };
type Receiver = {
  Intake: Constructor;
  default: { fetch: (request: object, env: object, ctx: object) => Promise<{ status: number }> };
};
type Client = {
  consume: (batch: Batch, ledger: object, work: Work) => Promise<void>;
  runOnce: (ledger: object, options: object, work: Work) => Promise<{ outcome: string }>;
  NonRetryableError: new (message: string) => Error;
};
type Reconciler = { default: { queue: (batch: Batch, env: object) => Promise<void> } };

const RUNTIME = "cloudflare:workers";
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === RUNTIME
      ? { url: new URL("workers-runtime.ts", import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});
installGlobals();

const from = (path: string) => new URL(`../../../../${path}`, import.meta.url).href;
const service: LedgerService = await import(from("ledger-service/src/index.ts"));
const receiver: Receiver = await import(from("receiver/src/index.ts"));
const client: Client = await import(from("ledger-service/client/index.ts"));
const reconciler: Reconciler = await import(from("consumers/reconciler/src/index.ts"));

export const { JobLedger, Ledger, LedgerAdmin } = service;
export const { Intake } = receiver;
export const receive = receiver.default.fetch;
export const { consume, runOnce, NonRetryableError } = client;
export const takeAlerts = reconciler.default.queue;
