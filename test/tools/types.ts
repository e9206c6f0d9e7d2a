// Generates each Worker's binding types from its wrangler config (`npm run types`), or checks that they are up to date
// (`--check`, part of `npm run check`).

import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { ROOT, wranglerEnv } from "./wrangler-env.ts";

/** Folder, name of its environment's interface, and the folders of the Workers it is bound to. */
const WORKERS = [
  { folder: "ledger-service", env: "LedgerServiceEnv", bound: [] },
  { folder: "receiver", env: "ReceiverEnv", bound: ["ledger-service"] },
  { folder: "consumers/artifact-archive", env: "ArtifactArchiveEnv", bound: ["ledger-service"] },
  { folder: "consumers/job-index", env: "JobIndexEnv", bound: ["ledger-service"] },
  { folder: "consumers/reconciler", env: "ReconcilerEnv", bound: ["ledger-service", "receiver"] },
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
