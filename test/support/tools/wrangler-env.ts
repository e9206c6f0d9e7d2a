// The environment in which this project runs wrangler: no telemetry, no request of its own to the outside.

import { resolve } from "node:path";

/** The project's folder. */
export const ROOT = resolve(import.meta.dirname, "../../..");

/** Its banner asks the registry for a newer version. */
const QUIET = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_HIDE_BANNER: "true" };

/** The present environment with wrangler's outbound habits turned off, for a wrangler that is started as a program. */
export function wranglerEnv(): NodeJS.ProcessEnv {
  return { ...process.env, ...QUIET };
}

/** The same for wrangler as a library in this process. Its own log lines, as of each queue batch, are left out too. */
export function quietWrangler(): void {
  Object.assign(process.env, QUIET, { WRANGLER_LOG: "error" });
}
