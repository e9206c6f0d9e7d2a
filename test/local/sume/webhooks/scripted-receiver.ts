// A receiver for the simulator's own tests: a real server that answers as scripted and keeps what it got.
// Called by the tests in this folder.
// Leaves out everything that the project's receiver does: nothing is verified here.

import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";

/** A status to answer with, a place to redirect to, `cut` to end the connection without an answer, or `hang` for none. */
type Answer = number | "redirect" | "cut" | "hang";

interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface ScriptedReceiver {
  readonly url: string;
  /** Requests, read to their end, oldest first. */
  readonly received: readonly Received[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a receiver that gives these answers in turn, and the last one for ever. */
export async function startReceiver(...answers: readonly [Answer, ...Answer[]]): Promise<ScriptedReceiver> {
  const received: Received[] = [];
  const server = createServer();
  server.on("request", ({ method, headers }, response) => {
    const take = (body: Buffer) => {
      const answer = answers[received.length] ?? answers.at(-1);
      received.push({ method, headers, body });
      if (answer === "cut") response.destroy();
      else if (answer === "redirect") response.writeHead(302, { location: "/elsewhere" }).end();
      else if (typeof answer === "number") response.writeHead(answer).end(`answer ${received.length}`);
    };
    buffer(response.req).then(take, () => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/webhooks/sume`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
