// The SQL of one job's object: its one table, its statements, and the reading and writing of whole records. It decides
// nothing; the object calls it inside its transactions.
//
// One table, because each costs every job two rows of schema: a row per event, a row per consumer's claim, and one for the
// job itself where it needs one; the state of each as JSON. An event's body has its own column, last in the row, so that reading states never touches a megabyte of it.

import * as v from "valibot";
import { ClaimEntry, EMPTY_RECORD, EventEntry, JobEntry, type JobRecord } from "./record.ts";

/**
 * The steps from an empty object to the present layout, oldest first; never edit one that was released, append. Step n is
 * done when its table exists (`PRAGMA user_version` is refused in Durable Objects).
 */
const STEPS = [
  {
    table: "entry",
    sql: `CREATE TABLE entry (
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      state TEXT NOT NULL,
      body TEXT,
      PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID`,
  },
] as const;

const SELECT_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'";
const SELECT_STATES = "SELECT kind, name, state FROM entry";
const SELECT_BODY = "SELECT body FROM entry WHERE kind = 'event' AND name = ?";
const INSERT_EVENT = "INSERT INTO entry (kind, name, state, body) VALUES ('event', ?, ?, ?)";
const UPSERT_STATE = `INSERT INTO entry (kind, name, state) VALUES (?, ?, ?)
  ON CONFLICT (kind, name) DO UPDATE SET state = excluded.state`;

type StateRow = { kind: string; name: string; state: string };

export class Store {
  readonly #sql: SqlStorage;
  #stepsDone: number | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The record as stored; of an object that was never written, the empty one. Writes nothing, not even a table. */
  load(): JobRecord {
    if (this.#doneSteps() === 0) return EMPTY_RECORD;
    const events: EventEntry[] = [];
    const claims = new Map<string, ClaimEntry>();
    let job: JobEntry | null = null;
    for (const { kind, name, state } of this.#sql.exec<StateRow>(SELECT_STATES)) {
      const stored: unknown = JSON.parse(state);
      if (kind === "event") events.push(v.parse(EventEntry, stored));
      if (kind === "claim") claims.set(name, v.parse(ClaimEntry, stored));
      if (kind === "job") job = v.parse(JobEntry, stored);
    }
    events.sort((a, b) => a.order - b.order);
    return { events, claims, job };
  }

  /**
   * Writes the entries in which the two records differ, a row each. `body` is that of the event that is new, if one is.
   * @throws if an event is new and there is no body for it: a bug.
   */
  save(before: JobRecord, after: JobRecord, body: string | null): void {
    this.#createTables();
    for (const event of after.events.slice(before.events.length)) {
      if (body === null) throw new Error(`no body for the new event ${event.type}`);
      this.#sql.exec(INSERT_EVENT, event.type, JSON.stringify(event), body);
    }
    for (const [index, event] of before.events.entries()) {
      const now = after.events[index];
      if (now !== undefined && now !== event) this.#sql.exec(UPSERT_STATE, "event", now.type, JSON.stringify(now));
    }
    if (after.job !== before.job && after.job !== null) {
      this.#sql.exec(UPSERT_STATE, "job", "", JSON.stringify(after.job));
    }
    for (const [consumer, claim] of after.claims) {
      if (claim !== before.claims.get(consumer)) {
        this.#sql.exec(UPSERT_STATE, "claim", consumer, JSON.stringify(claim));
      }
    }
  }

  /** The body of a recorded event, as it was received. @throws if no such event is recorded: a bug, not an outcome. */
  body(eventType: string): string {
    return this.#sql.exec<{ body: string }>(SELECT_BODY, eventType).one().body;
  }

  /** To be called when the whole storage was deleted, or a transaction that may have made the tables was rolled back. */
  forgetTables(): void {
    this.#stepsDone = undefined;
  }

  #doneSteps(): number {
    if (this.#stepsDone === undefined) {
      const tables = new Set([...this.#sql.exec<{ name: string }>(SELECT_TABLES)].map(({ name }) => name));
      this.#stepsDone = STEPS.filter(({ table }) => tables.has(table)).length;
    }
    return this.#stepsDone;
  }

  #createTables(): void {
    for (const { sql } of STEPS.slice(this.#doneSteps())) this.#sql.exec(sql);
    this.#stepsDone = STEPS.length;
  }
}
