// One JSON line for each thing done or refused, for Workers Logs to index. Never a secret, a signature, a body, a
// result, or an error's message (a parse error quotes what it parsed): those are in the record, for whoever may
// inspect it.

export type LogLine = {
  worker: string;
  /** What was decided or done, such as `claim`. */
  event: string;
  outcome: string;
  namespace?: string | undefined;
  jobId?: string | undefined;
  consumer?: string | undefined;
  attempt?: number | undefined;
  [detail: string]: string | number | boolean | readonly string[] | undefined;
};

/** Writes the line; at level `error` it is something that a person must act on. */
export function log(line: LogLine, level: "info" | "error" = "info"): void {
  const text = JSON.stringify({ level, ...line });
  if (level === "error") console.error(text);
  else console.log(text);
}

/** What of an error may be logged: its name and, where it has one, its code. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error && typeof error.code === "string" ? `${error.name} ${error.code}` : error.name;
}
