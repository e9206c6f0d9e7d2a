// Flaws of what an operator does to a claim: reopen and abandon.

import { type Flaw, TESTS } from "./flaw.ts";

const file = "ledger-service/src/job/claims.ts";

export const OPERATIONS: readonly Flaw[] = [
  {
    name: "a reopened claim keeps its count of attempts",
    file,
    find: "grant({ ...held, attempt: 0 }, command,",
    replace: "grant(held, command,",
    tests: [TESTS.reopen],
  },
  {
    name: "a claim that is held can be reopened under its holder",
    file,
    find: 'if (found.status === "claimed" || found.status === "released") {',
    replace: 'if (found.status === "released") {',
    tests: [TESTS.reopen],
  },
  {
    name: "a reopening begins no new round: it waits for the watch's old time",
    file,
    find: "round: found.round + 1,",
    replace: "round: found.round,",
    tests: [TESTS.schedule],
  },
  {
    name: "a claim that is reopened once more, without a refresh, is opened anew though nothing changes",
    file,
    find: "(found.refresh || !refresh)",
    replace: "found.refresh === refresh",
    tests: [TESTS.reopen],
  },
  {
    name: "a claim that is reopened once more forgets that it was to be refreshed",
    file,
    find: 'refresh: refresh || (found.status === "reopened" && found.refresh),',
    replace: "refresh,",
    tests: [TESTS.reopen],
  },
  {
    name: "abandon does not find out that the holder died on its last attempt",
    file,
    find: "const held = claimed && exhaust(claimed, now);",
    replace: "const held = claimed;",
    tests: [TESTS.abandon],
  },
  {
    name: "abandon finds out that the holder died on its last attempt, and does not keep it",
    file,
    find: "record: held === claimed ? record : withClaim(record, held),",
    replace: "record,",
    tests: [TESTS.abandon],
  },
  {
    name: "abandon changes a claim that has ended",
    file,
    find: "if (held !== undefined && hasEnded(held)) {",
    replace: 'if (held?.status === "abandoned") {',
    tests: [TESTS.abandon],
  },
  {
    name: "abandon makes a claim for a consumer that nobody waits for",
    file,
    find: "(held === undefined && !unfinished(record).includes(consumer))",
    replace: "(held === undefined && unfinished(record).length === 0)",
    tests: [TESTS.abandon],
  },
  {
    name: "an abandonment does not say who it was",
    file,
    find: 'history: withStep(from, { at: now, actor, verb: "abandon"',
    replace: 'history: withStep(from, { at: now, actor: "ledger", verb: "abandon"',
    tests: [TESTS.abandon],
  },
  {
    name: "abandon loses the error of a claim that was to be retried",
    file,
    find: 'const error = held?.status === "released" ? { error: held.error } : {};',
    replace: "const error = {};",
    tests: [TESTS.abandon],
  },
  {
    name: "abandon takes the claim from its holder",
    file,
    find: 'token: held?.status === "claimed" ? held.token : null,',
    replace: "token: null,",
    tests: [TESTS.abandon],
  },
  {
    name: "who gave a claim back may settle it once it was abandoned",
    file,
    find: 'token: held?.status === "claimed" ? held.token : null,',
    replace: 'token: held === undefined || held.status === "reopened" ? null : held.token,',
    tests: [TESTS.abandon],
  },
  {
    name: "what was finished after an abandonment does not count",
    file,
    find: 'found.status === "abandoned" || (',
    replace: "(",
    tests: [TESTS.settle],
  },
  {
    name: "an abandoned claim is given to whoever claims next",
    file,
    find: 'case "abandoned": {\n',
    replace:
      'case "abandoned": {\n      if (now > held.abandonedAt) return grant(held, command, { now, vanished: 0 });\n',
    tests: [TESTS.claim],
  },
];
