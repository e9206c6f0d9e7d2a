// Generates each Worker's binding types from its wrangler config (`npm run types`), or checks that they are up to date
// (`--check`, part of `npm run check`).

import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { consumerFolders } from "./workers.ts";
import { ROOT, wranglerEnv } from "./wrangler-env.ts";

/** Folder, name of its environment's interface, and the folders of the Workers it may be bound to. */
const WORKERS = [
  { folder: "ledger-service", env: "LedgerServiceEnv", bound: [] },
  { folder: "receiver", env: "ReceiverEnv", bound: ["ledger-service"] },
  ...consumerFolders().map((folder) => ({ folder, env: envName(folder), bound: ["ledger-service", "receiver"] })),
];

const check = process.argv.includes("--check") ? ["--check"] : [];
for (const { folder, env, bound } of WORKERS) {
  const configs = [folder, ...bound].flatMap((path) => ["-c", `${path}/wrangler.jsonc`]);
  const options = ["--include-runtime=false", "--strict-vars=false", "--env-interface", env, ...check];
  const wrangler = resolve(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const args = [wrangler, "types", `${folder}/worker-configuration.d.ts`, ...configs, ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env: wranglerEnv(),
    encoding: "utf8",
  });
  if (status === 0) continue;
  console.error(
    `${folder}: wrangler types failed; run \`npm run types\` and commit what it changes.\n${stdout}${stderr}`,
  );
  process.exit(1);
}

/** `consumers/job-index` is `JobIndexEnv`: the Workers share one TypeScript program, so each needs a name of its own. */
function envName(folder: string): string {
  const words = folder.replace("consumers/", "").split("-");
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")}Env`;
}
