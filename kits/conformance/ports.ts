/**
 * Ports without a server: one that never answers the first packet of connecting, as a firewall that drops would do, and one that
 * refuses.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Listens with the shortest of queues in a process that is then stopped. */
const listener = `
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("node:fs").writeSync(1, String(server.address().port));
  });
`;

/** A port, and what ends it. */
interface ReservedPort {
  readonly port: number;
  close(): void;
}

/**
 * Opens a port that never answers: fills the queue of a stopped listener until the kernel drops further connections.
 *
 * @throws {Error} if the kernel keeps accepting connections
 */
export async function openBlackHole(): Promise<ReservedPort> {
  const child = spawn(process.execPath, ["-e", listener], { stdio: ["pipe", "pipe", "inherit"] });
  const [text] = await once(child.stdout, "data");
  const port = Number(String(text));
  child.kill("SIGSTOP");
  const sockets: Socket[] = [];
  const close = () => {
    for (const socket of sockets) socket.destroy();
    child.kill("SIGKILL");
  };
  // The kernel accepts one or two connections more than the backlog. Those that wait for a second are not accepted.
  for (let tries = 0; tries < 16; tries += 1) {
    const { connected, socket } = await answers(port, 1000);
    sockets.push(socket);
    if (!connected) return { port, close };
  }
  close();
  throw new Error("The kernel keeps accepting connections for a stopped listener");
}

/** Whether a connection comes about within a time. */
async function answers(
  port: number,
  withinMs: number,
): Promise<{ connected: boolean; socket: Socket }> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  const connected = await new Promise<boolean>((settle) => {
    const timer = setTimeout(() => settle(false), withinMs);
    socket.once("connect", () => {
      clearTimeout(timer);
      settle(true);
    });
  });
  return { connected, socket };
}

/**
 * Reserves a port that refuses connections: that of the client's end of a connection. No server gets it before `close`, as it
 * would get one that was merely free a moment ago.
 */
export async function openRefusingPort(): Promise<ReservedPort> {
  const server = createServer();
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const accepted = once(server, "connection");
  const client = connect((server.address() as { port: number }).port, "127.0.0.1");
  await Promise.all([accepted, once(client, "connect")]);
  const close = () => {
    client.destroy();
    server.close();
  };
  return { port: client.localPort as number, close };
}
