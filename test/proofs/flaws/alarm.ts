// Flaws of the object's one alarm: set, held back after a failure, brought back; and of what it does when it runs.

import { type Flaw, TESTS } from "./flaw.ts";

const file = "ledger-service/src/object/alarm.ts";
const object = "ledger-service/src/object/job-ledger.ts";

export const ALARM: readonly Flaw[] = [
  {
    name: "an alarm that ran early is used up and not set again",
    file: object,
    find: "this.#write(before, after, null, () => this.#alarm.succeeded(this.#dueAt(after), now));",
    replace:
      "this.#write(before, after, null, () => {\n" +
      "      if (after !== before) this.#alarm.succeeded(this.#dueAt(after), now);\n    });",
    tests: [TESTS.alarm],
    peer: "an alarm consumed and not re-armed",
  },
  {
    name: "an alarm that runs early spins",
    file,
    find: "Math.max(due, now + BETWEEN_RUNS_MS)",
    replace: "due",
    tests: [TESTS.watch],
  },
  {
    name: "the alarm is set to a time that is not after now",
    file,
    find: "Math.max(at, this.#pausedUntil, now + 1)",
    replace: "Math.max(at, this.#pausedUntil)",
    tests: [TESTS.watch],
  },
  {
    name: "an alarm whose work fails is dropped",
    file,
    find: "    await this.#storage.setAlarm(this.#pausedUntil);\n",
    replace: "",
    tests: [TESTS.alarm],
    peer: "a one-off alarm job that throws and is deleted",
  },
  {
    name: "a settle undoes the pause after a failed alarm",
    file,
    find: "Math.max(at, this.#pausedUntil, now + 1)",
    replace: "Math.max(at, now + 1)",
    tests: [TESTS.watch],
  },
  {
    name: "the pause after a failed alarm outlasts the next alarm",
    file,
    find: "    this.#pausedUntil = 0;\n",
    replace: "",
    tests: [TESTS.watch],
  },
  {
    name: "an alarm that fails again and again comes back each minute",
    file,
    find: "FIRST_RETRY_MS * 2 ** this.#failures",
    replace: "FIRST_RETRY_MS",
    tests: [TESTS.watch],
  },
  {
    name: "the pauses of a failing alarm grow without end",
    file,
    find: "Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS)",
    replace: "FIRST_RETRY_MS * 2 ** this.#failures",
    tests: [TESTS.watch],
  },
  {
    name: "an alarm that succeeded does not end the count of failures",
    file,
    find: "    this.#failures = 0;\n",
    replace: "",
    tests: [TESTS.watch],
  },
  {
    name: "nobody brings back an alarm that the platform dropped",
    file,
    find: "if (now < Math.max(due, this.#ranAt, this.#pausedUntil) + DROPPED_AFTER_MS) return false;",
    replace: "if (now >= 0) return false;",
    tests: [TESTS.watch],
  },
  {
    name: "an alarm that was dropped is brought back by every call",
    file,
    find: "    this.#ranAt = now;\n    this.set(now, now);",
    replace: "    this.set(now, now);",
    tests: [TESTS.watch],
  },
  {
    name: "an alarm that ran late and failed is taken for a dropped one",
    file,
    find: "Math.max(due, this.#ranAt, this.#pausedUntil) + DROPPED_AFTER_MS",
    replace: "due + DROPPED_AFTER_MS",
    tests: [TESTS.watch],
  },
  {
    name: "nobody asks whether an alarm is set at all: a job that was kept for ever stays so",
    file,
    find: "    if (this.#isChecked) return;\n",
    replace: "    if (this.#failures >= 0) return;\n",
    tests: [TESTS.watch],
  },
  {
    name: "a fresh instance whose alarm runs asks for it meanwhile, finds none, and sets it: it spins",
    file,
    find: "    this.#isChecked = true;\n    this.#isRunning = true;\n",
    replace: "    this.#isRunning = true;\n",
    tests: [TESTS.watch],
  },
  {
    name: "an alarm that is set for later than what is due stays so",
    file,
    find: "if (set === null || set > Math.max(at, now)) this.set(at, now);",
    replace: "if (set === null) this.set(at, now);",
    tests: [TESTS.watch],
  },
  {
    name: "what the queue refused is taken for sent",
    file: object,
    find: "await withTimeout(this.#send(name, alert), ALERT_WITHIN_MS);",
    replace: "await withTimeout(this.#send(name, alert), ALERT_WITHIN_MS).catch(() => undefined);",
    tests: [TESTS.watch],
  },
  {
    name: "what was sent before the queue refused is not kept: a conflict is told twice",
    file: object,
    find: "      this.#commit((record, now) => ({ record: alerted(record, now), outcome: undefined }));\n",
    replace: "",
    tests: [TESTS.watch],
  },
  {
    name: "a queue that hangs holds up the alarm",
    file: object,
    find: "await withTimeout(this.#send(name, alert), ALERT_WITHIN_MS);",
    replace: "await this.#send(name, alert);",
    tests: [TESTS.watch],
    hangs: true,
  },
  {
    name: "what was settled while an alert was sent is overwritten",
    file: object,
    find: "await withTimeout(this.#send(name, alert), ALERT_WITHIN_MS);",
    replace:
      "const seen = this.#read();\n" +
      "        await withTimeout(this.#send(name, alert), ALERT_WITHIN_MS);\n" +
      "        this.#record = seen;",
    tests: [TESTS.watch],
    peer: "a write decided on what was read before an await",
  },
  {
    name: "who died on the last attempt is called to its job",
    file: object,
    find: "this.#commit((record, now) => ({ record: claims.expire(record, now), outcome: undefined }));",
    replace: "",
    tests: [TESTS.watch],
  },
  {
    name: "a job is forgotten with a conflict that nobody was told of",
    file: object,
    find: "if (alerts.length === 0 && isCleanupDue",
    replace: "if (isCleanupDue",
    tests: [TESTS.watch],
  },
  {
    name: "cleanup leaves the job in memory",
    file: object,
    find: "        this.#record = undefined;\n",
    replace: "",
    tests: [TESTS.alarm],
    peer: "deleteAll that leaves memory",
  },
  {
    name: "cleanup leaves an alarm",
    file: object,
    find: "await this.ctx.storage.deleteAll();",
    replace: "await this.ctx.storage.deleteAll();\n        await this.ctx.storage.setAlarm(Date.now() + 60_000);",
    tests: [TESTS.alarm],
    peer: "deleteAll that leaves an alarm",
  },
  {
    name: "a cleanup that fails ends the instance, and its alarm with it",
    file: object,
    find: "return { error };",
    replace: "throw error;",
    tests: [TESTS.alarm],
  },
];
