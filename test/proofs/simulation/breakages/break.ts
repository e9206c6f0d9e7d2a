// Proves that the simulation can fail: breaks a copy of the code in one place at a time and runs a short simulation there.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { BREAKAGES, type Breakage } from "./breakages.ts";
import { print } from "../platform/globals.ts";

const ROOT = resolve(import.meta.dirname, "../../../..");
const COPIED = ["ledger-service", "receiver", "consumers", "test/proofs/simulation", "test/local/sume", "package.json"];
/** Tried in this order until one finds it. */
const SIMULATIONS = [
  ["--no-pairs", "--schedules", "0", "--threads", "1"],
  ["--no-singles", "--schedules", "300", "--threads", "1"],
  ["--outage-hours", "2", "--jobs", "20"],
  ["--schedules", "0"],
];

/** Milliseconds for one of them. */
const LONGEST_MS = 120_000;

/** Whether every breakage was found. */
export async function tryBreakages(): Promise<boolean> {
  const tree = mkdtempSync(join(tmpdir(), "simulate-"));
  try {
    for (const path of COPIED) cpSync(join(ROOT, path), join(tree, path), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
    let caught = 0;
    for (const breakage of BREAKAGES) if (isCaught(tree, breakage)) caught += 1;
    print(`${caught} of ${BREAKAGES.length} breakages caught`);
    return caught === BREAKAGES.length;
  } finally {
    rmSync(tree, { recursive: true });
  }
}

function isCaught(tree: string, { name, file, find, replace }: Breakage): boolean {
  const path = join(tree, file);
  const code = readFileSync(path, "utf8");
  if (code.split(find).length !== 2) {
    print(`NOT APPLICABLE  ${name}: its text does not stand once in ${file}`);
    return false;
  }
  writeFileSync(
    path,
    code.replace(find, () => replace),
  );
  try {
    for (const args of SIMULATIONS) {
      const main = join(tree, "test/proofs/simulation/main.ts");
      const { status, stdout } = spawnSync(process.execPath, [main, ...args], {
        cwd: tree,
        encoding: "utf8",
        timeout: LONGEST_MS,
      });
      if (status === 0) continue;
      const [, replay, what = ""] = /^VIOLATION {2}npm run simulate -- (.*)\n {2}(.*)$/m.exec(stdout) ?? [];
      if (replay === undefined) break; // it crashed or hung, which is no finding
      print(`caught by ${replay}  ${name}: ${what}`);
      return true;
    }
  } finally {
    writeFileSync(path, code);
  }
  print(`NOT CAUGHT  ${name}`);
  return false;
}
