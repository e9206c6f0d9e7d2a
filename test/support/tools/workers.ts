// The folders of the Workers that make up the product: a folder under consumers/ with a wrangler config is one.

import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { ROOT } from "./wrangler-env.ts";

/** The consumers' folders, such as `consumers/job-index`, by name. */
export function consumerFolders(): string[] {
  return readdirSync(resolve(ROOT, "consumers"))
    .map((name) => `consumers/${name}`)
    .filter((folder) => existsSync(resolve(ROOT, folder, "wrangler.jsonc")))
    .toSorted();
}
