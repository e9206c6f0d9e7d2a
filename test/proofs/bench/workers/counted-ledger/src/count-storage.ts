// Counts what an object does to its storage, in the units of the bill. Counted are rows, settings of the alarm (a row
// each), rows that a cleanup deletes, and bytes kept. Called by the counted objects before they are constructed, so
// that what a constructor does is counted as well. A value of the key-value API is a row. The platform's own table for
// values is not counted, as the runtime does not count it.

import type { ObjectCounts } from "../../driver/src/calls.ts";

type Cursor = Pick<SqlStorageCursor<Record<string, SqlStorageValue>>, "rowsRead" | "rowsWritten">;

export class CountedStorage {
  readonly #storage: DurableObjectStorage;
  readonly #open: Cursor[] = [];
  readonly #counts: ObjectCounts = {
    objectRequests: 0,
    alarmRuns: 0,
    rowsRead: 0,
    rowsWritten: 0,
    alarmsSet: 0,
    rowsDeleted: 0,
    storedBytes: 0,
  };

  /** From now on everything that goes through `storage` is counted. */
  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    const { sql, kv } = storage;
    const get = kv.get.bind(kv);
    const list = kv.list.bind(kv);
    const put = kv.put.bind(kv);
    const exec = sql.exec.bind(sql);
    const setAlarm = storage.setAlarm.bind(storage);
    const deleteAlarm = storage.deleteAlarm.bind(storage);
    const deleteAll = storage.deleteAll.bind(storage);
    const counted = {
      exec: (query: string, ...bindings: unknown[]) => {
        this.#settle();
        const cursor = exec(query, ...bindings);
        this.#open.push(cursor);
        return cursor;
      },
    };
    Object.defineProperties(sql, Object.getOwnPropertyDescriptors(counted));
    const countedValues = {
      get: (key: string) => {
        this.#counts.rowsRead += 1;
        return get(key);
      },
      list: () => {
        const found = [...list()];
        this.#counts.rowsRead += found.length;
        return found;
      },
      put: (key: string, value: unknown) => {
        this.#counts.rowsWritten += 1;
        put(key, value);
      },
    };
    Object.defineProperties(kv, Object.getOwnPropertyDescriptors(countedValues));
    const countedStorage = {
      setAlarm: (at: number | Date) => {
        this.#counts.alarmsSet += 1;
        return setAlarm(at);
      },
      deleteAlarm: () => {
        this.#counts.alarmsSet += 1;
        return deleteAlarm();
      },
      deleteAll: () => {
        this.#settle();
        this.#counts.rowsDeleted += [...list()].length;
        const tables = [...exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")];
        for (const { name } of tables) {
          if (name.startsWith("_cf_")) continue; // the platform's own
          this.#counts.rowsDeleted += exec<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`).one().rows;
        }
        return deleteAll();
      },
    };
    Object.defineProperties(storage, Object.getOwnPropertyDescriptors(countedStorage));
  }

  /** To be called at the start of each call to the object. */
  request(): void {
    this.#counts.objectRequests += 1;
  }

  /** To be called at the start of each run of the alarm. */
  alarmRun(): void {
    this.#counts.alarmRuns += 1;
  }

  /** To be called at the end of each call. */
  done(): void {
    this.#settle();
    this.#counts.storedBytes = Math.max(this.#counts.storedBytes, this.#storage.sql.databaseSize);
  }

  counts(): ObjectCounts {
    this.#settle();
    return { ...this.#counts };
  }

  /** A cursor's numbers are final once it was read to its end, which everybody here does before the next statement. */
  #settle(): void {
    for (const { rowsRead, rowsWritten } of this.#open.splice(0)) {
      this.#counts.rowsRead += rowsRead;
      this.#counts.rowsWritten += rowsWritten;
    }
  }
}
