// The storage of one job's object: the reading and writing of whole records. It decides nothing; the object calls it inside
// its transactions.
//
// A value for each event, each consumer's claim, and one for the watch where it needs one, through the key-value API of the
// object's SQLite storage. The platform makes its table at the first write, and that is on nobody's bill; a table of our own
// would cost every job two rows of schema.

import * as v from "valibot";
import { changedEvent } from "../job/events.ts";
import { blankClaim, ClaimEntry, EMPTY_RECORD, EventEntry, type JobRecord, WatchEntry } from "../job/record.ts";

/** The keys: `event:<type>`, `claim:<consumer>`, and `watch`. */
const EVENT = "event:";
const CLAIM = "claim:";
const WATCH = "watch";

/** As bytes: a string of 1 MiB of UTF-8 can need twice that, with one character beyond Latin-1; a key and its value may have 2 MB. */
const Body = v.object({ body: v.instance(Uint8Array) });
const StoredEvent = v.object({ ...EventEntry.entries, ...Body.entries });
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class Store {
  readonly #kv: SyncKvStorage;

  constructor(storage: DurableObjectStorage) {
    this.#kv = storage.kv;
  }

  /**
   * The record as stored; of an object that was never written, the empty one. Writes nothing. What cannot be read costs only
   * itself: a claim becomes `failed`, to be reopened; an event or the watch is left out. `unreadable` names their keys. Such a
   * claim counts as changed `now`: what a person has not seen must not be cleaned up.
   */
  load(now: number): { record: JobRecord; unreadable: string[] } {
    const events: EventEntry[] = [];
    const claims = new Map<string, ClaimEntry | null>();
    let watch: WatchEntry | null = null;
    const unreadable: string[] = [];
    for (const [key, stored] of this.#kv.list()) {
      if (key.startsWith(EVENT)) {
        const parsed = v.safeParse(StoredEvent, stored);
        if (parsed.success) events.push(withoutBody(parsed.output));
        else unreadable.push(key);
      } else if (key.startsWith(CLAIM)) {
        const parsed = v.safeParse(ClaimEntry, stored);
        claims.set(key.slice(CLAIM.length), parsed.success ? parsed.output : null);
        if (!parsed.success) unreadable.push(key);
      } else if (key === WATCH) {
        const parsed = v.safeParse(WatchEntry, stored);
        watch = parsed.success ? parsed.output : null;
        if (!parsed.success) unreadable.push(key);
      }
    }
    if (events.length === 0 && claims.size === 0 && watch === null) return { record: EMPTY_RECORD, unreadable };
    events.sort((a, b) => a.order - b.order);
    const readable = [...claims].map(([consumer, claim]): [string, ClaimEntry] => [
      consumer,
      claim ?? unreadableClaim(consumer, events[0]?.type ?? "", now),
    ]);
    return { record: { events, claims: new Map(readable), watch }, unreadable };
  }

  /**
   * Writes the entries in which the two records differ, a row each. `body` is that of the event that is new or has a newer body,
   * if there is one, in UTF-8.
   * @throws if an event has changed and there is no body for it: a bug.
   */
  save(before: JobRecord, after: JobRecord, body: Uint8Array | null): void {
    const event = changedEvent(before, after);
    if (event !== undefined) {
      if (body === null) throw new Error(`no body for the event ${event.type}`);
      this.#kv.put(EVENT + event.type, { ...event, body });
    }
    if (after.watch !== before.watch && after.watch !== null) this.#kv.put(WATCH, after.watch);
    for (const [consumer, claim] of after.claims) {
      if (claim !== before.claims.get(consumer)) this.#kv.put(CLAIM + consumer, claim);
    }
  }

  /** The body of a recorded event, as it was received. @throws if no such event is recorded: a bug, not an outcome. */
  body(eventType: string): string {
    return decoder.decode(this.#stored(eventType));
  }

  /** Whether that is, byte for byte, the body of the recorded event. @throws as `body`. */
  hasBody(eventType: string, body: Uint8Array): boolean {
    const stored = this.#stored(eventType);
    return stored.length === body.length && stored.every((byte, index) => byte === body[index]);
  }

  #stored(eventType: string): Uint8Array {
    return v.parse(Body, this.#kv.get(EVENT + eventType)).body;
  }
}

function withoutBody({ body: _body, ...event }: v.InferOutput<typeof StoredEvent>): EventEntry {
  return event;
}

/** In place of a claim whose entry is damaged: nobody works on it by mistake, and an operator can reopen it. */
function unreadableClaim(consumer: string, eventType: string, now: number): ClaimEntry {
  return {
    ...blankClaim(consumer, eventType, { round: 1, at: now }),
    status: "failed",
    token: null,
    failedAt: now,
    error: "what was stored of this claim cannot be read: reopen it to have its work done again",
    by: "unreadable",
  };
}
