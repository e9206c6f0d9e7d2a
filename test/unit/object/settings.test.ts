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

describe("WATCH_AFTER_MINUTES", () => {
  test.each([
    ["15", 900_000],
    ["0.5", 30_000],
    [1, 60_000],
    ["", 900_000],
    [undefined, 900_000],
    ["1440", 86_400_000],
  ])("%j alerts an unfinished job after %j ms", (value, watchAfterMs) => {
    expect(readSettings(value === undefined ? {} : { WATCH_AFTER_MINUTES: value })).toMatchObject({ watchAfterMs });
  });

  test.each(["0", "-1", "soon", "1441"])("%j is refused", (value) => {
    expect(() => readSettings({ WATCH_AFTER_MINUTES: value })).toThrow(
      expect.objectContaining({ code: "invalid_setting", message: expect.stringMatching(/^WATCH_AFTER_MINUTES /) }),
    );
  });
});
