// A job belongs to one test file. The files that run in one worker share its storage, and nobody knows which files
// these are. A test that makes a job of another file's fails, and is told whose it is. Run before each file.

import { expect } from "vitest";
import { JobLedger } from "../../ledger-service/src/object/job-ledger.ts";

const OWNERS = Symbol.for("the files of jobs");

if (Reflect.get(globalThis, OWNERS) === undefined) {
  const owners = new Map<string, string>();
  Reflect.set(globalThis, OWNERS, owners);
  for (const method of ["claim", "expectEvent"] as const) {
    const original: unknown = JobLedger.prototype[method];
    if (typeof original !== "function") throw new Error(`the object has no method ${method}`);
    Reflect.set(JobLedger.prototype, method, function owned(this: { ctx: DurableObjectState }, ...args: unknown[]) {
      const [job, file] = [this.ctx.id.name ?? "", expect.getState().testPath ?? ""];
      const owner = owners.get(job) ?? file;
      owners.set(job, owner);
      if (owner !== file) throw new Error(`the job ${job} is that of ${owner}: call this one otherwise`);
      return Reflect.apply(original, this, args);
    });
  }
}
