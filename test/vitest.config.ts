// Two projects. `workerd` runs tests inside the Workers runtime, with the ledger service as the main Worker. `node`
// runs whatever drives real Workers, or the simulator, from outside.

import { resolve } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { modelSize } from "./support/runner/model-size.ts";

/** Tests that run inside the Workers runtime. */
const IN_WORKERD = ["test/unit/**/*.test.ts", "test/proofs/model/**/*.test.ts"];

const root = resolve(import.meta.dirname, "..");

export default defineConfig({
  root,
  test: {
    // Much of the time goes by in other processes: real workerd, real HTTP.
    maxWorkers: 3,
    projects: [
      {
        root,
        plugins: [cloudflareTest({ wrangler: { configPath: "./ledger-service/wrangler.jsonc" } })],
        test: {
          name: "workerd",
          // A worker and its runtime for each file would take longer than the tests. What keeps files apart is
          // own-jobs.ts.
          isolate: false,
          include: IN_WORKERD,
          globalSetup: "test/support/runner/faulty-sume.ts",
          setupFiles: ["test/unit/quiet-logs.ts", "test/unit/own-jobs.ts"],
          provide: { model: modelSize(process.env) },
        },
      },
      {
        root,
        test: {
          name: "node",
          include: ["test/**/*.test.ts"],
          exclude: IN_WORKERD,
          // Generous: the machine may be busy, and real Workers start in each file.
          testTimeout: 90_000,
          hookTimeout: 90_000,
          // Every file starts Workers of its own; what they share is wrangler, whose import takes seconds.
          isolate: false,
        },
      },
    ],
  },
});
