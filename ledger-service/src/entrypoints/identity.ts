// Who is calling: the `props` of a binding, and nothing else.

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
