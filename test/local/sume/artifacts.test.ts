import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { artifactBytes } from "./artifacts.ts";
import { startSume } from "./simulator.ts";
import type { Sume } from "./simulator.ts";

let sume: Sume;
beforeAll(async () => {
  sume = await startSume();
});
afterAll(() => sume.close());

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const get = (path: string, init?: RequestInit) => fetch(sume.origin + path, { redirect: "manual", ...init });

describe("artifactBytes", () => {
  // From `openssl enc -aes-128-ctr` over zeros, with the first half of the path's SHA-256 as key.
  it("is the path's own key stream", () => {
    const bytes = artifactBytes("/job_a/cut.mp4", 100_000);
    expect(sha256(bytes)).toBe("e8683bf3062b4904cc9f2bdd47088b1b52d9cd0c6bf24c191a5c8a3dcdddbeb9");
  });

  it("has a length of its own; a shorter one is a prefix", () => {
    const bytes = artifactBytes("/job_a/cut.mp4");
    expect(bytes).toHaveLength(8636);
    expect(artifactBytes("/job_a/cut.mp4", 100)).toEqual(bytes.slice(0, 100));
    expect(artifactBytes("/job_a/other.mp4", 100)).not.toEqual(bytes.slice(0, 100));
  });
});

describe("artifacts", () => {
  it.each([
    ["cut.mp4", "video/mp4"],
    ["poster.JPG", "image/jpeg"],
    ["0.png", "image/png"],
    ["a.b.txt", "text/plain; charset=utf-8"],
    ["noextension", "application/octet-stream"],
  ])("serves %s as %s, with its length", async (name, type) => {
    const response = await get(`/job_a/${name}`);
    const bytes = await response.bytes();
    expect(bytes).toEqual(artifactBytes(`/job_a/${name}`));
    expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
    expect(response.headers.get("content-length")).toBe(`${bytes.length}`);
  });

  it.each([0, 1, 65_536, 65_537, 300_000])("serves %i bytes, also without a length", async (length) => {
    const plain = await get(`/job_a/x.png?bytes=${length}`);
    const chunked = await get(`/job_a/x.png?bytes=${length}&chunked=1`);
    expect([plain.headers.get("content-length"), chunked.headers.get("content-length")]).toEqual([`${length}`, null]);
    const expected = sha256(artifactBytes("/job_a/x.png", length));
    expect([sha256(await plain.bytes()), sha256(await chunked.bytes())]).toEqual([expected, expected]);
  });

  it("answers with the status or the redirect asked for, after the delay", async () => {
    const started = performance.now();
    expect((await get("/job_a/x.png?status=503&delay=20")).status).toBe(503);
    expect(performance.now() - started).toBeGreaterThan(15);
    const redirect = await get(`/job_a/x.png?redirect=${encodeURIComponent("http://127.0.0.1:1/y?z=1")}`);
    expect([redirect.status, redirect.headers.get("location")]).toEqual([302, "http://127.0.0.1:1/y?z=1"]);
  });

  it("answers HEAD without a body and refuses other methods", async () => {
    const head = await get("/job_a/x.png?bytes=5", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "5", ""]);
    expect((await get("/job_a/x.png", { method: "PUT" })).status).toBe(405);
  });

  it.each(["bytes=1073741825", "bytes=-1", "bytes=", "status=199", "status=600", "delay=600001", "delay=x"])(
    "refuses ?%s",
    async (query) => {
      expect((await get(`/job_a/x.png?${query}`)).status).toBe(400);
    },
  );
});
