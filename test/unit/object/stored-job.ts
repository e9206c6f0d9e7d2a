// A job as releases have stored it, letter for letter: the first one in a table of its own, the present one as values. Never
// edit them; a later release that stores something else gets entries of its own beside these, and must go on reading these.

import { runInDurableObject } from "cloudflare:test";
import type { ClaimView } from "../../../ledger-service/contract/index.ts";
import { evict, jobObject } from "./job-object.ts";

const TABLE = `CREATE TABLE entry (
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      state TEXT NOT NULL,
      body TEXT,
      PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID`;

const EVENTS: [name: string, state: string, body: string][] = [
  [
    "job.completed",
    '{"type":"job.completed","source":"webhook","bytes":18,"order":0,"receivedAt":1790000000000}',
    '{"job_id":"job_a"}',
  ],
  [
    "job.failed",
    '{"type":"job.failed","source":"poll","bytes":12,"order":1,"receivedAt":1790000000500}',
    '{"failed":1}',
  ],
];

const CLAIMS: [name: string, state: string][] = [
  [
    "completed",
    '{"consumer":"completed","eventType":"job.completed","attempt":1,"fence":1790000000000,"maxAttempts":null,"claimedAt":1790000000000,"changedAt":1790000001000,"dispatchedTo":["held","mail"],"history":[{"at":1790000000000,"actor":"completed","verb":"claim","status":"claimed","attempt":1},{"at":1790000001000,"actor":"completed","verb":"complete","status":"completed","attempt":1}],"status":"completed","token":"token-completed","completedAt":1790000001000,"result":"{\\"rows\\":3}"}',
  ],
  [
    "exhausted",
    '{"consumer":"exhausted","eventType":"job.completed","attempt":10,"fence":1790000000009,"maxAttempts":10,"claimedAt":1790000000000,"changedAt":1790000060000,"dispatchedTo":[],"history":[{"at":1790000060000,"actor":"ledger","verb":"exhausted","error":"attempts used up: the lease of attempt 10 of 10 ran out","status":"failed","attempt":10}],"status":"failed","token":"token-exhausted","failedAt":1790000060000,"error":"attempts used up: the lease of attempt 10 of 10 ran out","by":"exhausted"}',
  ],
  [
    "failed",
    '{"consumer":"failed","eventType":"job.completed","attempt":1,"fence":1790000000000,"maxAttempts":10,"claimedAt":1790000000000,"changedAt":1790000001000,"dispatchedTo":[],"history":[{"at":1790000001000,"actor":"failed","verb":"release","error":"no such artifact","status":"failed","attempt":1}],"status":"failed","token":"token-failed","failedAt":1790000001000,"error":"no such artifact","by":"release"}',
  ],
  [
    "held",
    '{"consumer":"held","eventType":"job.completed","attempt":1,"fence":1790000000000,"maxAttempts":10,"claimedAt":1790000000000,"changedAt":1790000000000,"dispatchedTo":[],"history":[{"at":1790000000000,"actor":"held","verb":"claim","status":"claimed","attempt":1}],"status":"claimed","token":"token-held","leaseExpiresAt":1790000060000}',
  ],
  [
    "released",
    '{"consumer":"released","eventType":"job.completed","attempt":1,"fence":1790000000000,"maxAttempts":10,"claimedAt":1790000000000,"changedAt":1790000001000,"dispatchedTo":[],"history":[{"at":1790000001000,"actor":"released","verb":"release","status":"released","error":null,"attempt":1}],"status":"released","token":"token-released","retryAt":1790000031000,"error":null}',
  ],
  [
    "reopened",
    '{"consumer":"reopened","eventType":"job.failed","attempt":2,"fence":1790000000001,"maxAttempts":10,"claimedAt":1790000000000,"changedAt":1790000002000,"dispatchedTo":[],"history":[{"at":1790000002000,"actor":"ann","verb":"reopen","status":"reopened","result":"{\\"rows\\":3}","attempt":2}],"status":"reopened"}',
  ],
];

/** What `inspect` must show of those claims. */
export const STORED_CLAIMS: ClaimView[] = [
  {
    consumer: "completed",
    status: "completed",
    eventType: "job.completed",
    attempt: 1,
    fence: 1_790_000_000_000,
    maxAttempts: null,
    claimedAt: 1_790_000_000_000,
    changedAt: 1_790_000_001_000,
    leaseExpiresAt: null,
    retryAt: null,
    settledAt: 1_790_000_001_000,
    error: null,
    result: { rows: 3 },
    dispatchedTo: ["held", "mail"],
    history: [
      { at: 1_790_000_000_000, actor: "completed", verb: "claim", status: "claimed", attempt: 1 },
      { at: 1_790_000_001_000, actor: "completed", verb: "complete", status: "completed", attempt: 1 },
    ],
  },
  {
    consumer: "exhausted",
    status: "failed",
    eventType: "job.completed",
    attempt: 10,
    fence: 1_790_000_000_009,
    maxAttempts: 10,
    claimedAt: 1_790_000_000_000,
    changedAt: 1_790_000_060_000,
    leaseExpiresAt: null,
    retryAt: null,
    settledAt: 1_790_000_060_000,
    error: "attempts used up: the lease of attempt 10 of 10 ran out",
    result: null,
    dispatchedTo: [],
    history: [
      {
        at: 1_790_000_060_000,
        actor: "ledger",
        verb: "exhausted",
        status: "failed",
        attempt: 10,
        error: "attempts used up: the lease of attempt 10 of 10 ran out",
      },
    ],
  },
  {
    consumer: "failed",
    status: "failed",
    eventType: "job.completed",
    attempt: 1,
    fence: 1_790_000_000_000,
    maxAttempts: 10,
    claimedAt: 1_790_000_000_000,
    changedAt: 1_790_000_001_000,
    leaseExpiresAt: null,
    retryAt: null,
    settledAt: 1_790_000_001_000,
    error: "no such artifact",
    result: null,
    dispatchedTo: [],
    history: [
      {
        at: 1_790_000_001_000,
        actor: "failed",
        verb: "release",
        status: "failed",
        attempt: 1,
        error: "no such artifact",
      },
    ],
  },
  {
    consumer: "held",
    status: "claimed",
    eventType: "job.completed",
    attempt: 1,
    fence: 1_790_000_000_000,
    maxAttempts: 10,
    claimedAt: 1_790_000_000_000,
    changedAt: 1_790_000_000_000,
    leaseExpiresAt: 1_790_000_060_000,
    retryAt: null,
    settledAt: null,
    error: null,
    result: null,
    dispatchedTo: [],
    history: [{ at: 1_790_000_000_000, actor: "held", verb: "claim", status: "claimed", attempt: 1 }],
  },
  {
    consumer: "released",
    status: "released",
    eventType: "job.completed",
    attempt: 1,
    fence: 1_790_000_000_000,
    maxAttempts: 10,
    claimedAt: 1_790_000_000_000,
    changedAt: 1_790_000_001_000,
    leaseExpiresAt: null,
    retryAt: 1_790_000_031_000,
    settledAt: null,
    error: null,
    result: null,
    dispatchedTo: [],
    history: [
      { at: 1_790_000_001_000, actor: "released", verb: "release", status: "released", attempt: 1, error: null },
    ],
  },
  {
    consumer: "reopened",
    status: "reopened",
    eventType: "job.failed",
    attempt: 2,
    fence: 1_790_000_000_001,
    maxAttempts: 10,
    claimedAt: 1_790_000_000_000,
    changedAt: 1_790_000_002_000,
    leaseExpiresAt: null,
    retryAt: null,
    settledAt: null,
    error: null,
    result: null,
    dispatchedTo: [],
    history: [
      { at: 1_790_000_002_000, actor: "ann", verb: "reopen", status: "reopened", attempt: 2, result: { rows: 3 } },
    ],
  },
];

export type Release = "in a table" | "as values";

/** Makes a job whose storage holds the events and those consumers' claims, and whose instance has not read them yet. */
export async function storeAsReleased(
  jobId: string,
  release: Release,
  consumers = CLAIMS.map(([name]) => name),
): Promise<void> {
  const claims = CLAIMS.filter(([name]) => consumers.includes(name));
  await runInDurableObject(jobObject(jobId), (_, { storage }) => {
    if (release === "in a table") fillTable(storage.sql, claims);
    else putValues(storage.kv, claims);
  });
  await evict(jobId);
}

function fillTable(sql: SqlStorage, claims: typeof CLAIMS): void {
  sql.exec(TABLE);
  for (const [name, state, body] of EVENTS) {
    sql.exec("INSERT INTO entry (kind, name, state, body) VALUES ('event', ?, ?, ?)", name, state, body);
  }
  for (const [name, state] of claims) {
    sql.exec("INSERT INTO entry (kind, name, state) VALUES ('claim', ?, ?)", name, state);
  }
}

function putValues(kv: SyncKvStorage, claims: typeof CLAIMS): void {
  for (const [name, state, body] of EVENTS) {
    kv.put(`event:${name}`, { ...JSON.parse(state), body: new TextEncoder().encode(body) });
  }
  for (const [name, state] of claims) kv.put(`claim:${name}`, JSON.parse(state));
}
