// The request to PostgreSQL to give up what a connection is doing, over a connection of its own.

import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { type ServerAt, socketPath } from "./address.ts";

// Its message is sixteen bytes; a server that is there takes them at once.
const cancelTimeoutMs = 2_000;

/**
 * Asks a server to cancel the statement of one of its backends; resolves when it has taken the request, or cannot be
 * reached. Without TLS, which PostgreSQL takes whatever it demands of logins: there is nothing in it but the two numbers.
 * The other side closes the connection when it has passed the signal on.
 */
export function cancelBackend(
  server: ServerAt,
  { pid, secret }: { pid: number; secret: number },
): Promise<void> {
  const message = Buffer.alloc(16);
  message.writeUInt32BE(16, 0);
  message.writeUInt32BE(80_877_102, 4);
  message.writeUInt32BE(pid, 8);
  message.writeUInt32BE(secret, 12);
  const path = socketPath(server);
  const socket = connect(path === null ? server : { path });
  socket.unref();
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy());
  socket.on("error", () => {});
  const closed = new Promise<void>((settle) => socket.once("close", () => settle()));
  // Not ended by us: a pooler takes that for a client who gave up.
  socket.write(message);
  socket.resume();
  return closed;
}
