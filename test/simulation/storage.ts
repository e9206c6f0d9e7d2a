// The storage of one object: real SQLite in memory behind the part of the Durable Object storage API that production code
// uses, and the alarm. It outlives the object's instances; each instance sees it through a view that ends with it.

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Process } from "./scheduler.ts";
import type { World } from "./world.ts";

type Row = Record<string, unknown>;

/** Databases of finished runs, emptied; opening one costs more than a run writes. */
const spare: Database[] = [];

class Database {
  readonly #database = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, StatementSync>();

  all(query: string, bindings: SQLInputValue[]): Row[] {
    return this.#prepared(query).all(...bindings);
  }

  run(query: string, bindings: SQLInputValue[]): void {
    this.#prepared(query).run(...bindings);
  }

  #prepared(query: string): StatementSync {
    let statement = this.#statements.get(query);
    if (statement === undefined) {
      statement = this.#database.prepare(query);
      this.#statements.set(query, statement);
    }
    return statement;
  }

  clear(): void {
    const tables = this.all("SELECT name FROM sqlite_master WHERE type = 'table'", []);
    for (const { name } of tables) this.#database.exec(`DROP TABLE "${String(name)}"`);
  }
}

export class Storage {
  readonly #world: World;
  readonly #name: string;
  readonly #database = spare.pop() ?? new Database();
  readonly #onAlarm: () => void;
  readonly #onDelete: () => void;
  /** Epoch milliseconds by the object's clock; `null`: none is set. */
  alarmAt: number | null = null;
  /** Counts the changes to rows that were kept. */
  version = 0;
  #transactions = 0;
  /** An alarm was set or deleted in the transaction; it takes effect with it. */
  #alarmMoved = false;

  constructor(world: World, name: string, { onAlarm, onDelete }: { onAlarm: () => void; onDelete: () => void }) {
    this.#world = world;
    this.#name = name;
    this.#onAlarm = onAlarm;
    this.#onDelete = onDelete;
  }

  rows(): Row[] {
    if (this.version === 0) return [];
    const tables = this.#database.all("SELECT name FROM sqlite_master WHERE name = 'entry'", []);
    return tables.length === 0 ? [] : this.#database.all("SELECT kind, name, state, body FROM entry", []);
  }

  /** The run is over. */
  discard(): void {
    this.#database.clear();
    spare.push(this.#database);
  }

  /** `ctx.storage` of an instance. */
  viewOf(process: Process, crash: () => void): object {
    const alive = () => {
      if (!process.alive) throw new Error("this instance has ended");
    };
    const setAlarm = (at: number | null) => {
      alive();
      this.alarmAt = at;
      if (this.#transactions > 0) this.#alarmMoved = true;
      else this.#onAlarm();
      return Promise.resolve();
    };
    return {
      sql: {
        exec: (query: string, ...bindings: SQLInputValue[]) => {
          alive();
          if (query.startsWith("SELECT")) return cursor(this.#database.all(query, bindings));
          this.#database.run(query, bindings);
          this.version += 1;
          return cursor([]);
        },
      },
      transactionSync: <T>(code: () => T): T => {
        alive();
        return this.#transaction(code);
      },
      setAlarm: (at: number) => setAlarm(at),
      deleteAlarm: () => setAlarm(null),
      getAlarm: () => Promise.resolve(this.alarmAt),
      deleteAll: () => this.#deleteAll(process, crash),
    };
  }

  #transaction<T>(code: () => T): T {
    const [alarmAt, version] = [this.alarmAt, this.version];
    this.#database.run("SAVEPOINT step", []);
    this.#transactions += 1;
    this.#alarmMoved = false;
    try {
      const value = code();
      if (this.version > version && this.#world.cross("commit", this.#name) === "refused") {
        throw new Error("the storage refused to commit");
      }
      this.#database.run("RELEASE step", []);
      if (this.#alarmMoved) this.#onAlarm();
      return value;
    } catch (error) {
      this.#database.run("ROLLBACK TO step", []);
      this.#database.run("RELEASE step", []);
      this.version = version;
      this.alarmAt = alarmAt;
      throw error;
    } finally {
      this.#transactions -= 1;
    }
  }

  /** Takes a moment, in which nothing else may run in the object: `blockConcurrencyWhile` is there for that. */
  #deleteAll(process: Process, crash: () => void): Promise<void> {
    return new Promise((resolve) => {
      const fault = this.#world.cross("deletion", this.#name);
      this.#world.scheduler.after(this.#world.latency(), () => {
        if (!process.alive) return;
        if (fault === "object-dies-before") {
          crash();
          return;
        }
        this.#onDelete();
        this.#database.clear();
        this.version += 1;
        this.alarmAt = null;
        this.#onAlarm();
        if (fault === "object-dies-after") crash();
        else resolve();
      });
    });
  }
}

function cursor(rows: Row[]) {
  return {
    [Symbol.iterator]: () => rows[Symbol.iterator](),
    toArray: () => rows,
    one: () => {
      const [row] = rows;
      if (row === undefined || rows.length > 1) throw new Error("expected exactly one row");
      return row;
    },
  };
}
