import { expect, test } from "vitest";
import { bill } from "../bill.ts";
import { compareRates, compareTimes, fact, factAtMost } from "../report.ts";
import { renderPart, table } from "./table.ts";

test("columns line up: the first to the left, the others to the right, nothing behind the last", () => {
  expect(
    table([
      ["a", "1", "x"],
      ["long", "100", ""],
    ]),
  ).toEqual(["a       1  x", "long  100"]);
});

test("a part shows its comparisons with what they are held to, its facts and its notes", () => {
  const lines = renderPart({
    title: "Claims",
    comparisons: [
      compareRates({ what: "claim", against: "floor", target: { atLeast: 0.9 } }, [95, 80, 90], [100, 100, 100]),
      compareTimes({ what: "large", against: "moving", target: { atMost: 2 } }, [10, 10], [30, 30]),
      compareRates({ what: "claim", against: "KV" }, [1_234], [100]),
    ],
    facts: [fact("firsts", 1, 1), factAtMost("rows", 12, 11), fact("firsts, KV", 50)],
    notes: ["a note"],
  });
  expect(lines).toEqual([
    "Claims",
    "         against  median    quartiles    from … to              target",
    "  claim  floor      0.90  0.85 … 0.93  0.80 … 0.95  × its rate   ≥ 0.9     met",
    "  large  moving     3.00  3.00 … 3.00  3.00 … 3.00  × its time     ≤ 2  missed",
    "  claim  KV           12      12 … 12      12 … 12  × its rate",
    "  firsts: 1, as it should be",
    "  rows: 12, but should be 11",
    "  firsts, KV: 50",
    "  (a note)",
  ]);
});

test("many facts that are as they should be are one line; the others keep theirs", () => {
  const good = Array.from({ length: 6 }, (_, n) => fact(`good ${n}`, 1, 1));
  const facts = [...good, fact("bad", 2, 1)];
  expect(renderPart({ title: "Facts", comparisons: [], facts, notes: [] })).toEqual([
    "Facts",
    "  6 of 7 counted facts are as they should be",
    "  bad: 2, but should be 1",
  ]);
});

test("a bill shows what was counted, what it costs, and the sum", () => {
  const units = {
    workerRequests: 2,
    objectRequests: 4,
    alarmRuns: 1,
    rowsWritten: 9,
    rowsRead: 20,
    queueOperations: 3,
    storedBytes: 20_000,
  };
  const bills = [bill({ store: "ledger", consumers: 1, duplicates: 0 }, units)];
  const [, , line] = renderPart({ title: "Bill", comparisons: [], facts: [], bills, notes: [] });
  for (const part of ["2 = $0.60", "5 = $0.75", "9 = $9.00", "20 = $0.02", "3 = $1.20", "20000 = $4.00", "$15.57"]) {
    expect(line).toContain(part);
  }
});
