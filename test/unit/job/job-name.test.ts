// The names of jobs' objects, both ways.

import { describe, expect, test } from "vitest";
import { objectName, parseObjectName } from "../../../ledger-service/src/job/job-name.ts";

describe("an object's name", () => {
  test.each([
    ["media", "job_a", "media:job_a"],
    ["a", "b:c", "a:b:c"],
    ["a", ":", "a::"],
    ["a", "🎬/é", "a:🎬/é"],
  ])("of %s and %s is %s, and back", (namespace, jobId, name) => {
    expect(objectName(namespace, jobId)).toBe(name);
    expect(parseObjectName(name)).toEqual({ namespace, jobId });
  });

  test.each([undefined, "", "job_a", ":job_a"])("is not %j", (name) => {
    expect(parseObjectName(name)).toBeNull();
  });
});
