// The stack in `wrangler dev`: every product Worker in a runtime of its own, and Sume's simulator beside it. The front
// Worker there shows what came of each job. For what needs a runtime that can be killed, or its own network:
// test/proofs/crash, test/proofs/load, test/system/consumers/real-network.test.ts.
// Leaves out test doubles: only the consumers' leases can be shortened. For tests of single cases there is stack.ts.

import type { RetryPolicy } from "../../local/sume/webhooks/deliver.ts";
import { startSume, type Sume } from "../../local/sume/simulator.ts";
import { type DevServer, startDevServer } from "./dev-server.ts";
import { productWorkers } from "./workers.ts";

export type DevStackOptions = {
  /** Sume's departures from its documented policy. */
  policy?: Partial<RetryPolicy>;
  /** Variables by Worker name, over those of a local run. */
  vars?: Record<string, Record<string, string>>;
  /** Leases of seconds for the two consumers that do work; see test/support/workers/short-leases. */
  shortLeases?: boolean;
  /** Called with each line that a Worker logged, parsed. */
  onLog?: (line: Record<string, unknown>) => void;
  signal: AbortSignal;
};

export type DevStack = {
  sume: Sume;
  server: DevServer;
  /** Ends everything and removes what it wrote. */
  close(): Promise<void>;
};

const FRONT = "test/support/workers/front/wrangler.jsonc";
const SHORT_LEASES = "test/support/workers/short-leases/src/index.ts";
const SHORTENED = ["artifact-archive", "job-index"];

/** @throws when the Workers cannot be run. */
export async function startDevStack(options: DevStackOptions): Promise<DevStack> {
  const { policy = {}, vars = {}, shortLeases = false, onLog = () => undefined, signal } = options;
  const sume = await startSume({ policy });
  try {
    const product = productWorkers(sume.origin);
    const workers = product.map(({ name, config, vars: own }) => ({
      config,
      vars: { ...own, ...vars[name] },
      ...(shortLeases && SHORTENED.includes(name) && { main: SHORT_LEASES }),
    }));
    const env = Object.assign({}, ...product.map(({ secrets }) => secrets));
    const server = await startDevServer({ workers: [{ config: FRONT }, ...workers], env, onLog, signal });
    sume.setReceiver(`${server.url}/webhooks/sume`);
    const close = async () => {
      await Promise.all([sume.close(), server.stop()]);
    };
    return { sume, server, close };
  } catch (error) {
    await sume.close();
    throw error;
  }
}
