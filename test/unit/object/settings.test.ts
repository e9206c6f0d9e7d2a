// The ledger service's variables: what they mean, and that an unusable one is refused by name.

import { describe, expect, test } from "vitest";
import { readSettings } from "../../../ledger-service/src/object/settings.ts";

describe("RETENTION_DAYS", () => {
  test.each([
    ["30", 2_592_000_000],
    ["1", 86_400_000],
    [7, 604_800_000],
    ["0.5", 43_200_000],
    ["0", null],
    [0, null],
    ["", 2_592_000_000],
    [" ", 2_592_000_000],
    ["36500", 3_153_600_000_000],
    [undefined, 2_592_000_000],
  ])("%j keeps a finished job for %j ms", (value, retentionMs) => {
    expect(readSettings(value === undefined ? {} : { RETENTION_DAYS: value })).toMatchObject({ retentionMs });
  });

  test.each(["36501", "-1", "soon", "1d", "NaN", "Infinity", -1])("%j is refused", (value) => {
    expect(() => readSettings({ RETENTION_DAYS: value })).toThrow(
      expect.objectContaining({ code: "invalid_setting", message: expect.stringMatching(/^RETENTION_DAYS /) }),
    );
  });
});

describe.each([
  ["WATCH_AFTER_MINUTES", "watchAfterMs", 900_000],
  ["WATCH_GRACE_MINUTES", "graceMs", 300_000],
] as const)("%s", (name, setting, byDefault) => {
  test.each([
    ["15", 900_000],
    ["0.5", 30_000],
    [1, 60_000],
    ["", byDefault],
    [undefined, byDefault],
    ["1440", 86_400_000],
  ])("%j means %j ms", (value, ms) => {
    expect(readSettings(value === undefined ? {} : { [name]: value })).toMatchObject({ [setting]: ms });
  });

  test.each(["0", "-1", "soon", "1441"])("%j is refused", (value) => {
    expect(() => readSettings({ [name]: value })).toThrow(
      expect.objectContaining({ code: "invalid_setting", message: expect.stringMatching(new RegExp(`^${name} `)) }),
    );
  });
});
