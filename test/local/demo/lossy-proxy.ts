// A network that loses answers. It passes requests on to a target. Of the first `losses` answers it cuts the connection
// instead, after the target has done its work.

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { closeServer, listen } from "../../support/tools/listen.ts";

export type LossyProxy = AsyncDisposable & { url: string };

/** Listens on a free loopback port. */
export async function startLossyProxy(target: string, losses: number): Promise<LossyProxy> {
  let left = losses;
  const server = createServer((request, response) => {
    void (async () => {
      const headers = Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value === "string" && !["host", "connection", "content-length"].includes(name) ? [[name, value]] : [],
      );
      const body = new Uint8Array(await buffer(request));
      const answer = await fetch(target, { method: "POST", headers: Object.fromEntries(headers), body });
      const text = await answer.text();
      if (left-- > 0) request.socket.destroy();
      else response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(text);
    })().catch(() => request.socket.destroy());
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}
