// How the simulator's API endpoints can misbehave, for tests of a client.
// Set through the simulator, applied by the routes before anything else, as a broken gateway in front would.
// Leaves out artifacts: their query bends each answer by itself.

import type { ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { sendError } from "./http.ts";

/** The endpoints that can misbehave. */
export type ApiEndpoint = "status" | "redeliver";

export type Fault =
  /** That status with an error body in JSON; `retryAfter` becomes the header as given (seconds or a date). */
  | { readonly kind: "status"; readonly status: number; readonly retryAfter?: string }
  /** Any text as JSON: an unknown state, a truncated answer. */
  | { readonly kind: "json"; readonly status: number; readonly body: string }
  /** A page, as gateways send. */
  | { readonly kind: "html"; readonly status: number }
  /** No body at all. */
  | { readonly kind: "empty"; readonly status: number }
  /** The right answer, but only after so many milliseconds. */
  | { readonly kind: "slow"; readonly ms: number }
  /** The connection stays open and silent until the client or `close()` ends it. */
  | { readonly kind: "hang" }
  /** The connection is cut without an answer. */
  | { readonly kind: "reset" };

export class Faults {
  readonly #faults = new Map<ApiEndpoint, { readonly fault: Fault; left: number }>();

  /** Makes an endpoint's next `times` answers faulty; replaces what was set before. */
  set(endpoint: ApiEndpoint, fault: Fault, times: number): void {
    this.#faults.set(endpoint, { fault, left: times });
  }

  clear(): void {
    this.#faults.clear();
  }

  /** The fault for this request, used up by it, if there is one. */
  take(endpoint: ApiEndpoint): Fault | undefined {
    const entry = this.#faults.get(endpoint);
    if (entry === undefined || entry.left <= 0) return undefined;
    entry.left -= 1;
    return entry.fault;
  }
}

/** Applies a fault. True when it took the request, false when the right answer is still to come. */
export async function applyFault(fault: Fault, response: ServerResponse, closing: AbortSignal): Promise<boolean> {
  switch (fault.kind) {
    case "status":
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      sendError(response, fault.status, "simulated", "The simulator was told to answer like this.");
      return true;
    case "json":
      response.writeHead(fault.status, { "content-type": "application/json" }).end(fault.body);
      return true;
    case "html":
      response
        .writeHead(fault.status, { "content-type": "text/html; charset=utf-8" })
        .end("<!doctype html><title>Gateway</title><p>The gateway has nothing to say.</p>\n");
      return true;
    case "empty":
      response.writeHead(fault.status).end();
      return true;
    case "slow":
      await wait(fault.ms, undefined, { signal: closing });
      return false;
    case "hang":
      return true;
    case "reset":
      response.destroy();
      return true;
    default:
      return fault satisfies never;
  }
}
