// Every limit of the ledger's contract, named once with its unit and its reason. The argument schemas in calls.ts apply
// them; the tests hold each at the limit and one over.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const KIB = 1_024;

/** Bytes of UTF-8. Sume's ids are short; the bound keeps object names, log lines and queue messages small. */
export const MAX_JOB_ID_BYTES = 512;

/** Characters (UTF-16 units) of an event type; it is part of a key. */
export const MAX_EVENT_TYPE_LENGTH = 128;

/** Bytes of UTF-8. Half of what one SQLite row may hold (2 MB), far more than a webhook carries. */
export const MAX_EVENT_BODY_BYTES = 1_024 * KIB;

/** Event types kept per job. A job has one end; more than a few kinds of it means a sender that varies the type. */
export const MAX_EVENT_TYPES = 4;

/** Bytes of JSON. A result is a receipt (keys, ids); what is larger belongs where the consumer keeps its data. */
export const MAX_RESULT_BYTES = 16 * KIB;

/**
 * Arrays and objects within one another. A receipt has a few levels; thousands use up the stack of whoever reads
 * them.
 */
export const MAX_RESULT_DEPTH = 64;

/** Bytes of UTF-8; longer error texts are cut, never refused: the failure itself must get through. */
export const MAX_ERROR_BYTES = 2 * KIB;

/** Characters of a caller's token; a UUID has 36. */
export const MAX_TOKEN_LENGTH = 128;

/** Milliseconds. Shorter than this and a round trip can outlive the lease. */
export const MIN_LEASE_MS = SECOND_MS;

/**
 * Milliseconds. A queue consumer's invocation ends after 15 minutes, so no live holder needs longer without renewing.
 */
export const MAX_LEASE_MS = 15 * MINUTE_MS;

/** Milliseconds; the lease of a caller that names none. */
export const DEFAULT_LEASE_MS = MINUTE_MS;

/** Milliseconds a claim may wait for the holder: below Sume's 10 s timeout with room for the rest of the delivery. */
export const MAX_WAIT_MS = 8 * SECOND_MS;

/** Milliseconds; the longest delay that a queue message can be retried with. */
export const MAX_RETRY_AFTER_MS = 12 * HOUR_MS;

/**
 * Attempts of a claim that brings no event (a consumer's) when its caller names no number. With the client's delays
 * (30 s, doubled, at most an hour, each drawn between half and all of it) they last 26 to 53 hours, and so outlast a
 * day of a dependency being down. Attempts and not a time since the event: a job that is reopened, or dispatched
 * late, has all of them.
 */
export const DEFAULT_MAX_ATTEMPTS = 60;

/** Attempts a caller may ask for; with the longest delay between them this is already more than a year. */
export const MAX_ATTEMPTS_LIMIT = 1_000;

/** Claims per `renew` call: the largest batch that a queue delivers. */
export const MAX_RENEWALS = 100;

/** Consumers one job may be dispatched to; a Worker may send about a thousand messages per request. */
export const MAX_DISPATCHED_TO = 100;

/** Milliseconds; how far ahead an event may be expected. Sume's longest jobs take hours. */
export const MAX_EXPECT_WITHIN_MS = 30 * DAY_MS;

/** Transitions kept per claim, oldest dropped first; they answer «what happened», not «what happened ever». */
export const MAX_HISTORY = 20;
