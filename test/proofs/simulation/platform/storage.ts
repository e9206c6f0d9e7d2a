// The storage of one object: the part of the Durable Object storage API that production code uses, key-value pairs in memory
// with transactions, and the alarm. It outlives the object's instances; each instance sees it through a view that ends with it.

import { deserialize, serialize } from "node:v8";
import type { Process } from "./scheduler.ts";
import type { World } from "./world.ts";

export class Storage {
  readonly #world: World;
  readonly #name: string;
  /** As bytes: what an instance does to a value afterwards does not reach it. */
  #values = new Map<string, Buffer>();
  readonly #onAlarm: () => void;
  readonly #onDelete: () => void;
  /** Epoch milliseconds by the object's clock; `null`: none is set. */
  alarmAt: number | null = null;
  /** Counts the changes to rows that were kept. */
  version = 0;
  /** Counts the transactions that were refused. */
  refusals = 0;
  #transactions = 0;
  /** An alarm was set or deleted in the transaction; it takes effect with it. */
  #alarmMoved = false;

  constructor(world: World, name: string, { onAlarm, onDelete }: { onAlarm: () => void; onDelete: () => void }) {
    this.#world = world;
    this.#name = name;
    this.#onAlarm = onAlarm;
    this.#onDelete = onDelete;
  }

  /** In the order of the keys. */
  entries(): [key: string, value: unknown][] {
    return [...this.#values].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, deserialize(value)]);
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
      kv: {
        get: (key: string): unknown => {
          alive();
          const value = this.#values.get(key);
          return value && deserialize(value);
        },
        list: () => {
          alive();
          return this.entries();
        },
        put: (key: string, value: unknown) => {
          alive();
          this.#values.set(key, serialize(value));
          this.version += 1;
        },
      },
      transactionSync: <T>(code: () => T): T => {
        alive();
        return this.#transaction(code);
      },
      setAlarm: (at: number) => setAlarm(at),
      deleteAlarm: () => setAlarm(null),
      getAlarm: () => {
        alive();
        return Promise.resolve(this.alarmAt);
      },
      deleteAll: () => this.#deleteAll(process, crash),
    };
  }

  #transaction<T>(code: () => T): T {
    const [alarmAt, version, values] = [this.alarmAt, this.version, new Map(this.#values)];
    this.#transactions += 1;
    this.#alarmMoved = false;
    try {
      const value = code();
      if (this.version > version && this.#world.cross("commit", this.#name) === "refused") {
        this.refusals += 1;
        throw new Error("the storage refused to commit");
      }
      if (this.#alarmMoved) this.#onAlarm();
      return value;
    } catch (error) {
      this.#values = values;
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
        this.#values.clear();
        this.version += 1;
        this.alarmAt = null;
        this.#onAlarm();
        if (fault === "object-dies-after") crash();
        else resolve();
      });
    });
  }
}
