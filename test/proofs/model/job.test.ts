// The object in real workerd against the reference model: random lives of a job, each in an object of its own, which now
// and then is evicted. How many and which: see machine.test.ts.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, inject, test, vi } from "vitest";
import type { JobLedger } from "../../../ledger-service/src/object/job-ledger.ts";
import { readSettings } from "../../../ledger-service/src/object/settings.ts";
import { jobObject } from "../../unit/object/job-object.ts";
import { Agreement } from "./agreement.ts";
import { instances, life } from "./arbitrary.ts";
import { Job, Queue } from "./job.ts";
import { tryLives } from "./run.ts";

const { objectCommands: commands } = inject("model");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test(
  `${commands} commands: the object does what the reference model does`,
  { timeout: 60_000 + 50 * commands },
  async () => {
    const queue = new Queue();
    const settings = readSettings(env);
    let jobs = 0;
    const tried = await tryLives(commands, fc.tuple(life), async ([steps]) => {
      const jobId = `job-${++jobs}`;
      const agreement = new Agreement(jobId, { settings, met: () => undefined });
      const within = (play: (job: Job) => Promise<void>) =>
        runInDurableObject(jobObject(jobId), (job: JobLedger, { storage }) => play(new Job(job, storage, queue)));
      for (const piece of instances(steps)) {
        await within((job) => agreement.play(piece, job));
        await evictDurableObject(jobObject(jobId));
        agreement.evicted();
      }
      await within((job) => agreement.leaveAlone(job));
    });
    expect(tried).toBeGreaterThanOrEqual(commands);
  },
);
