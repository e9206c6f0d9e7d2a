// That the flaws and the simulation's breakages still fit the code they spoil: a text that has gone would be found only by
// the long runs.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { BREAKAGES } from "../simulation/breakages/breakages.ts";
import { ROOT } from "../../support/tools/wrangler-env.ts";
import { FLAWS } from "./flaws.ts";

test.each([...FLAWS, ...BREAKAGES])("the text to spoil occurs once: $name", ({ file, find, replace }) => {
  const parts = readFileSync(resolve(ROOT, file), "utf8").split(find);
  expect(parts).toHaveLength(2);
  expect(replace).not.toBe(find);
});

test.each([...FLAWS])("the tests that must notice are there: $name", ({ tests }) => {
  for (const path of tests) expect(() => readFileSync(resolve(ROOT, path))).not.toThrow();
});
