// The report as lines of text, for people. Pure; called by bench.ts.

import type { Bill } from "../bill.ts";
import type { Comparison, Fact, PartReport } from "../report.ts";
import { describeTarget } from "../targets.ts";

const MOST_GOOD_FACTS = 5;

/** Columns that line up, two spaces between them. All but the first `left` ones are set to the right. */
export function table(rows: readonly (readonly string[])[], left = 1): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => (column < left ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

export function renderPart({ title, comparisons, facts, bills = [], notes }: PartReport): string[] {
  const lines = [
    ...renderComparisons(comparisons),
    ...renderFacts(facts),
    ...(bills.length === 0 ? [] : renderBills(bills)),
    ...notes.map((note) => `(${note})`),
  ];
  return [title, ...lines.map((line) => `  ${line}`)];
}

function renderComparisons(comparisons: readonly Comparison[]): string[] {
  if (comparisons.length === 0) return [];
  const header = ["", "against", "median", "quartiles", "from … to", "", "target", ""];
  const rows = comparisons.map(({ what, against, of, ratio, target }) => [
    what,
    against,
    figure(ratio.median),
    `${figure(ratio.q1)} … ${figure(ratio.q3)}`,
    `${figure(ratio.min)} … ${figure(ratio.max)}`,
    of === "rates" ? "× its rate" : "× its time",
    target === null ? "" : describeTarget(target),
    target === null ? "" : target.met ? "met" : "missed",
  ]);
  return table([header, ...rows], 2);
}

/** What is as it should be needs no line each, where there is much of it. */
function renderFacts(facts: readonly Fact[]): string[] {
  const good = facts.filter(({ expected, ok }) => ok && expected !== null);
  if (good.length <= MOST_GOOD_FACTS) return facts.map(renderFact);
  const others = facts.filter((each) => !good.includes(each));
  return [`${good.length} of ${facts.length} counted facts are as they should be`, ...others.map(renderFact)];
}

function renderFact({ what, value, expected, ok }: Fact): string {
  return `${what}: ${value}${expected === null ? "" : ok ? ", as it should be" : `, but should be ${expected}`}`;
}

/** Dollars for a million jobs, by what they are for. */
function renderBills(bills: readonly Bill[]): string[] {
  const names = bills[0]?.items.map(({ name }) => name) ?? [];
  const header = ["", "consumers", "duplicates", ...names, "dollars per million jobs"];
  const rows = bills.map(({ store, consumers, duplicates, items, dollarsPerMillion }) => [
    store,
    String(consumers),
    String(duplicates),
    ...items.map(({ units, dollarsPerMillion: dollars }) => `${Math.round(units)} = $${dollars.toFixed(2)}`),
    `$${dollarsPerMillion.toFixed(2)}`,
  ]);
  return table([header, ...rows]);
}

/** Two digits behind the point, or three figures in all where it is larger. */
function figure(ratio: number): string {
  return ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(2);
}
