import type { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { atEnd } from "./at_end.ts";

/** Listens on a free port of 127.0.0.1, closes the server after the tests of the file, and returns the port. */
export async function listen(server: Server | HttpServer): Promise<number> {
  await new Promise<void>((opened) => server.listen(0, "127.0.0.1", opened));
  atEnd(() => {
    server.close();
    if ("closeAllConnections" in server) server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}
