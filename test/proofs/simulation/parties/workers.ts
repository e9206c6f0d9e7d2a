// The Workers of one namespace and the parties around them, each invocation a process of its own, wired by bindings with the
// props that a wrangler config would give them.

import { type Effects } from "./effects.ts";
import type { Objects } from "../platform/objects.ts";
import * as production from "../platform/production.ts";
import { Queue, type QueueSettings } from "../platform/queues.ts";
import { type Machine, Process } from "../platform/scheduler.ts";
import { API_URL, type Receiver, SECRET } from "./sume.ts";
import { binding, call, copied, invoke, serveIn } from "../platform/transport.ts";
import type { World } from "../platform/world.ts";
import type { Alert } from "./observer.ts";

const LEDGER_METHODS = [
  "whoami",
  "claim",
  "complete",
  "release",
  "renew",
  "inspect",
  "expectEvent",
  "cancelExpectation",
];
const ADMIN_METHODS = ["inspect", "reopen", "abandon", "cancelExpectation"];
const INTAKE_METHODS = ["ingest", "redispatch"];
const CONSUMER_QUEUE: QueueSettings = { maxBatch: 10, batchWithinMs: 0, maxRetries: 100, retryDelayMs: null };
const ALERTS_QUEUE: QueueSettings = { ...CONSUMER_QUEUE, maxBatch: 5, maxRetries: 3 };

export type Work = (job: production.Job, key: string) => Promise<object>;
type Binding = Record<string, (...args: unknown[]) => Promise<unknown>>;
export type Namespace = {
  name: string;
  consumers: readonly string[];
  /** Of these consumers, those whose Worker was removed: their queues are filled, and nobody reads them. */
  removed?: readonly string[];
  /** What the consumers' wrangler configs say of their queues; absent: the platform's own. */
  queues?: ReadonlyMap<string, QueueSettings>;
};
/** What is told of the messages to consumers. */
export type Told = Record<"onDispatched" | "onHanded", (jobId: string, consumer: string) => void>;

export class Workers {
  readonly #world: World;
  readonly #objects: Objects;
  readonly #machine: () => Machine;
  /** What every consumer does for a job. It may throw. */
  readonly work: Work;
  readonly #intakes: Record<string, Binding> = {};

  constructor(world: World, objects: Objects, options: { machine: () => Machine; work: Work }) {
    this.#world = world;
    this.work = options.work;
    this.#objects = objects;
    this.#machine = options.machine;
  }

  /** A binding to an entrypoint of the ledger service: `Ledger` with props, `LedgerAdmin` without. */
  ledger(props?: { namespace: string; consumer: string }): Binding {
    const ctx = { props, exports: { JobLedger: this.#objects } };
    const [Entrypoint, methods] =
      props === undefined ? [production.LedgerAdmin, ADMIN_METHODS] : [production.Ledger, LEDGER_METHODS];
    return this.#entrypoint(methods, "ledger-service", () => new Entrypoint(ctx, {}));
  }

  /** A binding to the receiver of an open namespace, for Workers that have its events by other means. */
  intake(namespace: string): Binding {
    return this.#intakes[intakeName(namespace)] ?? {};
  }

  /** A namespace's receiver with a queue and a consumer for each name. */
  open({ name: namespace, consumers, removed = [], queues }: Namespace, told: Told): Receiver {
    const env: Record<string, unknown> = {
      SUME_WEBHOOK_SECRET: SECRET,
      LEDGER: this.ledger({ namespace, consumer: "receiver" }),
    };
    for (const consumer of consumers) {
      const queue = new Queue<unknown>(this.#world, {
        name: `${namespace}/${consumer}`,
        settings: queues?.get(consumer) ?? CONSUMER_QUEUE,
        isRead: !removed.includes(consumer),
        spawn: () => this.#spawn(`${namespace}/${consumer}`),
        handle: (batch) => {
          const ledger = this.ledger({ namespace, consumer });
          return production.consume(batch, ledger, (job) => this.work(job, `${namespace}:${job.jobId} ${consumer}`));
        },
        onStored: (body) => told.onDispatched(jobIdOf(body), consumer),
        onHanded: (body) => told.onHanded(jobIdOf(body), consumer),
      });
      env[`DISPATCH_${consumer.toUpperCase().replaceAll("-", "_")}`] = queue.binding;
    }
    this.#intakes[intakeName(namespace)] = this.#entrypoint(
      INTAKE_METHODS,
      `${namespace}/intake`,
      () => new production.Intake({ waitUntil: () => {} }, env),
    );
    return ({ path, headers, body }) => {
      const process = this.#spawn(`${namespace}/receiver`);
      const request = {
        url: `https://receiver.example${path}`,
        method: "POST",
        headers: new Map([...Object.entries(headers), ["content-length", String(body.length)]]),
        body: { getReader: () => ({ readAtLeast: (_: number, into: Uint8Array) => readInto(into, body) }) },
      };
      const ctx = { waitUntil: () => {} };
      return serveIn(process, async () => (await production.receive(request, env, ctx)).status);
    };
  }

  /** The alerts queue with the reconciler behind it. */
  alerts(onStored: (alert: Alert) => void): { send(body: Alert): Promise<void> } {
    const env = { LEDGER_ADMIN: this.ledger(), SUME_API_URL: API_URL, SUME_API_KEY: "key" };
    return new Queue<Alert>(this.#world, {
      name: "alerts",
      settings: ALERTS_QUEUE,
      spawn: () => this.#spawn("reconciler"),
      handle: (batch) => production.takeAlerts(batch, { ...env, ...this.#intakes }),
      onStored,
    }).binding;
  }

  #entrypoint(methods: readonly string[], worker: string, make: () => object) {
    return binding(methods, (method, args) =>
      call<unknown>(this.#world, {
        boundary: "call",
        label: `${worker} ${method} ${brief(args)}`,
        from: Process.current(),
        serve: () => {
          const process = this.#spawn(worker);
          return serveIn(process, async () => copied(await invoke(process.run(make), method, args)));
        },
      }),
    );
  }

  #spawn(worker: string): Process {
    return this.#world.spawn(worker, this.#machine());
  }
}

/** Work whose whole effect is one conditional write. */
export function writing(effects: Effects): Work {
  return async (job, key) => ({ written: await effects.write(key, job) });
}

function intakeName(namespace: string): string {
  return `INTAKE_${namespace.toUpperCase()}`;
}

function jobIdOf(body: unknown): string {
  return typeof body === "object" && body !== null && "jobId" in body ? String(body.jobId) : "";
}

function brief([args]: unknown[]): string {
  return typeof args === "object" && args !== null && "jobId" in args ? String(args.jobId) : "";
}

/** What a reader that is given a buffer answers. */
async function readInto(into: Uint8Array, bytes: Uint8Array): Promise<{ done: boolean; value: Uint8Array }> {
  into.set(bytes);
  return { done: false, value: into };
}
