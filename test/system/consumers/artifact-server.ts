// A web server for artifacts on loopback, scripted per path, for the tests of the archive. A path without a script is
// served by the simulator's rule: any path has bytes, always the same ones. Leaves out all of Sume's API.

import { createServer, type ServerResponse } from "node:http";
import { artifactBytes } from "../../local/sume/artifacts.ts";
import { closeServer, listen } from "../../support/tools/listen.ts";

/** One answer. By default status 200, the path's own bytes, with their content-length. */
export type Answer = {
  status?: number;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** No content-length. */
  chunked?: boolean;
  /** The connection is cut after so many bytes of the body. */
  cutAfter?: number;
};

export type ArtifactServer = {
  origin: string;
  /** Paths asked for, in order. */
  requests: string[];
  /** What the path's next requests are answered with; the last answer stays. */
  script(path: string, ...answers: [Answer, ...Answer[]]): void;
  close(): Promise<void>;
};

/** Listens on a free port. */
export async function startArtifactServer(): Promise<ArtifactServer> {
  const requests: string[] = [];
  const scripts = new Map<string, Answer[]>();
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    requests.push(path);
    const [answer = {}, ...later] = scripts.get(path) ?? [];
    if (later.length > 0) scripts.set(path, later);
    send(response, { body: artifactBytes(path), ...answer });
  });
  const port = await listen(server);
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    script: (path, ...answers) => scripts.set(path, answers),
    close: () => closeServer(server),
  };
}

function send(response: ServerResponse, answer: Answer & { body: Uint8Array }): void {
  const { status = 200, headers = {}, body, chunked = false, cutAfter } = answer;
  response.writeHead(status, chunked ? headers : { ...headers, "content-length": body.length });
  response.flushHeaders();
  if (cutAfter === undefined) response.end(body);
  else response.write(body.subarray(0, cutAfter), () => response.destroy());
}
