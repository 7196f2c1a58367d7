/** Finds ports for servers on this machine. */

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const returnedPorts = new Set<number>();

/**
 * Returns a free port on 127.0.0.1 that was not returned before. The port is below the ephemeral range, where a client
 * that retries a stopped server's port can connect to itself.
 *
 * @throws {Error} if none of a hundred random ports is free and new
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(15_000, 32_000);
    if (returnedPorts.has(port)) continue;
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer().once("error", () => resolve(false));
      server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
    });
    if (!isFree) continue;
    returnedPorts.add(port);
    return port;
  }
  throw new Error("No free port between 15000 and 32000 on 127.0.0.1");
}
