// Flaws of what the watch keeps: whose alert was sent, and who expects an event.

import { type Flaw, TESTS } from "./flaw.ts";

const file = "ledger-service/src/job/watch.ts";

export const WATCH: readonly Flaw[] = [
  {
    name: "the pauses of the watch grow without end",
    file,
    find: "return Math.min(watchAfterMs * 2 ** (rings - 1), LONGEST_PAUSE_MS);",
    replace: "return watchAfterMs * 2 ** (rings - 1);",
    tests: [TESTS.jobWatch],
  },
  {
    name: "the pauses of the watch do not grow",
    file,
    find: "watchAfterMs * 2 ** (rings - 1)",
    replace: "watchAfterMs",
    tests: [TESTS.jobWatch],
  },
  {
    name: "who became due while the alert was on its way waits for the others' pause",
    file,
    find: "const awaited = alert.awaited.filter(",
    replace: "const awaited = [...record.claims.values(), ...alert.awaited].filter(",
    tests: [TESTS.jobWatch],
  },
  {
    name: "a reopening while an alert is sent is forgotten",
    file,
    find: "const awaited = alert.awaited.filter(",
    replace:
      "const awaited = alert.awaited\n" +
      "      .map((call) => ({ ...call, round: record.claims.get(call.consumer)?.round ?? call.round }))\n" +
      "      .filter(",
    tests: [TESTS.jobWatch],
  },
  {
    name: "a deadline that is set anew while an alert is sent is taken for alerted",
    file,
    find: "const awaited = alert.awaited.filter(",
    replace:
      "const isOf = ({ consumer }: { consumer: string }) => watch.expectations.find(({ by }) => by === consumer);\n" +
      "    const awaited = alert.awaited\n" +
      "      .map((call) => ({ ...call, round: isOf(call)?.round ?? call.round }))\n" +
      "      .filter(",
    tests: [TESTS.jobWatch],
  },
  {
    name: "a deadline that is set anew waits for the alerts of the one before",
    file,
    find: "round: (earlier?.round ?? 0) + 1 }",
    replace: "round: 1 }",
    tests: [TESTS.jobWatch],
  },
  {
    name: "rings are not counted anew after a reopening",
    file,
    find: "const rings = (callOf(record, reason, { consumer, round })?.rings ?? 0) + 1;",
    replace: "const rings = (calls.find((call) => call.consumer === consumer)?.rings ?? 0) + 1;",
    tests: [TESTS.jobWatch],
  },
  {
    name: "who has finished while the alert was on its way is on the record as called",
    file,
    find: "alert.awaited.filter((call) => isAwaited(record, reason, call))",
    replace: "alert.awaited.filter((call) => call.consumer !== reason)",
    tests: [TESTS.jobWatch],
  },
  {
    name: "an alert for one makes the others' alerts forgotten",
    file,
    find: "calls = [...others, ...called];",
    replace: "calls = called;",
    tests: [TESTS.jobWatch],
  },
  {
    name: "a conflict is alerted at every alarm",
    file,
    find: "conflictsTold += 1;",
    replace: "conflictsTold += 0;",
    tests: [TESTS.jobWatch],
  },
  {
    name: "a conflict that came while alerts were sent is taken for told",
    file,
    find: "conflictsTold += 1;",
    replace: "conflictsTold = record.events.length - 1;",
    tests: [TESTS.jobWatch],
  },
  {
    name: "any alert counts as that of a conflict",
    file,
    find: 'if (alert.reason === "conflict") {\n      conflictsTold += 1;\n',
    replace: 'conflictsTold += 1;\n    if (alert.reason === "conflict") {\n',
    tests: [TESTS.jobWatch],
  },
  {
    name: "a later deadline replaces the earlier one",
    file,
    find: "if (open !== undefined && open.dueAt <= dueAt) return",
    replace: "if (open !== undefined && open.dueAt > dueAt) return",
    tests: [TESTS.jobWatch],
  },
  {
    name: "a deadline takes the place of another consumer's",
    file,
    find: "...watch.expectations.filter((expectation) => expectation.by !== by),",
    replace: "",
    tests: [TESTS.jobWatch],
  },
  {
    name: "anybody may call off an expectation",
    file,
    find: ".filter(({ by }) => command.consumer === null || command.consumer === by)",
    replace: "",
    tests: [TESTS.jobWatch],
  },
  {
    name: "a consumer calls off the others' expectations with its own",
    file,
    find: "own.includes(expectation) && expectation.cancelledBy === null",
    replace: "expectation.cancelledBy === null",
    tests: [TESTS.jobWatch],
  },
  {
    name: "an operator calls off nothing where one has called off his own",
    file,
    find: "own.every(({ cancelledBy }) => cancelledBy !== null)",
    replace: "own.some(({ cancelledBy }) => cancelledBy !== null)",
    tests: [TESTS.jobWatch],
  },
  {
    name: "an operator's name stands in place of whoever called off before",
    file,
    find: "own.includes(expectation) && expectation.cancelledBy === null",
    replace: "own.includes(expectation)",
    tests: [TESTS.jobWatch],
  },
  {
    name: "an operator calls off one expectation of several",
    file,
    find: "own.includes(expectation) && expectation.cancelledBy === null",
    replace: "own[0] === expectation && expectation.cancelledBy === null",
    tests: [TESTS.jobWatch],
  },
];
