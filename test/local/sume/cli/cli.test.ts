import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { startReceiver } from "../webhooks/scripted-receiver.ts";
import { SIGNATURE_HEADER, signatureHeader, TIMESTAMP_HEADER } from "../webhooks/sign.ts";
import { startSume } from "../simulator.ts";

const CLI = join(import.meta.dirname, "cli.ts");

/** Blank counts as unset: what the person who runs the tests has set must not reach the command line. */
const UNSET = {
  SUME_RECEIVER_URL: "",
  SUME_WEBHOOK_SECRET: "",
  SUME_API_URL: "",
  SUME_API_KEY: "",
  NODE_NO_WARNINGS: "1",
};

// Each test starts processes, which take long on a busy machine.
vi.setConfig({ testTimeout: 20_000 });

function start(args: readonly string[], env: Record<string, string> = {}, input = "") {
  const child = spawn(process.execPath, [CLI, ...args], { env: { ...process.env, ...UNSET, ...env }, stdio: "pipe" });
  child.stdin.end(input);
  return child;
}

async function run(args: readonly string[], env: Record<string, string> = {}, input = "") {
  const child = start(args, env, input);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { out, err, code };
}

describe("deliver", () => {
  it("prints a line for each attempt and exits 0 on a 2xx", async () => {
    await using receiver = await startReceiver(503, 202);
    const { out, err, code } = await run(["deliver", "--url", receiver.url, "--job", "job_a", "--delay", "0.01"]);
    const lines = out
      .replaceAll(/\d+ ms/g, "N ms")
      .trimEnd()
      .split("\n");
    expect([code, err]).toEqual([0, ""]);
    expect(lines).toEqual([
      expect.stringMatching(/^sending job_a, \d+ bytes, to http:/),
      "attempt 1  503  N ms  answer 1",
      "attempt 2  202  N ms  answer 2",
      "delivered job_a after 2 attempts",
    ]);
  });

  it("exits 1 when it gives up, and never prints a secret", async () => {
    await using receiver = await startReceiver(401);
    const { out, err, code } = await run(
      ["deliver", "--attempts", "1", "--secret", "hush-new", "--secret", "hush-old"],
      { SUME_RECEIVER_URL: receiver.url },
    );
    expect(code).toBe(1);
    expect(out).toMatch(/attempt 1 {2}401 .*\ngave up on job_[0-9a-f]{20} after 1 attempt\n$/);
    expect(out + err).not.toContain("hush");
    const [request] = receiver.received;
    const timestamp = String(request?.headers[TIMESTAMP_HEADER]);
    expect(request?.headers[SIGNATURE_HEADER]).toBe(
      signatureHeader(["hush-new", "hush-old"], timestamp, request?.body ?? ""),
    );
  });

  it("sends copies at once, with a flipped bit and a set timestamp", async () => {
    await using receiver = await startReceiver(200);
    const { out, code } = await run([
      "deliver",
      "--url",
      receiver.url,
      "--copies",
      "3",
      "--tamper",
      "--timestamp",
      "17",
      "--sample",
      "minimal",
    ]);
    expect([code, out.match(/^copy \d {2}delivered/gm)?.length]).toEqual([0, 3]);
    expect(receiver.received.map(({ headers }) => headers[TIMESTAMP_HEADER])).toEqual(["17", "17", "17"]);
    for (const { body, headers } of receiver.received) {
      expect(headers[SIGNATURE_HEADER]).not.toBe(signatureHeader(["sume-dev-secret"], 17, body));
    }
  });

  it.each([
    ["keeps the first signature", [], "17"],
    ["signs the second attempt anew when asked", ["--resign"], expect.stringMatching(/^\d{10,}$/)],
  ])("%s", async (_, more, second) => {
    await using receiver = await startReceiver(503, 200);
    await run(["deliver", "--url", receiver.url, "--delay", "0", "--timestamp", "17", ...more]);
    expect(receiver.received.map(({ headers }) => headers[TIMESTAMP_HEADER])).toEqual(["17", second]);
  });

  it("sends the bytes of standard input, with the artifacts' origin", async () => {
    await using receiver = await startReceiver(200);
    const args = ["deliver", "--url", receiver.url, "--body", "-", "--artifact-origin", "https://a.example:8/path"];
    const { out } = await run(args, { SUME_WEBHOOK_SECRET: "from-env" }, '{"u":"%ORIGIN%/x"}\r\n');
    const body = '{"u":"https://a.example:8/x"}\r\n';
    const [request] = receiver.received;
    const timestamp = String(request?.headers[TIMESTAMP_HEADER]);
    expect(out).toContain("sending standard input, 31 bytes");
    expect(request?.body.toString()).toBe(body);
    expect(request?.headers[SIGNATURE_HEADER]).toBe(signatureHeader(["from-env"], timestamp, body));
  });
});

describe("redeliver", () => {
  it("repeats the bytes that deliver sent", async () => {
    await using receiver = await startReceiver(200);
    const event = ["--url", receiver.url, "--job", "job_a", "--sample", "nested"];
    const codes = [(await run(["deliver", ...event])).code, (await run(["redeliver", ...event])).code];
    const [first, second] = receiver.received;
    expect(codes).toEqual([0, 0]);
    expect(first?.body.toString()).toContain('"job_id":"job_a"');
    expect(second?.body).toEqual(first?.body);
  });
});

describe("status", () => {
  it("prints the answer and exits 0 or 1 by it", async () => {
    const sume = await startSume({ apiKey: "key" });
    sume.createJob({ id: "job_a" });
    const env = { SUME_API_URL: `${sume.origin}/`, SUME_API_KEY: "key" };
    const [known, unknown] = await Promise.all([
      run(["status", "--job", "job_a"], env),
      run(["status", "--job", "job_b"], env),
    ]);
    await sume.close();
    const down = await run(["status", "--job", "job_a"], env);
    expect([known.code, known.out]).toEqual([0, '200  {"job_id":"job_a","status":"running"}\n']);
    expect([unknown.code, unknown.out.slice(0, 3)]).toEqual([1, "404"]);
    expect([down.code, down.err.split("\n").length]).toEqual([1, 2]);
  });
});

describe("serve", () => {
  it("serves until it is told to end", async () => {
    await using receiver = await startReceiver(202);
    const child = start(["serve", "--port", "0", "--url", receiver.url]);
    const ended = once(child, "exit");
    const lines: string[] = [];
    try {
      for await (const line of createInterface(child.stdout)) {
        lines.push(line);
        const [, origin] = /^serving on (\S+),/.exec(line) ?? [];
        if (origin !== undefined) await fetch(`${origin}/control/jobs`, { method: "POST", body: '{"job_id":"job_a"}' });
        if (line.startsWith("job_a")) break;
      }
    } finally {
      child.kill("SIGTERM");
    }
    expect(lines.at(-1)).toMatch(/^job_a {2}attempt 1 {2}202 .* answer 1$/);
    expect(await ended).toEqual([0, null]);
  });

  it("says in one line that its port is taken", async () => {
    const sume = await startSume();
    const { port } = new URL(sume.origin);
    const { err, code } = await run(["serve", "--port", port]);
    await sume.close();
    expect([code, err]).toEqual([
      1,
      `sume: port ${port} is taken: end the program that has it, or choose another with --port\n`,
    ]);
  });
});

describe("usage", () => {
  it("helps", async () => {
    const { out, code } = await run(["help"]);
    expect([code, out.startsWith("Usage: npm run sume -- <command>")]).toEqual([0, true]);
  });

  it.each([
    [[]],
    [["deliver", "hush"]],
    [["redeliver"]],
    [["deliver", "--secret", "hush", "--url", "http://u:hush@x/"]],
  ])("exits 2 for %j, with one line that repeats no value", async (args) => {
    const { out, err, code } = await run(args);
    expect([code, out, err.split("\n").length]).toEqual([2, "", 2]);
    expect(err).toMatch(/^sume: /);
    expect(err).not.toContain("hush");
  });
});
