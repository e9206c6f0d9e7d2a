// Flaws of the consumers' client: claiming, keeping the lease, settling, and what becomes of each message.

import { type Flaw, TESTS } from "./flaw.ts";

const consume = "ledger-service/client/consume.ts";
const runOnce = "ledger-service/client/run-once.ts";
const keeper = "ledger-service/client/lease-keeper.ts";
const json = "ledger-service/contract/json.ts";

export const CLIENT: readonly Flaw[] = [
  {
    name: "one message that throws retries the whole batch",
    file: consume,
    find: 'ran = { outcome: "error", error };',
    replace: "throw error;",
    tests: [TESTS.batch],
    peer: "one thrown message retries the whole batch",
  },
  {
    name: "a swallowed error acknowledges the message",
    file: consume,
    find: "return clampDelay(retryDelayMs(messageAttempts));",
    replace: "return null;",
    tests: [TESTS.batch],
    peer: "a swallowed error acks silently",
  },
  {
    name: "a message whose job another works on is acknowledged",
    file: consume,
    find: '    case "unknown":\n      return null;\n    case "in_progress":',
    replace: '    case "unknown":\n    case "in_progress":\n      return null;',
    tests: [TESTS.consume],
    peer: "an in-flight duplicate is answered with success",
  },
  {
    name: "a message is acknowledged before its work",
    file: consume,
    find: "      try {\n        ran = await runKept",
    replace: "      message.ack();\n      try {\n        ran = await runKept",
    tests: [TESTS.batch],
    peer: "acknowledge first: a crash in between leaves nothing",
  },
  {
    name: "a message's delay is in milliseconds",
    file: consume,
    find: "Math.ceil(ms / 1_000)",
    replace: "Math.ceil(ms)",
    tests: [TESTS.consume],
    peer: "seconds taken for milliseconds",
  },
  {
    name: "work whose completion got no answer is released as failed",
    file: runOnce,
    find: "return isRefusal(error) ? await release(new NonRetryableError(errorText(error))) : unsettled();",
    replace: "return await release(error);",
    tests: [TESTS.lostReplies],
    peer: "the result is saved and a failure reported",
  },
  {
    name: "the work runs again for every completion that gets no answer",
    file: runOnce,
    find: "const completed = await repeated(() => ledger.complete({ jobId, token, result }));",
    replace:
      "const completed = await repeated(async () => {\n" +
      "      await work({ jobId, event, payload: () => null, attempt, fence, signal: lease.signal });\n" +
      "      return await ledger.complete({ jobId, token, result });\n    });",
    tests: [TESTS.lostReplies],
  },
  {
    name: "a repeated claim has another token",
    file: runOnce,
    find: "repeated(() => ledger.claim({ ...claim, maxAttempts, token }))",
    replace: "repeated(() => ledger.claim({ ...claim, maxAttempts, token: crypto.randomUUID() }))",
    tests: [TESTS.lostReplies],
  },
  {
    name: "a call that got no answer is not repeated",
    file: runOnce,
    find: "const CALL_TRIES = 4;",
    replace: "const CALL_TRIES = 1;",
    tests: [TESTS.lostReplies],
  },
  {
    name: "an overloaded ledger is called again",
    file: runOnce,
    find: "isRefusal(error) || isOverloaded(error)",
    replace: "isRefusal(error)",
    tests: [TESTS.lostReplies],
  },
  {
    name: "work that was overtaken is told that it is done",
    file: runOnce,
    find: 'return completed.outcome === "stale"\n',
    replace: 'return completed.outcome === "stale" && completed.reason === "no_claim"\n',
    tests: [TESTS.lease],
    peer: "settle after a takeover",
  },
  {
    name: "the same pause after every failure",
    file: runOnce,
    find: "FIRST_RETRY_MS * 2 ** (attempt - 1)",
    replace: "FIRST_RETRY_MS",
    tests: [TESTS.failures],
  },
  {
    name: "a pause that is no number costs the release",
    file: runOnce,
    find: "return Number.isNaN(ms) ? retryDelayMs(attempt) : Math",
    replace: "return Math",
    tests: [TESTS.mistakes],
  },
  {
    name: "work that will never succeed is tried again",
    file: runOnce,
    find: "const permanent = isNonRetryable(error);",
    replace: "const permanent = false;",
    tests: [TESTS.failures],
  },
  {
    name: "a claim that is lost does not stop its work",
    file: keeper,
    find: "    kept.abort.abort(new ClaimLostError(`job ${kept.jobId}: ${why}`));",
    replace: "    void why;",
    tests: [TESTS.lease],
  },
  {
    name: "a lease is not renewed while the work runs",
    file: keeper,
    find: "    this.#schedule(askedAt + this.#leaseMs / 2 - Date.now());\n    return {",
    replace: "    return {",
    tests: [TESTS.lease],
    peer: "no renewal",
  },
  {
    name: "a renewal that failed is not tried again before the lease ends",
    file: keeper,
    find: "this.#schedule(failed ? this.#leaseMs / 8 : this.#leaseMs / 2);",
    replace: "this.#schedule(this.#leaseMs / 2);",
    tests: [TESTS.lease],
  },
  {
    name: "a renewal without an answer blocks all further ones",
    file: keeper,
    find: "await withTimeout(this.#ledger.renew({ claims, leaseMs: this.#leaseMs }), this.#leaseMs / 4)",
    replace: "await this.#ledger.renew({ claims, leaseMs: this.#leaseMs })",
    tests: [TESTS.lease],
  },
  {
    name: "every claim of a batch is renewed by a call of its own",
    file: consume,
    find: "ran = await runKept(ledger, keeper, {",
    replace: "ran = await runKept(ledger, new LeaseKeeper(ledger, leaseMs), {",
    tests: [TESTS.batch],
  },
  {
    name: "a result that JSON would change is kept changed",
    file: json,
    find: "if (!Array.isArray(item) && prototypes <= 1)",
    replace: "if (!Array.isArray(item))",
    tests: [TESTS.json],
    peer: "a result that serialising changes silently",
  },
  {
    name: "a result may be nested without end",
    file: json,
    find: "if (above.length >= MAX_RESULT_DEPTH)",
    replace: "if (above.length >= MAX_RESULT_DEPTH ** 2)",
    tests: [TESTS.json],
    peer: "a result that is accepted and cannot be read again",
  },
  {
    name: "a small result that grows without end as JSON is written out",
    file: json,
    find: "if (characters > MAX_RESULT_BYTES) return TOO_LARGE;",
    replace: 'if (characters > 1e7) return { ...TOO_LARGE, code: "invalid_argument" };',
    tests: [TESTS.json],
  },
  {
    name: "the entrypoint takes a result that cannot be kept, and keeps nothing",
    file: "ledger-service/contract/calls.ts",
    find: 'if ("problem" in json) throw',
    replace:
      'if ("problem" in json && json.code === "invalid_argument") return "null";\n  if ("problem" in json) throw',
    tests: [TESTS.json],
  },
  {
    name: "the client sends whatever JSON makes of a result",
    file: runOnce,
    find: "const json = jsonTextOf(result ?? null);",
    replace: "const json: ReturnType<typeof jsonTextOf> = { text: JSON.stringify(result ?? null) };",
    tests: [TESTS.failures],
  },
  {
    name: "an event that begins with a byte order mark cannot be read",
    file: "ledger-service/contract/values.ts",
    find: 'body.startsWith("\\uFEFF") ? body.slice(1) : body',
    replace: "body",
    tests: [TESTS.runOnce],
  },
];
