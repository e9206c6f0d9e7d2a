// Part 4, its first half: how long the receiver takes to verify a body. Beside it stand the platform's own verify on
// bytes that lie ready, and the `standardwebhooks` package.

import { calls, type Context, measureRounds } from "../part.ts";
import { type Comparison, compareRates, compareTimes, type PartReport } from "../report.ts";
import { rateOf } from "../measure/rounds.ts";
import { TARGETS } from "../targets.ts";

const BODIES = [
  { name: "1 KB", bytes: 1_000, firstCount: 500 },
  { name: "64 KB", bytes: 64_000, firstCount: 50 },
  { name: "1 MB", bytes: 1_000_000, firstCount: 4 },
];
const SECRETS = [1, 2];
const ENTRIES = [1, 3, 30];
const SIZE = { rounds: 12, windowMs: 100, withinMs: 12_000 };

export async function verification(context: Context): Promise<PartReport> {
  const comparisons: Comparison[] = [];
  for (const body of BODIES) comparisons.push(...(await compareBody(context, body)));
  return {
    title: "Verification",
    comparisons: [...comparisons, ...(await compareUseless(context))],
    facts: [],
    notes: [
      "The signed bytes lie ready for both: the receiver reads a body behind its timestamp, so they are never put together.",
      "Of two secrets the second is the one that matches; of several entries the last.",
      "standardwebhooks has its own headers and signs its own prefix; it takes the body as text and computes in JavaScript.",
    ],
  };
}

async function compareBody(
  context: Context,
  { name, bytes, firstCount }: (typeof BODIES)[number],
): Promise<Comparison[]> {
  const run = { bytes, concurrency: 1 };
  const forms = SECRETS.flatMap((secrets) =>
    ENTRIES.map((entries) => ({
      secrets,
      entries,
      name: `${count(secrets, "secret")}, ${count(entries, "entry", "entries")}`,
    })),
  );
  const rates = await measureRounds(
    context,
    `verification of ${name}`,
    [
      ...forms.map((form) => calls(context, form.name, { variant: "verify", ...run, ...form }, "valid")),
      calls(context, "bare", { variant: "verify bare", ...run }, "valid"),
      calls(context, "standardwebhooks", { variant: "verify standardwebhooks", ...run }, "valid"),
    ],
    { ...SIZE, firstCount },
  );
  const compare = (form: string, other: string, against: string, target = {}) =>
    compareRates({ what: `verify ${name}, ${form}`, against, ...target }, rateOf(rates, form), rateOf(rates, other));
  const bare = "crypto.subtle.verify";
  return [
    ...forms.map((form) => {
      const targeted = form.secrets === 1 && form.entries === 1 && bytes > 1_000;
      return compare(form.name, "bare", bare, targeted ? { target: TARGETS.verificationByBare } : {});
    }),
    compare("1 secret, 1 entry", "standardwebhooks", "standardwebhooks"),
  ];
}

/**
 * A header full of signatures that match nothing, which anybody can send. At 1 KB: the larger the body, the less they
 * weigh.
 */
async function compareUseless(context: Context): Promise<Comparison[]> {
  const forged = { variant: "verify", concurrency: 1, forged: true } as const;
  const rates = await measureRounds(
    context,
    "useless entries",
    [1, 30].map((entries) => calls(context, String(entries), { ...forged, entries }, "invalid")),
    { ...SIZE, firstCount: 500 },
  );
  const names = { what: "refuse 1 KB with 30 useless entries", against: "with 1" };
  return [compareTimes({ ...names, target: TARGETS.uselessEntries }, rateOf(rates, "30"), rateOf(rates, "1"))];
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
