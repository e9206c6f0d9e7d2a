// The storage of one job's object: the reading and writing of whole records. It decides nothing; the object calls it inside
// its transactions.
//
// A row per event, a row per consumer's claim, and one for the job itself where it needs one, through the key-value API of the
// object's SQLite storage. The platform makes its table at the first write, and that is on nobody's bill; a table of our own
// would cost every job two rows of schema.

import * as v from "valibot";
import * as table from "./earlier-store.ts";
import { CLAIM, EVENT, JOB } from "./keys.ts";
import { ClaimEntry, EMPTY_RECORD, EventEntry, JobEntry, type JobRecord } from "../job/record.ts";

/** As bytes: a string of 1 MiB of UTF-8 can need twice that, with one character beyond Latin-1; a key and its value may have 2 MB. */
const Body = v.object({ body: v.instance(Uint8Array) });
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class Store {
  readonly #storage: DurableObjectStorage;
  /** Whether an earlier release has written the job, and none of ours since. */
  #isInTable = false;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** The record as stored; of an object that was never written, the empty one. Writes nothing. */
  load(): JobRecord {
    const events: EventEntry[] = [];
    const claims = new Map<string, ClaimEntry>();
    let job: JobEntry | null = null;
    for (const [key, stored] of this.#entries()) {
      if (key.startsWith(EVENT)) events.push(v.parse(EventEntry, stored));
      if (key.startsWith(CLAIM)) claims.set(key.slice(CLAIM.length), v.parse(ClaimEntry, stored));
      if (key === JOB) job = v.parse(JobEntry, stored);
    }
    if (events.length === 0 && job === null) return EMPTY_RECORD;
    events.sort((a, b) => a.order - b.order);
    return { events, claims, job };
  }

  /**
   * Writes the entries in which the two records differ, a row each. `body` is that of the event that is new, if one is, in UTF-8.
   * @throws if an event is new and there is no body for it: a bug.
   */
  save(before: JobRecord, after: JobRecord, body: Uint8Array | null): void {
    const { kv } = this.#storage;
    if (this.#isInTable) this.#leaveTable();
    for (const event of after.events.slice(before.events.length)) {
      if (body === null) throw new Error(`no body for the new event ${event.type}`);
      kv.put(EVENT + event.type, { ...event, body });
    }
    for (const [index, event] of before.events.entries()) {
      const now = after.events[index];
      if (now !== undefined && now !== event) kv.put(EVENT + now.type, { ...now, ...this.#stored(now.type) });
    }
    if (after.job !== before.job && after.job !== null) kv.put(JOB, after.job);
    for (const [consumer, claim] of after.claims) {
      if (claim !== before.claims.get(consumer)) kv.put(CLAIM + consumer, claim);
    }
  }

  /** The body of a recorded event, as it was received. @throws if no such event is recorded: a bug, not an outcome. */
  body(eventType: string): string {
    return decoder.decode(this.#stored(eventType).body);
  }

  /** To be called when a transaction was rolled back, whatever it had saved. */
  rolledBack(): void {
    this.#entries(); // which looks anew where the job lies
  }

  #stored(eventType: string): v.InferOutput<typeof Body> {
    const key = EVENT + eventType;
    const { kv, sql } = this.#storage;
    return v.parse(Body, this.#isInTable ? new Map(table.entries(sql)).get(key) : kv.get(key));
  }

  /** Of values and a table the values count: an earlier release that ran again would have made its table anew. */
  #entries(): Iterable<[key: string, stored: unknown]> {
    const { kv, sql } = this.#storage;
    const values = [...kv.list()];
    this.#isInTable = values.length === 0 && table.exists(sql);
    return this.#isInTable ? table.entries(sql) : values;
  }

  #leaveTable(): void {
    for (const [key, stored] of table.entries(this.#storage.sql)) this.#storage.kv.put(key, stored);
    table.drop(this.#storage.sql);
    this.#isInTable = false;
  }
}
