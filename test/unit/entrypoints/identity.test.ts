// Who a binding is, by its `props` alone, and how a job's object is named.

import { describe, expect, test } from "vitest";
import { LedgerError } from "../../../ledger-service/contract/index.ts";
import { identityOf } from "../../../ledger-service/src/entrypoints/identity.ts";

const name64 = "a".repeat(64);

describe("identityOf", () => {
  test.each([
    [{ namespace: "media", consumer: "job-index" }],
    [{ namespace: "0", consumer: "-" }],
    [{ namespace: name64, consumer: name64 }],
    [{ namespace: "n", consumer: "constructor" }],
  ])("%j", (props) => {
    expect(identityOf(props)).toEqual(props);
  });

  test("takes nothing but the two", () => {
    expect(identityOf({ namespace: "n", consumer: "c", admin: true })).toEqual({ namespace: "n", consumer: "c" });
  });

  test.each([
    ["props", undefined],
    ["props", null],
    ["props", "media"],
    ["props.namespace", {}],
    ["props.namespace", { consumer: "c" }],
    ["props.namespace", { namespace: "", consumer: "c" }],
    ["props.namespace", { namespace: "a:b", consumer: "c" }],
    ["props.namespace", { namespace: "Media", consumer: "c" }],
    ["props.namespace", { namespace: `${name64}a`, consumer: "c" }],
    ["props.namespace", { namespace: ["n"], consumer: "c" }],
    ["props.consumer", { namespace: "n" }],
    ["props.consumer", { namespace: "n", consumer: "" }],
    ["props.consumer", { namespace: "n", consumer: "job_index" }],
    ["props.consumer", { namespace: "n", consumer: "index\n" }],
    ["props.consumer", { namespace: "n", consumer: `${name64}a` }],
  ])("asks to set %s when given %j", (key, props) => {
    let error: unknown;
    try {
      identityOf(props);
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof LedgerError)) throw new Error("no LedgerError was thrown");
    expect(error.code).toBe("invalid_props");
    expect(error.message).toContain(`set ${key} of its entry under "services"`);
  });

  test("does not repeat what the props were", () => {
    expect(() => identityOf({ namespace: "Canary", consumer: "c" })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("Canary") }),
    );
  });
});
