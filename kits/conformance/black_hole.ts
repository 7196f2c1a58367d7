/**
 * A port that never answers the first packet of connecting, as a firewall that drops would do.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { answers } from "./server.ts";

/** Listens with the shortest of queues in a process that is then stopped. */
const listener = `
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("node:fs").writeSync(1, String(server.address().port));
  });
`;

/** A port, and what ends it. */
export interface BlackHole {
  readonly port: number;
  close(): void;
}

/**
 * Opens one: the queue of a listener that accepts nobody is filled until the kernel drops who comes next.
 *
 * @throws {Error} when the kernel goes on answering
 */
export async function openBlackHole(): Promise<BlackHole> {
  const child = spawn(process.execPath, ["-e", listener], { stdio: ["pipe", "pipe", "inherit"] });
  const [text] = await once(child.stdout, "data");
  const port = Number(String(text));
  child.kill("SIGSTOP");
  const sockets: Socket[] = [];
  const close = () => {
    for (const socket of sockets) socket.destroy();
    child.kill("SIGKILL");
  };
  // The kernel lets one more in than it was told, or two. Who waits for a second long is not let in.
  for (let tries = 0; tries < 16; tries += 1) {
    const { connected, socket } = await answers(port, 1000);
    sockets.push(socket);
    if (!connected) return { port, close };
  }
  close();
  throw new Error("Connections are let in although nobody accepts them");
}
