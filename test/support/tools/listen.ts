// Starting and ending a program's HTTP server on loopback.

import type { Server } from "node:http";

/** Listens on 127.0.0.1, at a free port for 0, and says at which. @throws the error of `listen`, as `EADDRINUSE`. */
export function listen(server: Server, port = 0): Promise<number> {
  return new Promise((done, fail) => {
    server.once("error", fail);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", fail);
      const address = server.address();
      if (address !== null && typeof address === "object") done(address.port);
      else fail(new Error("the server has no port"));
    });
  });
}

/** Ends the server and every connection to it. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((done) => {
    server.closeAllConnections();
    server.close(() => done());
  });
}
