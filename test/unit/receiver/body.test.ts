// Reading a body: whole at every size and in pieces of any, behind its prefix, and held only as it comes.

import { describe, expect, test } from "vitest";
import { readBody } from "../../../receiver/src/body.ts";

const KIB = 1_024;
const PREFIX = new TextEncoder().encode("1700000000.");

type Given = {
  /** The content-length; `null`: none. The body's own when left out. */
  declared?: string | null;
  /** Bytes that come at a time. */
  piece?: number;
};

/** A request with that body, and the sizes of the buffers that were held out to it. */
function request(body: Uint8Array, { declared = String(body.length), piece = 10_000 }: Given = {}) {
  const buffers = new Set<number>();
  let sent = 0;
  const stream = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const into = controller.byobRequest?.view;
      if (sent === body.length) {
        controller.close();
        controller.byobRequest?.respond(0);
        return;
      }
      const next = body.subarray(sent, sent + Math.min(piece, into?.byteLength ?? piece));
      sent += next.length;
      if (into === null || into === undefined) return controller.enqueue(next);
      buffers.add(into.buffer.byteLength - PREFIX.length);
      new Uint8Array(into.buffer, into.byteOffset).set(next);
      controller.byobRequest?.respond(next.length);
    },
  });
  const headers: Record<string, string> = declared === null ? {} : { "content-length": declared };
  return { request: new Request("https://receiver/", { method: "POST", body: stream, headers }), buffers };
}

/** No two neighbours are the same, so that a piece in the wrong place is seen. */
const bytes = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

describe("a body of declared length", () => {
  test.each([1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 256 * KIB, 256 * KIB + 1, 1_024 * KIB])(
    "%i bytes: whole, behind its prefix",
    async (length) => {
      const body = bytes(length);
      const read = await readBody(request(body).request, PREFIX);
      expect(Buffer.compare(read ?? PREFIX, Buffer.concat([PREFIX, body]))).toBe(0);
    },
  );

  test("nothing: its prefix alone", async () => {
    expect(await readBody(new Request("https://receiver/", { method: "POST" }), PREFIX)).toEqual(PREFIX);
    expect(await readBody(request(bytes(0)).request, PREFIX)).toEqual(PREFIX);
  });

  test("a megabyte that is only announced: no more than 64 KiB are held for it", async () => {
    const { request: announced, buffers } = request(bytes(1), { declared: String(1_024 * KIB) });
    expect(await readBody(announced, PREFIX)).toEqual(Uint8Array.of(...PREFIX, 0));
    expect([...buffers]).toEqual([64 * KIB]);
  });

  test("a megabyte: held in steps", async () => {
    const { request: large, buffers } = request(bytes(1_024 * KIB));
    await readBody(large, PREFIX);
    expect([...buffers]).toEqual([64 * KIB, 256 * KIB, 1_024 * KIB]);
  });

  test("one byte over 1 MiB: refused, nothing is read", async () => {
    const { request: long, buffers } = request(bytes(1), { declared: String(1_024 * KIB + 1) });
    expect(await readBody(long, PREFIX)).toBeNull();
    expect([...buffers]).toEqual([]);
  });
});

describe("a body of unknown length", () => {
  test.each([
    ["in small pieces, to the edge of a buffer", 100, 64 * KIB],
    ["in small pieces, over the edge of a buffer", 100, 64 * KIB + 1],
    ["in large pieces", 60_000, 1_024 * KIB],
  ])("%s: whole, behind its prefix", async (_, piece, length) => {
    const body = bytes(length);
    const read = await readBody(request(body, { declared: null, piece }).request, PREFIX);
    expect(Buffer.compare(read ?? PREFIX, Buffer.concat([PREFIX, body]))).toBe(0);
  });

  test("in one-byte pieces: whole, behind its prefix, read into two buffers; no piece is kept", async () => {
    const body = bytes(64 * KIB + 10);
    const { request: small, buffers } = request(body, { declared: null, piece: 1 });
    const read = await readBody(small, PREFIX);
    expect(Buffer.compare(read ?? PREFIX, Buffer.concat([PREFIX, body]))).toBe(0);
    expect([...buffers]).toEqual([64 * KIB, 256 * KIB]);
  });

  test("nothing: its prefix alone", async () => {
    expect(await readBody(request(bytes(0), { declared: null }).request, PREFIX)).toEqual(PREFIX);
  });

  test("one byte over 1 MiB, and far over it: refused, and no more than that one byte is held", async () => {
    for (const length of [1_024 * KIB + 1, 3_000 * KIB]) {
      const { request: long, buffers } = request(bytes(length), { declared: null });
      expect(await readBody(long, PREFIX)).toBeNull();
      expect([...buffers]).toEqual([64 * KIB, 256 * KIB, 1_024 * KIB + 1]);
    }
  });

  test.each(["-1", "abc", "1e3", ""])("a length that is none (%j): the same", async (declared) => {
    expect(await readBody(request(bytes(3), { declared }).request, PREFIX)).toEqual(Uint8Array.of(...PREFIX, 0, 1, 2));
  });
});
