// The keys of a job's stored entries: `event:<type>`, `claim:<consumer>`, and `job`.

export const EVENT = "event:";
export const CLAIM = "claim:";
export const JOB = "job";
