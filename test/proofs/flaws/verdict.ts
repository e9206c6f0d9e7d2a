// What a run of tests says of a flaw, by vitest's JSON report alone. Pure, and the same for the same report: whatever only says
// that the machine was busy, or that the run was cut short, tells nothing.

export type Report = {
  success: boolean;
  numPassedTests: number;
  testResults: {
    name: string;
    status: string;
    /** Why the file failed as a whole: it could not be loaded, or one of its hooks failed. */
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] | null }[];
  }[];
};

/** `names`: tests, and hooks of files, that failed. */
export type Verdict =
  | { kind: "failed"; names: string[] }
  | { kind: "passed"; passed: number }
  | { kind: "nothing"; why: string };

/** What vitest, and the tests' own waiting, say when the time is up. */
const LATE = /\btimed out in \d+ ?ms\b|\bwaited [\d.]+ s in vain\b/;

/** Of a test's or a hook's errors: only that its time was up, which says little on a busy machine. */
export function isLate(messages: readonly string[]): boolean {
  return messages.length > 0 && messages.every((message) => LATE.test(message));
}

/**
 * `report`: `null` where there is none. `hangs`: that something does not come is the sign that is looked for, so tests whose
 * time is up count. `anyway`: what fails without the flaw as well, and so says nothing of it.
 */
export function verdictOf(
  report: Report | null,
  { hangs = false, anyway = [] }: { hangs?: boolean; anyway?: readonly string[] } = {},
): Verdict {
  if (report === null) return { kind: "nothing", why: "the tests did not come to an end" };
  const failures = report.testResults.flatMap(failuresOf).filter(({ name }) => !anyway.includes(name));
  const told = failures.filter(({ messages }) => hangs || !isLate(messages)).map(({ name }) => name);
  if (told.length > 0) return { kind: "failed", names: told };
  const why = [
    ...report.testResults.flatMap(unloaded),
    ...report.testResults.flatMap(cutShort),
    ...failures.map(({ name }) => `out of time: ${name}`),
  ];
  if (why.length > 0) return { kind: "nothing", why: why.join("; ") };
  const { success, numPassedTests: passed } = report;
  if (passed === 0) return { kind: "nothing", why: "no test ran" };
  // With `anyway` a report that does not succeed may still have nothing of its own to say.
  if (!success && anyway.length === 0) return { kind: "nothing", why: "no test failed, but the run did" };
  return { kind: "passed", passed };
}

type File = Report["testResults"][number];

function failuresOf({ name, status, message, assertionResults }: File): { name: string; messages: string[] }[] {
  const tests = assertionResults
    .filter((test) => test.status === "failed")
    .map(({ fullName, failureMessages }) => ({ name: fullName, messages: failureMessages ?? [] }));
  // A file whose tests are known and that failed by itself: one of its hooks did.
  const isHook = status === "failed" && message !== "" && assertionResults.length > 0;
  return isHook ? [...tests, { name: `a hook of ${name}`, messages: [message] }] : tests;
}

/** A file that has no tests could not be loaded, which a test cannot notice. */
function unloaded({ name, status, message, assertionResults }: File): string[] {
  return status === "failed" && assertionResults.length === 0 ? [`${name} could not be loaded: ${message}`] : [];
}

/** A test that is neither passed, failed nor skipped was running, or waiting to, when the run ended. */
function cutShort({ name, assertionResults }: File): string[] {
  const open = assertionResults.filter(({ status }) => status === "pending").length;
  return open === 0 ? [] : [`${name} was cut short: ${open} tests have no result`];
}
