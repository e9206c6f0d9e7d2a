// The runtime's memory, and what of it jobs cost. Called by load.ts.
//
// The runtime ends an object about ten seconds after its last call. A queue's message or an alarm brings it back. So what
// a job leaves behind is read after all objects have ended, and what an object costs, while many live.

import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type Process, residentMiB } from "../../support/tools/processes.ts";

/** Milliseconds between two looks. */
const LOOK_MS = 1_000;
/** Milliseconds within which idle objects must have ended; the runtime takes about ten seconds. */
const ENDED_WITHIN_MS = 60_000;
/** A job's object, by the database that it holds open; the class's own index of objects is no object. */
const DATABASE = /\/[^/]*JobLedger\/(?!metadata\.)[^/]+\.sqlite$/;

export type Memory = { mib: number; live: number };

/** `null` once the process has ended. */
export function memoryOf(runtime: Process): Memory | null {
  const mib = residentMiB(runtime);
  return mib === null ? null : { mib, live: liveObjects(runtime) };
}

/** The memory once no job's object is alive, or after a minute of waiting for that. */
export async function settledMemory(runtime: Process, signal: AbortSignal): Promise<Memory | null> {
  for (const end = Date.now() + ENDED_WITHIN_MS; Date.now() < end && liveObjects(runtime) > 0;) {
    await pause(LOOK_MS, undefined, { signal });
  }
  return memoryOf(runtime);
}

/** The jobs' objects that the runtime holds open. */
function liveObjects({ pid }: Process): number {
  try {
    const files = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
    return files.filter((file) => DATABASE.test(file)).length;
  } catch {
    return 0;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // closed meanwhile
  }
}
