// A result is kept as JSON text; this reads it back.

import type { Json } from "../../contract/index.ts";

/** The value behind stored JSON text, which was checked before it was stored; `null` for a text that is none. */
export function parseResult(text: string | null): Json {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null; // whatever is in storage, the record stays readable
  }
}
