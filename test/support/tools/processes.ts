// What Linux tells of processes, in /proc: who descends from whom, which files a process holds open, its memory. Called
// by test/support/stack/dev-server.ts, to find the runtime and to end what it started. On other systems it sees no
// process at all.
// Leaves out everything by name: a process is ended by its id, after its descent was checked.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** @throws on other systems than Linux. Called by programs that need to find the runtime. */
export function requireLinux(): void {
  if (process.platform !== "linux") throw new Error("this needs Linux: it looks for the runtime in /proc");
}

/** A process; ids are used again, but not with the same start. */
export type Process = { readonly pid: number; readonly startedAt: string };

/** Deeper than any tree here; bounds a walk up through ids that change meanwhile. */
const MOST_GENERATIONS = 16;

type Stat = { parent: number; startedAt: string };

/** `null`: there is no such process, or it has ended and nobody has asked for its exit code yet. */
function stat(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the name in parentheses, may hold anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state, parent, startedAt] = [fields[0], fields[1], fields[19]];
    return state === "Z" || parent === undefined || startedAt === undefined
      ? null
      : { parent: Number(parent), startedAt };
  } catch {
    return null;
  }
}

export function processOf(pid: number): Process | null {
  const found = stat(pid);
  return found && { pid, startedAt: found.startedAt };
}

export function isAlive({ pid, startedAt }: Process): boolean {
  return stat(pid)?.startedAt === startedAt;
}

/** All processes below `ancestor`, children of children too; none where it has ended. */
export function descendants(ancestor: Process): Process[] {
  if (!isAlive(ancestor)) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processOf(Number(name)))
    .filter((process) => process !== null)
    .filter((process) => descendsFrom(process, ancestor));
}

function descendsFrom({ pid }: Process, ancestor: Process): boolean {
  if (!isAlive(ancestor)) return false;
  let parent = stat(pid)?.parent;
  for (let generation = 0; generation < MOST_GENERATIONS && parent !== undefined && parent > 1; generation += 1) {
    if (parent === ancestor.pid) return true;
    parent = stat(parent)?.parent;
  }
  return false;
}

/** Whether the process runs a program of that name (its first 15 characters, which is what Linux keeps). */
export function isNamed({ pid }: Process, name: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trimEnd() === name;
  } catch {
    return false;
  }
}

/** Whether the process holds a file below the folder open. */
export function holdsOpen({ pid }: Process, folder: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`).startsWith(`${folder}/`));
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // closed meanwhile
  }
}

/** The process's resident memory in MiB; `null` once it has ended. */
export function residentMiB({ pid }: Process): number | null {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? null : Math.round(Number(kib) / 1_024);
  } catch {
    return null;
  }
}

/**
 * `kill -9` for a process below `ancestor`.
 * @throws for any other: nothing that was not started here is ever ended.
 */
export function killDescendant(victim: Process, ancestor: Process): void {
  if (!isAlive(victim)) return;
  if (!descendsFrom(victim, ancestor)) throw new Error(`process ${victim.pid} is not one of ours`);
  process.kill(victim.pid, "SIGKILL");
}
