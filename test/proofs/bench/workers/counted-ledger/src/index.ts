// The production ledger with one thing added: each object counts what it does, in the units of the bill. The receivers
// and consumers of the bench's bill are bound to it; its driver asks for the counts.

import { WorkerEntrypoint } from "cloudflare:workers";
import { JobLedger as Production } from "../../ledger/src/index.ts";
import type { ObjectCounts } from "../../driver/src/calls.ts";
import { CountedStorage } from "./count-storage.ts";

export { Ledger } from "../../../../../../ledger-service/src/entrypoints/ledger.ts";

/** Under the production class's name: the entrypoint finds its objects by it. */
export class JobLedger extends Production {
  readonly #counted: CountedStorage;

  constructor(ctx: DurableObjectState, env: LedgerServiceEnv) {
    const counted = new CountedStorage(ctx.storage);
    super(ctx, env);
    this.#counted = counted;
  }

  override claim(...args: Parameters<Production["claim"]>): ReturnType<Production["claim"]> {
    this.#counted.request();
    return super.claim(...args).finally(() => this.#counted.done());
  }

  override complete(...args: Parameters<Production["complete"]>): ReturnType<Production["complete"]> {
    return this.#request(() => super.complete(...args));
  }

  override release(...args: Parameters<Production["release"]>): ReturnType<Production["release"]> {
    return this.#request(() => super.release(...args));
  }

  override renew(...args: Parameters<Production["renew"]>): ReturnType<Production["renew"]> {
    return this.#request(() => super.renew(...args));
  }

  override async alarm(): Promise<void> {
    this.#counted.alarmRun();
    await super.alarm();
  }

  counts(): ObjectCounts {
    return this.#counted.counts();
  }

  #request<T>(call: () => T): T {
    this.#counted.request();
    try {
      return call();
    } finally {
      this.#counted.done();
    }
  }
}

export class Counts extends WorkerEntrypoint<{ JOBS: DurableObjectNamespace<JobLedger> }> {
  /**
   * A whole life through the production entrypoint, without a queue: received and sent to that many consumers, which
   * finish.
   */
  async live(jobId: string, consumers: number): Promise<void> {
    const ledger = (consumer: string) => this.ctx.exports.Ledger({ props: { namespace: "default", consumer } });
    const event = { type: "job.completed", body: JSON.stringify({ job_id: jobId }), source: "webhook" } as const;
    const names = Array.from({ length: consumers }, (_, index) => `consumer-${index + 1}`);
    await ledger("receiver").claim({ jobId, event, token: "receiver" });
    await ledger("receiver").complete({ jobId, token: "receiver", dispatchedTo: names });
    for (const name of names) {
      await ledger(name).claim({ jobId, token: name });
      await ledger(name).complete({ jobId, token: name });
    }
  }

  /**
   * What one job's object has done since it was made. It is counted in memory: to be asked before the object is
   * evicted.
   */
  async counts(jobId: string): Promise<ObjectCounts> {
    return { ...(await this.env.JOBS.getByName(`default:${jobId}`).counts()) };
  }
}

export default {
  fetch: () => new Response("Not found\n", { status: 404 }),
} satisfies ExportedHandler;
