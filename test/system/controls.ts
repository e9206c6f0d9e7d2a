// The test Workers' controls: the ledger under any identity, the observed queues, and the ledger that can be spoiled.
// Called by the system tests.

import type { LedgerBinding } from "../../ledger-service/contract/index.ts";
import type { Stack } from "../support/stack/stack.ts";

export type ConsumerName = "artifact-archive" | "job-index" | "scripted";
export const CONSUMERS: readonly ConsumerName[] = ["artifact-archive", "job-index", "scripted"];

export type Called<T = unknown> = { value?: T; error?: { name: string; code?: string; message: string } };

/** Makes the call through that binding of the caller (test/support/workers/caller) and tells how it went. */
export function callThrough<T = unknown>(
  stack: Stack,
  binding: string,
  method: string,
  args?: unknown,
): Promise<Called<T>> {
  return stack.call("caller", "call", binding, method, args);
}

/** The ledger as that consumer of the namespace `default` meets it. */
export function ledgerAs(stack: Stack, consumer: "receiver" | "caller" | ConsumerName): LedgerBinding {
  const binding = consumer.toUpperCase().replaceAll("-", "_");
  const call = async <T>(method: string, args?: unknown): Promise<T> => {
    const { value, error } = await stack.call<Called<T>>("caller", "call", binding, method, args);
    if (value === undefined) throw new Error(error?.message);
    return value;
  };
  return {
    whoami: () => call("whoami"),
    claim: (args) => call("claim", args),
    renew: (args) => call("renew", args),
    complete: (args) => call("complete", args),
    release: (args) => call("release", args),
  };
}

/** Puts messages on a consumer's queue, in one batch, past every receiver. */
export async function enqueue(stack: Stack, consumer: ConsumerName, bodies: readonly unknown[]): Promise<void> {
  const binding = `${consumer.toUpperCase().replaceAll("-", "_")}_QUEUE`;
  const { error } = await callThrough(
    stack,
    binding,
    "sendBatch",
    bodies.map((body) => ({ body })),
  );
  if (error !== undefined) throw new Error(error.message);
}

/** The queues in front of the consumers' own (test/system/workers/observed-queue). */
export function observedQueue(stack: Stack) {
  const call = <T>(method: string, ...args: unknown[]) => stack.call<T>("observed-queue", method, ...args);
  return {
    order: (jobId: string, consumer: ConsumerName, order: "hold" | "pass" | "refuse") =>
      call<void>("order", jobId, consumer, order),
    isHeld: (jobId: string, consumer: ConsumerName) => call<boolean>("isHeld", jobId, consumer),
    /** As the receiver sends. */
    send: (jobId: string, consumer: ConsumerName) => call<void>("sendTo", consumer, { jobId }),
    messages: (jobId: string) => call<Record<ConsumerName, number>>("messages", jobId),
  };
}

/** The ledger on a bad day, bound to the receiver (test/system/workers/faulty-ledger). */
export function faultyLedger(stack: Stack) {
  const call = <T = void>(method: string, ...args: unknown[]) => stack.call<T>("faulty-ledger", method, ...args);
  return {
    spoil: (jobId: string, verb: "claim" | "complete" | "release", fault: "throw" | "overloaded" | "lose" | "hang") =>
      call("spoil", jobId, verb, fault),
    shortenLease: (jobId: string, ms: number) => call("shortenLease", jobId, ms),
    hangIdentity: () => call("hangIdentity"),
    hanging: () => call<number>("hanging"),
  };
}
