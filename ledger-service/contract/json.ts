// What may be kept as a claim's result, for both sides: the client asks before it calls, the ledger before it writes.
// A value is taken only if it comes back as it went in; JSON alone would change a date, empty a map and drop a
// function in silence.

import type { LedgerErrorCode } from "./errors.ts";
import { MAX_RESULT_BYTES, MAX_RESULT_DEPTH } from "./limits.ts";

/** `path` leads from `result` to what is at fault; `problem` follows it in a sentence and never repeats a value. */
export type JsonProblem = { problem: string; path: string; code: LedgerErrorCode & ("invalid_argument" | "too_large") };

/** Characters of a key that a path repeats; a longer key is cut, for errors are cut too. */
const MAX_KEY_IN_PATH = 40;

/** What to do instead; of the platform's own objects, such as R2's, the message names the class before it. */
const PLAIN = "return plain JSON";

/**
 * The JSON text of a plain value: `null`, booleans, finite numbers, strings, arrays and plain objects of these.
 *
 * What JSON changes without harm is taken: a property that is `undefined` counts as absent, since TypeScript code
 * writes such properties all the time; -0 becomes 0; a key that is a symbol is left out, for the platform puts one on
 * every answer of an RPC call. A lone surrogate is taken as well: JSON escapes it, and gives it back.
 */
export function jsonTextOf(value: unknown): { text: string } | JsonProblem {
  const parts: string[] = [];
  let characters = 0;
  const put = (text: string): void => {
    parts.push(text);
    characters += text.length;
  };

  function write(item: unknown, path: string, above: readonly object[]): JsonProblem | null {
    // A character has at least a byte. Objects that share their parts could otherwise grow without end.
    if (characters > MAX_RESULT_BYTES) return TOO_LARGE;
    if (item === null || typeof item === "boolean") {
      put(String(item));
      return null;
    }
    if (typeof item === "number") {
      if (!Number.isFinite(item)) return refused(path, "is not a finite number");
      put(JSON.stringify(item));
      return null;
    }
    if (typeof item === "string") {
      // A text of megabytes need not be escaped to be known as too large.
      if (item.length > MAX_RESULT_BYTES) return TOO_LARGE;
      put(JSON.stringify(item));
      return null;
    }
    if (typeof item !== "object") {
      return refused(path, `is ${item === undefined ? "undefined" : `a ${typeof item}`}: ${PLAIN}`);
    }
    if (above.includes(item)) return refused(path, "is part of itself");
    if (above.length >= MAX_RESULT_DEPTH) return refused(path, `is more than ${MAX_RESULT_DEPTH} levels deep`);
    const prototypes = prototypesOf(item);
    if (Array.isArray(item) && prototypes === 2) return writeArray(item, path, [...above, item]);
    if (!Array.isArray(item) && prototypes <= 1) return writeObject(item, path, [...above, item]);
    return refused(path, `is ${kindOf(item)}: ${PLAIN}`);
  }

  function writeArray(items: readonly unknown[], path: string, above: readonly object[]): JsonProblem | null {
    put("[");
    for (let index = 0; index < items.length; index++) {
      if (index > 0) put(",");
      const problem = write(items[index], `${path}[${index}]`, above);
      if (problem !== null) return problem;
    }
    put("]");
    // As a match of a regular expression has them.
    return Object.keys(items).length === items.length ? null : refused(path, `is an array with properties: ${PLAIN}`);
  }

  function writeObject(item: object, path: string, above: readonly object[]): JsonProblem | null {
    put("{");
    let first = true;
    for (const [key, held] of Object.entries(item)) {
      if (held === undefined) continue;
      put(`${first ? "" : ","}${JSON.stringify(key)}:`);
      first = false;
      const problem = write(held, `${path}${step(key)}`, above);
      if (problem !== null) return problem;
    }
    put("}");
    return null;
  }

  let problem: JsonProblem | null;
  try {
    problem = write(value, ROOT, []);
  } catch {
    // A property that throws when it is read.
    problem = refused(ROOT, `cannot be read: ${PLAIN}`);
  }
  if (problem !== null) return problem;
  const text = parts.join("");
  return new TextEncoder().encode(text).length > MAX_RESULT_BYTES ? TOO_LARGE : { text };
}

const ROOT = "result";
const TOO_LARGE: JsonProblem = {
  problem: `must have at most ${MAX_RESULT_BYTES} bytes of JSON`,
  path: ROOT,
  code: "too_large",
};

function refused(path: string, problem: string): JsonProblem {
  return { problem, path, code: "invalid_argument" };
}

/** How many prototypes are above it. Counted, not compared: those of another realm, as in a test runner, count too. */
function prototypesOf(value: object): number {
  const prototype: unknown = Object.getPrototypeOf(value);
  return typeof prototype === "object" && prototype !== null ? 1 + prototypesOf(prototype) : 0;
}

/** What to call an object that is not plain, such as `a Map` or `an R2Object`. */
function kindOf(value: object): string {
  const { constructor }: { constructor?: unknown } = value;
  const name = typeof constructor === "function" && constructor.name !== "" ? constructor.name : "object of a class";
  return `${/^([AEIOU]|R2)/.test(name) ? "an" : "a"} ${name.slice(0, MAX_KEY_IN_PATH)}`;
}

function step(key: string): string {
  if (/^[A-Za-z_$][\w$]*$/.test(key) && key.length <= MAX_KEY_IN_PATH) return `.${key}`;
  const cut = key.length > MAX_KEY_IN_PATH ? `${key.slice(0, MAX_KEY_IN_PATH)}…` : key;
  return `[${JSON.stringify(cut)}]`;
}
