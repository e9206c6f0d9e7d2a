// Mistakes in what a consumer brings must not cost it its release: the failure gets through, the claim comes free.

import { describe, expect, test } from "vitest";
import { runOnce } from "../../../ledger-service/client/index.ts";
import { arrived, claimOf, consumed, ledger, message, settled, T0, useClock, watched } from "./support.ts";

useClock();

const fine = async () => "fine";
const fail = () => Promise.reject(new Error("no disk"));

describe("a pause that cannot be reckoned is the default one", () => {
  test.each([
    [
      "it throws",
      () => {
        throw new Error("mistake");
      },
    ],
    ["it is not a number", () => Number.NaN],
    // A list may be too short for the attempt, and a setting a text: the types do not see it.
    ["it is undefined", () => JSON.parse('{"ms":[]}').ms[1]],
    ["it is a text", () => JSON.parse('"soon"')],
  ])("%s", async (name, retryAfterMs) => {
    const jobId = await arrived(`mistake-pause-${name}`);
    expect(await runOnce(ledger, { jobId, retryAfterMs }, fail)).toMatchObject({
      outcome: "released",
      retryAt: T0 + 30_000,
    });
    expect(await claimOf(jobId)).toMatchObject({ status: "released", error: "Error: no disk" });
  });
});

const textless = "an error whose text cannot be made";
const faulty = (key: "message" | "name", descriptor: PropertyDescriptor) =>
  Object.defineProperty(new Error("no disk"), key, descriptor);
const throwing = {
  get: () => {
    throw new Error("looked at");
  },
};
const hostile: [string, unknown][] = [
  ["whose message makes no text", faulty("message", { value: Object.create(null) })],
  ["whose message is a symbol", faulty("message", { value: Symbol("disk") })],
  ["whose message throws", faulty("message", throwing)],
  ["whose name throws", faulty("name", throwing)],
];

test.each([
  ["an object that makes no text", Object.create(null), "a thrown object"],
  ["a string", "disk", "disk"],
  ["nothing", undefined, "undefined"],
  ...hostile.map(([name, error]): [string, unknown, string] => [`an error ${name}`, error, textless]),
])("work that throws %s is released with what can be said of it", async (name, thrown, error) => {
  const jobId = await arrived(`mistake-thrown-${name}`);
  expect(await runOnce(ledger, { jobId }, () => Promise.reject(thrown))).toMatchObject({ outcome: "released", error });
  expect(await claimOf(jobId)).toMatchObject({ status: "released", error });
});

test.each(hostile)("a ledger's error %s costs the batch nothing but its own message", async (name, error) => {
  const jobIds = [await arrived(`mistake-batch-a ${name}`), await arrived(`mistake-batch-b ${name}`)];
  const binding = watched();
  const claim: typeof binding.claim = async (args) => {
    if (args.jobId === jobIds[0]) throw error;
    return await binding.claim(args);
  };
  const consuming = consumed(
    jobIds.map((jobId) => message(jobId)),
    fine,
    { ...binding, claim },
  );
  expect(Object.values(await settled(consuming))).toEqual(["ack", 30]);
});

test("a consumer that brings its event has sixty attempts like any other", async () => {
  const event = { type: "job.completed", body: "{}", source: "webhook" } as const;
  await runOnce(ledger, { jobId: "mistake-own-event", event }, fail);
  expect(await claimOf("mistake-own-event")).toMatchObject({ maxAttempts: 60 });
});
