// The environment in which this project runs wrangler: no telemetry, and no request of its own to the outside.

/** The present environment with wrangler's outbound habits turned off. */
export function wranglerEnv(): NodeJS.ProcessEnv {
  return { ...process.env, WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" };
}
