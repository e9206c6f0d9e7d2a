// What a job's object is called: the one place that makes and reads such a name. Nobody outside the ledger service does.

export type JobName = { namespace: string; jobId: string };

/** A namespace holds no colon, so the first colon ends it, whatever the job id holds. */
export function objectName(namespace: string, jobId: string): string {
  return `${namespace}:${jobId}`;
}

/** The reverse of `objectName`; `null` for an object that was reached by its id, and so has no name to say which job it is. */
export function parseObjectName(name: string | undefined): JobName | null {
  const colon = name?.indexOf(":") ?? -1;
  if (name === undefined || colon < 1) return null;
  return { namespace: name.slice(0, colon), jobId: name.slice(colon + 1) };
}
