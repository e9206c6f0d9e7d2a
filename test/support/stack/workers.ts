// The product's Workers, and what each is told when it runs on one machine beside Sume's simulator. This is the only
// list of them: stack.ts, dev-stack.ts, test/local/start.ts and the generator of types go by it.
// Leaves out the Workers of tests: whoever starts those names them.

import { existsSync, readdirSync } from "node:fs";
import { basename, resolve } from "node:path";
import { DEVELOPMENT_API_KEY, DEVELOPMENT_SECRET } from "../../local/sume/simulator.ts";
import { ROOT } from "../tools/wrangler-env.ts";

/** The first is the one that HTTP reaches. */
const NAMED = [
  "receiver",
  "ledger-service",
  "consumers/artifact-archive",
  "consumers/job-index",
  "consumers/reconciler",
];

export type ProductWorker = {
  /** As in its config, which is also its folder's. */
  name: string;
  /** Below the project's folder. */
  folder: string;
  /** Its `wrangler.jsonc`, below the project's folder. */
  config: string;
  /** Over the variables of its config. */
  vars: Record<string, string>;
  secrets: Record<string, string>;
};

/** The Workers' folders: those named here, and every other one under consumers/ that has a wrangler config. */
export function productFolders(): string[] {
  const consumers = readdirSync(resolve(ROOT, "consumers"))
    .map((name) => `consumers/${name}`)
    .filter((folder) => existsSync(resolve(ROOT, configOf(folder))))
    .toSorted();
  return [...new Set([...NAMED, ...consumers])];
}

/** @param sumeOrigin the simulator's, started with its development secret and key. */
export function productWorkers(sumeOrigin: string): ProductWorker[] {
  return productFolders().map((folder) => {
    const name = basename(folder);
    return { name, folder, config: configOf(folder), vars: {}, secrets: {}, ...settings(name, sumeOrigin) };
  });
}

function settings(name: string, sumeOrigin: string): Partial<ProductWorker> {
  switch (name) {
    case "receiver":
      return { secrets: { SUME_WEBHOOK_SECRET: DEVELOPMENT_SECRET } };
    case "artifact-archive":
      return { vars: { ARTIFACT_ORIGINS: sumeOrigin } };
    case "reconciler":
      return { vars: { SUME_API_URL: sumeOrigin }, secrets: { SUME_API_KEY: DEVELOPMENT_API_KEY } };
    default:
      return {};
  }
}

function configOf(folder: string): string {
  return `${folder}/wrangler.jsonc`;
}
