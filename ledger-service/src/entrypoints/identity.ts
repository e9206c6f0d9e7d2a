// Who is calling and which object a job is: the `props` of a binding, and the one place that names objects.

import * as v from "valibot";
import { type Identity, LedgerError, Name } from "../../contract/index.ts";

const Props = v.object({ namespace: Name, consumer: Name });

/**
 * The identity that the caller's binding carries.
 * @throws {LedgerError} `invalid_props`, naming the config key to set, when it carries none or a malformed one.
 */
export function identityOf(props: unknown): Identity {
  const parsed = v.safeParse(Props, props);
  if (parsed.success) return { namespace: parsed.output.namespace, consumer: parsed.output.consumer };
  const key = v.getDotPath(parsed.issues[0]);
  throw new LedgerError(
    "invalid_props",
    `this binding does not say who it is: set ${key === null ? "props" : `props.${key}`} of its entry under "services" ` +
      `in the calling Worker's wrangler config, e.g. "props": { "namespace": "media", "consumer": "my-consumer" } ` +
      "(each [a-z0-9-]{1,64})",
  );
}

export type JobName = { namespace: string; jobId: string };

/** A namespace holds no colon, so the first colon ends it, whatever the job id holds. */
export function objectName(namespace: string, jobId: string): string {
  return `${namespace}:${jobId}`;
}

/** The reverse of `objectName`. @throws if the object has no such name: it was not addressed by one. */
export function parseObjectName(name: string | undefined): JobName {
  const colon = name?.indexOf(":") ?? -1;
  if (name === undefined || colon < 1) throw new Error("a job's object is addressed by its name <namespace>:<job_id>");
  return { namespace: name.slice(0, colon), jobId: name.slice(colon + 1) };
}
