// Row 43, bodies that come in one-byte chunks, from anybody, many at once; and bodies that break off. They are sent
// straight to the runtime: the proxy in front of it takes ten times as long to pass small chunks on, and does not pass
// on a broken one. The runtime's port and memory are read from outside, so this needs Linux.

import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { descendants, isNamed, type Process, processOf, residentMiB } from "../../support/tools/processes.ts";
import { type Stack, startStack, until } from "../../support/stack/stack.ts";
import { TIMESTAMP_HEADER, SIGNATURE_HEADER } from "../../local/sume/webhooks/sign.ts";
import { FORGED, jobObjects, now } from "./requests.ts";

const BODY_BYTES = 256 * 1_024;
const AT_ONCE = 20;
/** MiB that 20 requests may take beside their bodies. When each chunk kept a page they took 1,400. */
const A_LITTLE_MIB = 100;

/** In /proc/net/tcp. */
const LISTENING = "0A";

const onLinux = process.platform === "linux";
let stack: Stack;
let runtime: { process: Process; port: number };
beforeAll(async () => {
  if (!onLinux) return;
  stack = await startStack();
  runtime = findRuntime();
}, 60_000);
afterAll(() => stack?.close());

/** The runtime below this program that is not the proxy which the harness puts in front of it. */
function findRuntime(): typeof runtime {
  const self = processOf(process.pid);
  const proxyPort = Number(new URL(stack.webhookUrl).port);
  const found = (self === null ? [] : descendants(self))
    .filter((each) => isNamed(each, "workerd"))
    .flatMap((each) => listensAt(each).map((port) => ({ process: each, port })))
    .filter(({ port }) => port !== proxyPort);
  const [only, another] = found;
  if (only === undefined || another !== undefined) throw new Error(`${found.length} ports of the runtime, not one`);
  return only;
}

/** The ports at which the process listens. */
function listensAt({ pid }: Process): number[] {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)));
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTENING && open.has(`socket:[${fields[9]}]`))
    .map((fields) => Number.parseInt(fields[1]?.split(":")[1] ?? "", 16));
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // closed meanwhile
  }
}

/** A connection on which the head of an unsigned delivery was sent. */
function begin(length: string): Socket {
  const socket = connect(runtime.port, "127.0.0.1");
  socket.write(
    `POST /webhooks/sume HTTP/1.1\r\nhost: receiver\r\n${length}\r\n` +
      `${TIMESTAMP_HEADER}: ${now()}\r\n${SIGNATURE_HEADER}: ${FORGED}\r\n\r\n`,
  );
  return socket;
}

async function inOneByteChunks(): Promise<number> {
  const socket = begin("transfer-encoding: chunked");
  socket.write(`${"1\r\nx\r\n".repeat(BODY_BYTES)}0\r\n\r\n`);
  const [answer] = await once(socket, "data");
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(String(answer))?.[1]);
}

describe.skipIf(!onLinux)("#43 a body of 256 KiB in one-byte chunks, unsigned", () => {
  it("is read to its end: 401, nothing claimed", async () => {
    const before = await jobObjects(stack);
    expect(await inOneByteChunks()).toBe(401);
    expect(await jobObjects(stack)).toEqual(before);
  });

  it("20 at once: memory grows by their lengths and a little", async () => {
    const before = residentMiB(runtime.process) ?? Number.NaN;
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, inOneByteChunks));
    // A busy machine may not read them all in the time that an answer has.
    expect(statuses.filter((status) => status !== 401 && status !== 408)).toEqual([]);
    const grown = (residentMiB(runtime.process) ?? Number.NaN) - before;
    expect(grown).toBeLessThan((AT_ONCE * BODY_BYTES) / 1_048_576 + A_LITTLE_MIB);
  });
});

describe.skipIf(!onLinux)("a body that breaks off", () => {
  it.each([
    ["short of its content-length", "content-length: 100", '{"job'],
    ["between its chunks", "transfer-encoding: chunked", '5\r\n{"job\r\n'],
    ["within a chunk", "transfer-encoding: chunked", '9\r\n{"job'],
  ])("%s: 408, nothing claimed", async (_, length, part) => {
    const before = await jobObjects(stack);
    const logged = stack.logs().length;
    const socket = begin(length);
    socket.end(part);
    const line = await until("its line", () => stack.logs()[logged]);
    expect(line).toMatchObject({ event: "delivery", level: "info", outcome: "body_incomplete", status: 408 });
    expect(await jobObjects(stack)).toEqual(before);
    socket.destroy();
  });
});
