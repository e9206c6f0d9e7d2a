// Sume as a real HTTP server on loopback: jobs, their webhooks, the status and redeliver endpoints, artifacts.
// Called by tests, and by `serve` of the command line.
// Leaves out how jobs come to run: whoever starts it creates and ends them.

import { createServer } from "node:http";
import { answerControl } from "./control.ts";
import { listen } from "../../support/tools/listen.ts";
import { deliver } from "./webhooks/deliver.ts";
import type { Attempt, Delivery, DeliveryOptions, RetryPolicy } from "./webhooks/deliver.ts";
import { Faults } from "./faults.ts";
import type { ApiEndpoint, Fault } from "./faults.ts";
import { sendError } from "./http.ts";
import { hasEnded, JobBook } from "./jobs.ts";
import type { Job, JobInput } from "./jobs.ts";
import { route } from "./routes.ts";
import type { RecordedRequest } from "./routes.ts";

/** For development and tests only; never configure a deployed receiver with it. */
export const DEVELOPMENT_SECRET = "sume-dev-secret";
/** For development and tests only. */
export const DEVELOPMENT_API_KEY = "sume-dev-key";

export interface SumeOptions {
  /** A free one when left out. */
  readonly port?: number;
  /** Where webhooks go; may be set later with `setReceiver`. */
  readonly receiverUrl?: string;
  /** Live secrets, newest first; {@link DEVELOPMENT_SECRET} when left out. */
  readonly secrets?: readonly string[];
  /** The bearer key of the API; {@link DEVELOPMENT_API_KEY} when left out. */
  readonly apiKey?: string;
  /** Departures from the documented retry policy. */
  readonly policy?: Partial<RetryPolicy>;
  /** Offer `POST /control/jobs`. */
  readonly control?: boolean;
  /** Called after each attempt of each delivery. */
  readonly onAttempt?: (jobId: string, attempt: Attempt) => void;
}

/** A delivery as it goes: its attempts grow, its outcome changes once. */
interface DeliveryRecord {
  readonly jobId: string;
  readonly trigger: "end" | "redeliver";
  readonly attempts: readonly Attempt[];
  readonly outcome: "running" | Delivery["outcome"];
}

export interface Sume {
  /** `http://127.0.0.1:<port>`: base of the API and of the artifacts. */
  readonly origin: string;
  /** Requests to status, redeliver and artifacts, oldest first. */
  readonly requests: readonly RecordedRequest[];
  /** All deliveries, oldest first, also those that the redeliver endpoint started. */
  readonly deliveries: readonly DeliveryRecord[];
  /** @throws TypeError for a URL that cannot be parsed. */
  setReceiver(url: string): void;
  createJob(input?: JobInput): Job;
  /** Ends a job without delivering; see `JobBook.end`. @throws Error for an unknown job. */
  endJob(jobId: string, end?: Omit<JobInput, "id">): Job;
  /**
   * Delivers an ended job's webhook by the policy.
   * @throws Error for a job that is unknown or under way, or without a receiver.
   */
  deliver(jobId: string, options?: DeliveryOptions): Promise<Delivery>;
  /**
   * The same bytes again with a fresh timestamp and signature, as the button and the endpoint do. Throws like
   * `deliver`.
   */
  redeliver(jobId: string, options?: DeliveryOptions): Promise<Delivery>;
  /** Puts a new secret first; the old ones stay live. */
  rotate(newSecret: string): void;
  /** Drops all secrets but the newest. */
  retire(): void;
  /** From now on the job's deliveries go to a path that the receiver does not serve, and are refused. */
  misdirect(jobId: string): void;
  /** Makes an endpoint's next answers faulty: all of them unless `times` is given. */
  misbehave(endpoint: ApiEndpoint, fault: Fault, times?: number): void;
  /** Ends all misbehaviour. */
  behave(): void;
  /** Ends pending retries, open connections and the server. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Starts the simulator.
 *
 * @throws TypeError for a receiver URL that cannot be parsed; Error with the code of `listen`, as `EADDRINUSE`.
 */
export async function startSume(options: SumeOptions = {}): Promise<Sume> {
  let receiverUrl = options.receiverUrl === undefined ? null : checkedUrl(options.receiverUrl);
  const secrets = [...(options.secrets ?? [DEVELOPMENT_SECRET])];
  const faults = new Faults();
  const requests: RecordedRequest[] = [];
  const deliveries: DeliveryRecord[] = [];
  const running = new Set<Promise<Delivery>>();
  const misdirected = new Set<string>();
  const closing = new AbortController();

  const server = createServer();
  const origin = `http://127.0.0.1:${await listen(server, options.port ?? 0)}`;
  const jobs = new JobBook(origin);

  async function run(
    job: Job,
    url: string,
    trigger: DeliveryRecord["trigger"],
    own: DeliveryOptions,
  ): Promise<Delivery> {
    const attempts: Attempt[] = [];
    const record: { -readonly [Key in keyof DeliveryRecord]: DeliveryRecord[Key] } = {
      jobId: job.id,
      trigger,
      attempts,
      outcome: "running",
    };
    deliveries.push(record);
    const delivery = await deliver(
      { url, body: job.body, secrets },
      {
        ...options.policy,
        ...own,
        signal: own.signal === undefined ? closing.signal : AbortSignal.any([closing.signal, own.signal]),
        onAttempt: (attempt) => {
          attempts.push(attempt);
          own.onAttempt?.(attempt);
          options.onAttempt?.(job.id, attempt);
        },
      },
    );
    record.outcome = delivery.outcome;
    return delivery;
  }

  function start(jobId: string, trigger: DeliveryRecord["trigger"], own: DeliveryOptions = {}): Promise<Delivery> {
    const job = jobs.get(jobId);
    if (!hasEnded(job)) throw new Error(`sume: ${jobId} is ${job.state}: end it first`);
    if (receiverUrl === null) throw new Error("sume: no receiver: set one with setReceiver");
    const url = misdirected.has(jobId) ? new URL("/misdirected", receiverUrl).href : receiverUrl;
    const delivery = run(job, url, trigger, own);
    running.add(delivery);
    return delivery.finally(() => running.delete(delivery));
  }

  function startDelivery(job: Job, trigger: DeliveryRecord["trigger"]): boolean {
    if (receiverUrl === null) return false;
    void start(job.id, trigger);
    return true;
  }

  const control = options.control === true;
  const backend = {
    origin,
    apiKey: options.apiKey ?? DEVELOPMENT_API_KEY,
    jobs,
    faults,
    requests,
    closing: closing.signal,
    startDelivery,
    control: control ? answerControl.bind(null, jobs, (job: Job) => startDelivery(job, "end")) : null,
  };
  server.on("request", (request, response) => {
    route(backend, request, response).catch((error: unknown) => {
      // The client went away, or the simulator closes: nobody is there to tell.
      if (closing.signal.aborted || response.headersSent || response.destroyed) response.destroy();
      else sendError(response, 500, "simulator_bug", String(error));
    });
  });

  async function close(): Promise<void> {
    closing.abort();
    const closed = server.listening ? new Promise((done) => server.close(done)) : null;
    server.closeAllConnections();
    await Promise.allSettled([closed, ...running]);
  }

  return {
    origin,
    requests,
    deliveries,
    setReceiver: (url) => {
      receiverUrl = checkedUrl(url);
    },
    createJob: (input = {}) => jobs.create(input),
    endJob: (jobId, end = {}) => jobs.end(jobId, end),
    deliver: async (jobId, own) => start(jobId, "end", own),
    redeliver: async (jobId, own) => start(jobId, "redeliver", own),
    rotate: (newSecret) => {
      secrets.unshift(newSecret);
    },
    retire: () => {
      secrets.splice(1);
    },
    misdirect: (jobId) => {
      misdirected.add(jobId);
    },
    misbehave: (endpoint, fault, times = Number.POSITIVE_INFINITY) => faults.set(endpoint, fault, times),
    behave: () => faults.clear(),
    close,
  };
}

function checkedUrl(url: string): string {
  if (!URL.canParse(url)) throw new TypeError("sume: the receiver URL cannot be parsed");
  return url;
}
