// Reading a body of declared length: whole at every size, behind what comes before it, and held only as it comes.

import { describe, expect, test } from "vitest";
import { readBody } from "../../../receiver/src/body.ts";

const KIB = 1_024;
const BEFORE = new TextEncoder().encode("1700000000.");

/** A request with that body, in pieces of `piece` bytes, and the sizes of the buffers that were held out to it. */
function request(body: Uint8Array, { declared = String(body.length), piece = 10_000 } = {}) {
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
      buffers.add(into.buffer.byteLength - BEFORE.length);
      new Uint8Array(into.buffer, into.byteOffset).set(next);
      controller.byobRequest?.respond(next.length);
    },
  });
  const headers = { "content-length": declared };
  return { request: new Request("https://receiver/", { method: "POST", body: stream, headers }), buffers };
}

/** No two neighbours are the same, so that a piece in the wrong place is seen. */
const bytes = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

describe("a body of declared length", () => {
  test.each([1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 256 * KIB, 256 * KIB + 1, 1_024 * KIB])(
    "%i bytes: whole, behind what comes before it",
    async (length) => {
      const body = bytes(length);
      const read = await readBody(request(body).request, BEFORE);
      expect(Buffer.compare(read ?? BEFORE, Buffer.concat([BEFORE, body]))).toBe(0);
    },
  );

  test("nothing: what comes before it alone", async () => {
    expect(await readBody(new Request("https://receiver/", { method: "POST" }), BEFORE)).toEqual(BEFORE);
    expect(await readBody(request(bytes(0)).request, BEFORE)).toEqual(BEFORE);
  });

  test("a megabyte that is only announced: no more than 64 KiB are held for it", async () => {
    const { request: announced, buffers } = request(bytes(1), { declared: String(1_024 * KIB) });
    expect(await readBody(announced, BEFORE)).toEqual(Uint8Array.of(...BEFORE, 0));
    expect([...buffers]).toEqual([64 * KIB]);
  });

  test("a megabyte: held in steps", async () => {
    const { request: large, buffers } = request(bytes(1_024 * KIB));
    await readBody(large, BEFORE);
    expect([...buffers]).toEqual([64 * KIB, 256 * KIB, 1_024 * KIB]);
  });

  test("one byte over 1 MiB: refused", async () => {
    expect(await readBody(request(bytes(1), { declared: String(1_024 * KIB + 1) }).request, BEFORE)).toBeNull();
  });

  test.each(["-1", "abc", "1e3", ""])("a length that is none (%j): counted", async (declared) => {
    expect(await readBody(request(bytes(3), { declared }).request, BEFORE)).toEqual(Uint8Array.of(...BEFORE, 0, 1, 2));
  });
});
