// Jobs that the first release stored, in a table of their own: what the store (store.ts) needs to read them and to move them
// on. A job moves with its next change; what never changes again is read from here until its cleanup.

import { CLAIM, EVENT, JOB } from "./keys.ts";

const HAS_TABLE = "SELECT count(*) AS tables FROM sqlite_master WHERE type = 'table' AND name = 'entry'";
const SELECT_ENTRIES = "SELECT kind, name, state, body FROM entry";
const DROP_TABLE = "DROP TABLE entry";

type Row = { kind: string; name: string; state: string; body: string | null };

const encoder = new TextEncoder();

export function exists(sql: SqlStorage): boolean {
  return sql.exec<{ tables: number }>(HAS_TABLE).one().tables > 0;
}

/** What lies in the table, as it is stored today. */
export function entries(sql: SqlStorage): [key: string, stored: unknown][] {
  return [...sql.exec<Row>(SELECT_ENTRIES)].map(({ kind, name, state, body }) => {
    const stored: unknown = JSON.parse(state);
    if (kind === "claim") return [CLAIM + name, stored];
    if (kind === "job") return [JOB, stored];
    return [EVENT + name, { ...Object(stored), body: encoder.encode(body ?? "") }];
  });
}

export function drop(sql: SqlStorage): void {
  sql.exec(DROP_TABLE);
}
