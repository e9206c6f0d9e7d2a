import { describe, expect, it } from "vitest";
import { isSampleName, SAMPLE_NAMES, sampleEvent, samplePayload, withOrigin } from "./payloads.ts";

describe("samplePayload", () => {
  it.each(SAMPLE_NAMES)("%s is JSON with the two documented fields", (name) => {
    const parsed: unknown = JSON.parse(samplePayload(name, "job_a"));
    expect(parsed).toMatchObject({ job_id: "job_a", event: sampleEvent(name) });
  });

  it("is the same text each time, with the event type that the caller names", () => {
    expect(samplePayload("minimal", "job_a", "job.canceled")).toBe('{"event":"job.canceled","job_id":"job_a"}');
    expect(samplePayload("video", "job_a")).toBe(samplePayload("video", "job_a"));
  });

  it("keeps numbers and characters that a round trip would change", () => {
    const text = samplePayload("nested", "job_a");
    for (const trait of ["12345678901234567890", "1e20", "\\u2028", "\u2028", "🎬"]) expect(text).toContain(trait);
  });

  it.each(['a"b\\', "a/b?c#d", "a\ud800b"])("takes any job id (%j)", (id) => {
    for (const name of SAMPLE_NAMES) expect(JSON.parse(samplePayload(name, id))).toMatchObject({ job_id: id });
  });

  it("knows its names", () => {
    expect([isSampleName("video"), isSampleName("toString"), isSampleName("")]).toEqual([true, false, false]);
  });
});

describe("withOrigin", () => {
  it("replaces every mark and no other byte", () => {
    const bytes = Buffer.concat([Uint8Array.of(0xef, 0xbb, 0xbf, 0xff), Buffer.from("%ORIGIN%/a %ORIGIN%/é\r\n")]);
    const expected = Buffer.concat([
      Uint8Array.of(0xef, 0xbb, 0xbf, 0xff),
      Buffer.from("http://h:1/a http://h:1/é\r\n"),
    ]);
    expect(Buffer.from(withOrigin(bytes, "http://h:1")).equals(expected)).toBe(true);
    expect(Buffer.from(withOrigin("🎬%ORIGIN%", "http://h:1")).toString()).toBe("🎬http://h:1");
  });
});
