/**
 * Keeps what the client of a failed connection still sends out of other clients' requests.
 *
 * @module
 */

import type { Socket } from "node:net";

/**
 * Has nothing more of a connection read by the HTTP parser that gave up on it. Deno 2.9.6 gives that parser to the next
 * connection and goes on to hand it what the first one sends; Node keeps it until the connection is closed.
 */
export function leaveParser(socket: Socket): void {
  if (!leavesParser) return;
  socket.removeAllListeners("data");
  socket.removeAllListeners("end");
  // Without a reader the end of the connection would not be seen.
  socket.resume();
}

/** Whether a connection on which a request failed can read no further one. */
export const leavesParser = "Deno" in globalThis;
