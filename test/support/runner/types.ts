// Generates each Worker's binding types from its wrangler config (`npm run types`). With `--check`, part of `npm run
// check`, it tells whether they are up to date.

import { basename } from "node:path";
import { productFolders } from "../stack/workers.ts";
import { runWrangler } from "../tools/wrangler.ts";

const check = process.argv.includes("--check") ? ["--check"] : [];
for (const folder of productFolders()) {
  const configs = [folder, ...boundTo(folder)].flatMap((path) => ["-c", `${path}/wrangler.jsonc`]);
  const options = ["--include-runtime=false", "--strict-vars=false", "--env-interface", envName(folder), ...check];
  const { ok, output } = runWrangler(["types", `${folder}/worker-configuration.d.ts`, ...configs, ...options]);
  if (ok) continue;
  console.error(`${folder}: wrangler types failed; run \`npm run types\` and commit what it changes.\n${output}`);
  process.exit(1);
}

/** The folders of the Workers that it may be bound to. */
function boundTo(folder: string): string[] {
  if (folder === "ledger-service") return [];
  return folder === "receiver" ? ["ledger-service"] : ["ledger-service", "receiver"];
}

/**
 * `consumers/job-index` is `JobIndexEnv`: the Workers share one TypeScript program, so each needs a name of its own.
 */
function envName(folder: string): string {
  const words = basename(folder).split("-");
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")}Env`;
}
