// Sume, from outside: sends a job's signed webhook until the first 2xx, again when asked, and answers for a job's status.

import { clock } from "../platform/globals.ts";
import { signedHeaders } from "../../../local/sume/webhooks/sign.ts";
import { call, type Outcome } from "../platform/transport.ts";
import { lost, type World } from "../platform/world.ts";

const ATTEMPTS = 10;
const RETRY_DELAY_MS = 30_000;
const TIMEOUT_MS = 10_000;
export const SECRET = "simulated secret";
export const API_URL = "https://sume.example";

export type WireRequest = { path: string; headers: Record<string, string>; body: Uint8Array };
/** A namespace's receiver. */
export type Receiver = (request: WireRequest) => Promise<Outcome<number>>;

/** A job at Sume; `namespace` says whose webhook it has. */
export type SumeJob = { namespace: string; jobId: string; status: string; event: string };

type JobKey = Pick<SumeJob, "namespace" | "jobId">;

/** `edition`: counts the times that the job's media got other URLs. */
function eventBody({ namespace, jobId }: JobKey, event: string, edition: number): string {
  return JSON.stringify({ job_id: jobId, event, account: namespace, edition });
}

function statusBody({ namespace, jobId, status }: SumeJob, edition: number): string {
  return JSON.stringify({ job_id: jobId, status, account: namespace, edition, polled: true });
}

export class Sume {
  readonly #world: World;
  readonly #receivers: ReadonlyMap<string, Receiver>;
  readonly #onAcknowledged: (job: JobKey) => void;
  readonly #known = new Map<string, SumeJob>();
  /** By namespace and job. */
  readonly #editions = new Map<string, number>();
  /** Everything ever said of a job in an event of a type. */
  readonly #said = new Map<string, Set<string>>();
  /** Whose API key a request carries is not simulated; so a job's namespace is found by the job. */
  constructor(world: World, receivers: ReadonlyMap<string, Receiver>, onAcknowledged: (job: JobKey) => void) {
    this.#world = world;
    this.#receivers = receivers;
    this.#onAcknowledged = onAcknowledged;
    world.fetch = (url, init) => this.#answer(url, init);
  }

  /** From now on the API tells of the job. */
  know(job: SumeJob): void {
    this.#known.set(job.jobId, job);
  }

  /** From now on what is said of the job carries other URLs. */
  renewMedia(job: JobKey): void {
    this.#editions.set(nameOf(job), this.#edition(job) + 1);
  }

  /** What the API tells of the job, which must have ended. */
  ended(job: JobKey, event: string): { type: string; body: string; source: "poll" } {
    const status = event.replace(/^job\./, "");
    return { type: event, body: this.#tell({ ...job, status, event }), source: "poll" };
  }

  /** Whether that was ever said of the job; `name`: its object's. */
  hasSaid(name: string, { type, body }: { type: string; body: string }): boolean {
    return this.#said.get(`${name} ${type}`)?.has(body) ?? false;
  }

  /** Sends until 2xx, as often as Sume does. */
  async deliver(job: JobKey, event: string): Promise<void> {
    const body = new TextEncoder().encode(this.#say(job, event, eventBody(job, event, this.#edition(job))));
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const status = await this.#attempt(job.namespace, body, `${job.namespace}/${job.jobId} ${event}`);
      if (status !== null && status >= 200 && status < 300) {
        this.#onAcknowledged(job);
        return;
      }
      await this.#pause(RETRY_DELAY_MS);
    }
  }

  /** The answer's status, or `null` for none in time. */
  #attempt(namespace: string, body: Uint8Array, label: string): Promise<number | null> {
    const receiver = this.#receivers.get(namespace);
    if (receiver === undefined) throw new Error(`no receiver for ${namespace}`);
    const headers = signedHeaders([SECRET], Math.floor(clock(undefined) / 1_000), body);
    return new Promise((resolve) => {
      this.#world.scheduler.after(TIMEOUT_MS, () => resolve(null));
      call<number>(this.#world, {
        boundary: "webhook",
        label,
        serve: () => receiver({ path: "/webhooks/sume", headers, body }),
      }).then(resolve, () => resolve(null));
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.scheduler.after(ms, resolve);
    });
  }

  #answer(url: URL, { method, signal }: { method: string; signal: AbortSignal }): Promise<unknown> {
    const label = `${method} ${url.pathname}`;
    return new Promise((resolve, reject) => {
      const fault = this.#world.cross("api", label);
      signal.addEventListener("abort", () => reject(lost(label)));
      if (fault === "hang") return;
      this.#world.scheduler.after(2 * this.#world.latency(), () => {
        const answered = fault === "lost-before" ? null : this.#respond(url, method);
        if (fault === null && answered !== null) resolve(answered);
        else reject(lost(label));
      });
    });
  }

  #respond({ pathname }: URL, method: string): object {
    const [, jobId = "", endpoint] = /^\/v1\/jobs\/([^/]+)\/(.+)$/.exec(pathname) ?? [];
    const job = this.#known.get(decodeURIComponent(jobId));
    if (job === undefined) return response(404, "{}");
    if (method === "POST" && endpoint === "webhook/redeliver") {
      void this.deliver(job, job.event);
      return response(202, "{}");
    }
    return response(200, this.#tell(job));
  }

  #tell(job: SumeJob): string {
    return this.#say(job, `job.${job.status}`, statusBody(job, this.#edition(job)));
  }

  #edition(job: JobKey): number {
    return this.#editions.get(nameOf(job)) ?? 0;
  }

  #say(job: JobKey, type: string, body: string): string {
    const key = `${nameOf(job)} ${type}`;
    this.#said.set(key, (this.#said.get(key) ?? new Set()).add(body));
    return body;
  }
}

function nameOf({ namespace, jobId }: JobKey): string {
  return `${namespace}:${jobId}`;
}

function response(status: number, body: string): object {
  const bytes = new TextEncoder().encode(body);
  const readAtLeast = (_: number, into: Uint8Array) => {
    into.set(bytes);
    return Promise.resolve({ value: into.subarray(0, bytes.length) });
  };
  return { status, ok: status < 300, headers: new Headers(), body: { getReader: () => ({ readAtLeast }) } };
}
