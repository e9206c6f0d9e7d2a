import { describe, expect, it } from "vitest";
import { deliverOptions, serveOptions, statusOptions, UsageError } from "./cli-options.ts";

const COMMANDS = {
  deliver: (args: string[]) => deliverOptions(args, {}, false),
  redeliver: (args: string[]) => deliverOptions(args, {}, true),
  serve: (args: string[]) => serveOptions(args, {}),
  status: (args: string[]) => statusOptions(args, {}),
};

const bytes = (...args: string[]) => Buffer.from(deliverOptions(args, {}, false).body).toString();

describe("a wrong call", () => {
  it.each<[keyof typeof COMMANDS, string[], string]>([
    ["redeliver", [], "name its job with --job ID"],
    ["status", [], "add --job ID"],
    ["deliver", ["hush"], "a word that belongs to no option"],
    ["deliver", ["--port", "1"], "Unknown option '--port'"],
    ["deliver", ["--job"], "--job is a flag without a value, or misses one"],
    ["deliver", ["--timestamp", "-1"], "--name=-1"],
    ["deliver", ["--url", "ftp://x/"], "--url must be an http or https URL"],
    ["deliver", ["--url", "http://u:hush@x/"], "--url must not carry a user or password"],
    ["deliver", ["--secret", ""], "a --secret is empty"],
    ["deliver", ["--sample", "none"], "--sample must be one of video, images"],
    ["deliver", ["--body", "x", "--job", "y"], "leave out --job, --event and --sample"],
    ["deliver", ["--body", "/nonexistent"], "--body cannot be read (ENOENT)"],
    ["deliver", ["--tamper", "--body", "/dev/null"], "--tamper needs a body"],
    ["deliver", ["--attempts", "0"], "--attempts must be a whole number from 1 to 1000"],
    ["deliver", ["--copies", "1001"], "--copies must be a whole number from 1 to 1000"],
    ["deliver", ["--delay", "3601"], "--delay must be seconds from 0 to 3600"],
    ["deliver", ["--timeout", "0"], "--timeout must be seconds from 0.001 to 3600"],
    ["serve", ["--port", "65536"], "--port must be a whole number from 0 to 65535"],
    ["status", ["--job", "a", "--api-key", "a b"], "the API key must be printable ASCII"],
    ["deliver", ["--timestamp", ""], "--timestamp must be text for a header"],
    ["deliver", ["--job", ""], "--job is empty"],
    ["deliver", ["--copies", "1.5"], "--copies must be a whole number"],
    ["deliver", ["--delay", "1e3"], "--delay must be seconds"],
  ])("%s %j is refused in one line that says what to do", (command, args, message) => {
    const call = () => COMMANDS[command](args);
    expect(call).toThrow(UsageError);
    expect(call).toThrow(message);
    expect(call).not.toThrow(/hush|\n/);
  });
});

describe("a right call", () => {
  it("at the limits passes", () => {
    const args = ["--attempts", "1000", "--copies", "1000", "--delay", "0", "--timeout", "3600"];
    expect(deliverOptions(args, {}, false)).toMatchObject({
      copies: 1000,
      policy: { attempts: 1000, delayMs: 0, timeoutMs: 3_600_000 },
    });
  });

  it("has defaults for development", () => {
    expect(deliverOptions([], {}, false)).toMatchObject({
      url: "http://127.0.0.1:8787/webhooks/sume",
      secrets: ["sume-dev-secret"],
      policy: {},
      copies: 1,
      tamper: false,
    });
    expect(serveOptions([], {})).toMatchObject({ port: 8788, apiKey: "sume-dev-key" });
    expect(statusOptions(["--job", "a"], {})).toMatchObject({ apiUrl: "http://127.0.0.1:8788", timeoutMs: 10_000 });
  });

  it("takes the environment before the defaults, and an option before both; a blank variable counts as unset", () => {
    const env = { SUME_RECEIVER_URL: "https://r.example/", SUME_WEBHOOK_SECRET: "s", SUME_API_KEY: "k" };
    expect(serveOptions([], env)).toMatchObject({ url: "https://r.example/", secrets: ["s"], apiKey: "k" });
    expect(serveOptions(["--secret", "b", "--secret", "a"], env)).toMatchObject({ secrets: ["b", "a"] });
    expect(serveOptions([], { SUME_WEBHOOK_SECRET: "" })).toMatchObject({ secrets: ["sume-dev-secret"] });
  });

  it("signs each attempt anew only when asked", () => {
    expect(deliverOptions(["--resign"], {}, false)).toMatchObject({ policy: { resign: true } });
    expect(serveOptions(["--resign"], {})).toMatchObject({ policy: { resign: true } });
    expect(serveOptions([], {}).policy).toEqual({});
  });

  it("makes the same bytes from the same names, and a fresh job without one", () => {
    expect(bytes("--job", "a", "--sample", "images")).toBe(bytes("--sample", "images", "--job", "a"));
    expect(bytes("--sample", "failed", "--job", "a")).toMatch(/^{"event":"job.failed","job_id":"a",/);
    expect(bytes("--sample", "failed", "--job", "a", "--event", "job.x")).toMatch(/^{"event":"job.x",/);
    expect(bytes()).not.toBe(bytes());
  });
});
