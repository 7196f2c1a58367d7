/** Ports for servers on this machine. */

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const given = new Set<number>();

/**
 * A free port of 127.0.0.1 that this process has not been given before. It is below the ephemeral range, where a client
 * that retries a stopped server's port can connect to itself.
 *
 * @throws {Error} after a hundred ports in use
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(15_000, 32_000);
    if (given.has(port)) continue;
    const isFree = await new Promise<boolean>((settle) => {
      const server = createServer().once("error", () => settle(false));
      server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => settle(true)));
    });
    if (!isFree) continue;
    given.add(port);
    return port;
  }
  throw new Error("No free port between 15000 and 32000 on 127.0.0.1");
}
