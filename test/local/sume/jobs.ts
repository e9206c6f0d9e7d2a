// Sume's jobs: their states, the event each ends with, and what the status endpoint says of them.
// Called by the simulator and its routes. In memory only.
// Leaves out any rule about which state may follow which: a test may put a job in any state.

import { randomBytes } from "node:crypto";
import { samplePayload, withOrigin } from "./webhooks/payloads.ts";

/** Sume's known states: the first three are under way, the others are ends. */
export const JOB_STATES = ["queued", "running", "processing", "completed", "failed", "canceled", "expired"] as const;
export type JobState = (typeof JOB_STATES)[number];

const ENDED: ReadonlySet<JobState> = new Set<JobState>(["completed", "failed", "canceled", "expired"]);

/** A job as it is now; a change makes a new value. */
export interface Job {
  readonly id: string;
  readonly event: string;
  /** The webhook's bytes, with the origin filled in. */
  readonly body: Uint8Array;
  readonly state: JobState;
}

/** What the caller may choose about a job. */
export interface JobInput {
  /** Random when left out. A job of the same id is replaced. */
  readonly id?: string;
  /** `job.completed` when left out. */
  readonly event?: string;
  /** Text or bytes, with `%ORIGIN%` for the simulator's own origin; the two documented fields when left out. */
  readonly body?: string | Uint8Array;
  /** `running` when left out. */
  readonly state?: JobState;
}

/** A job id as Sume could have made it: `job_` and 20 hex digits. */
export function freshJobId(): string {
  return `job_${randomBytes(10).toString("hex")}`;
}

export function hasEnded(job: Job): boolean {
  return ENDED.has(job.state);
}

export class JobBook {
  readonly #jobs = new Map<string, Job>();
  readonly #origin: string;

  /** @param origin what replaces `%ORIGIN%` in bodies. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  find(id: string): Job | undefined {
    return this.#jobs.get(id);
  }

  create(input: JobInput): Job {
    const id = input.id ?? freshJobId();
    const event = input.event ?? "job.completed";
    return this.#keep({
      id,
      event,
      body: withOrigin(input.body ?? samplePayload("minimal", id, event), this.#origin),
      state: input.state ?? "running",
    });
  }

  /**
   * Ends a job, also one that has ended before (then with another event). The state follows the event type unless it is
   * given. A new event type without a body gets the minimal body.
   *
   * @throws Error for an unknown job.
   */
  end(id: string, input: Omit<JobInput, "id">): Job {
    const job = this.get(id);
    const event = input.event ?? job.event;
    const body = input.body ?? (event === job.event ? undefined : samplePayload("minimal", id, event));
    return this.#keep({
      id,
      event,
      body: body === undefined ? job.body : withOrigin(body, this.#origin),
      state: input.state ?? endState(event),
    });
  }

  /** @throws Error for an unknown job. */
  get(id: string): Job {
    const job = this.#jobs.get(id);
    if (job === undefined) throw new Error(`sume: there is no job ${id}`);
    return job;
  }

  #keep(job: Job): Job {
    this.#jobs.set(job.id, job);
    return job;
  }
}

/** The state that an event type names (`job.failed` is `failed`), or `completed` for a type that names none. */
export function endState(event: string): JobState {
  for (const state of ENDED) if (event === `job.${state}`) return state;
  return "completed";
}

/**
 * The status endpoint's JSON text. Of a job under way it holds id and state. Of an ended one it is the webhook's body,
 * its text untouched. `status` is added as last field where the body does not say the same already.
 */
export function statusAnswer(job: Job): string {
  if (!hasEnded(job)) return JSON.stringify({ job_id: job.id, status: job.state });
  const text = new TextDecoder().decode(job.body).trim();
  const fields = objectFields(text);
  if (fields === null) return JSON.stringify({ job_id: job.id, event: job.event, status: job.state });
  if (fields.get("status") === job.state) return text;
  return `${text.slice(0, -1)}${fields.size === 0 ? "" : ","}"status":${JSON.stringify(job.state)}}`;
}

/** The fields of a JSON object, or null for any other text: tests also deliver bodies that are no JSON. */
function objectFields(text: string): Map<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    return new Map(Object.entries(value));
  } catch {
    return null;
  }
}
