/** Finds ports for servers on this machine. */

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const returnedPorts = new Set<number>();

/**
 * Returns a free port that was not returned before. The port is below the ephemeral range, where a client that retries a
 * stopped server's port can connect to itself.
 *
 * @throws {Error} if none of a hundred random ports is free and new
 */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(15_000, 32_000);
    if (returnedPorts.has(port) || await isInUse({ host, port })) continue;
    returnedPorts.add(port);
    return port;
  }
  throw new Error(`No free port between 15000 and 32000 on ${host}`);
}

/** Returns whether another program listens there. Other faults of an address are left for the server to report. */
export function isInUse(address: { readonly host: string; readonly port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "EADDRINUSE"));
    server.listen({ ...address, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
