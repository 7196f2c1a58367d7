/**
 * Answers on a connection of Node's servers where there is no exchange to answer with: what the parser gave
 * up on, CONNECT, and a fault of our own before the exchange was made.
 *
 * @module
 */

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Reply } from "../exchange.ts";
import type { RefusalStatus } from "../options.ts";
import { headersOf } from "../reply.ts";
import type { Connections } from "./connections.ts";
import type { Edge } from "./edge.ts";
import type { ServerConnection } from "./server_connection.ts";

/**
 * Has nothing more of a connection read by the HTTP parser that gave up on it. Deno 2.9.6 gives that parser to the next
 * connection and goes on to hand it what the first one sends; Node keeps it until the connection is closed.
 */
function leaveParser(socket: Socket): void {
  if (!leavesParser) return;
  socket.removeAllListeners("data");
  socket.removeAllListeners("end");
  // Without a reader the end of the connection would not be seen.
  socket.resume();
}

/** Whether a connection on which a request failed can read no further one. */
const leavesParser = "Deno" in globalThis;

/** The parser has given up on a connection, or Node's time bound for headers has passed. */
export function clientError(connections: Connections, error: NodeJS.ErrnoException, socket: Socket): void {
  leaveParser(socket);
  const connection = connections.find(socket);
  const status = statusOf(error);
  if (connection === undefined || status === null || !socket.writable) {
    // A failed handshake, a reset, or a client that has gone.
    socket.destroy();
    return;
  }
  // The time is ours, not the client's.
  if (status === 408 && connection.turns?.isPaused && !leavesParser) return;
  if (connection.hasFailed) return;
  connection.fail();
  const { open } = connection;
  if (connection.waiting > 0) {
    connection.turns?.fail(status);
  } else if (open === null) {
    if (status === 408 && socket.bytesRead === 0) socket.destroy();
    else refuseSocket(connections, connection, status);
  } else if (error.code === "HPE_INVALID_EOF_STATE") {
    // The client went away in the middle of a body.
    open.destroy();
  } else if (!open.isComplete) {
    // Its own body is what is malformed.
    open.send(connections.edge.refuse(status, open.requestId));
  }
}

/**
 * CONNECT over HTTP/1: this is no proxy. Node has taken the parser and its listeners off the socket and hands
 * it over bare; answers to what came before are still owed, and the last of them closes it.
 */
export function connectRequested(connections: Connections, socket: Socket): void {
  const connection = connections.find(socket);
  if (connection === undefined) {
    socket.destroy();
    return;
  }
  connection.fail();
  // What follows is thrown away; without a reader the end of the connection would not be seen either.
  socket.resume();
  if (connection.open === null) refuseSocket(connections, connection, 400);
}

/** Answers 503 to a request for which no exchange could be made. Throws when that cannot be written either. */
export function refuseUnmade(edge: Edge, response: ServerResponse): void {
  // Making an id may be what failed.
  const requestId = "-";
  const reply = edge.refuse(503, requestId);
  const { headers } = headersOf(reply, { isHead: false, requestId, listenerHeaders: edge.headers });
  if (!("stream" in response)) headers.push("Connection", "close");
  response.writeHead(reply.status, headers);
  response.end(reply.body);
}

function statusOf(error: NodeJS.ErrnoException): RefusalStatus | null {
  if (error.code === "HPE_HEADER_OVERFLOW") return 431;
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
  return error.code?.startsWith("HPE_") ? 400 : null;
}

/** Answers on the bare socket, then waits for the client to close it. */
function refuseSocket(connections: Connections, connection: ServerConnection, status: RefusalStatus): void {
  const { edge } = connections;
  const requestId = edge.options.requestId.generate();
  (connection.transport as Socket).end(
    rawReply({ edge, reply: edge.refuse(status, requestId), requestId }),
  );
  connections.ending(connection);
  edge.logUnread(status, requestId, connection.peer);
}

function rawReply({ edge, reply, requestId }: { edge: Edge; reply: Reply; requestId: string }): string {
  const body = typeof reply.body === "string" ? reply.body : "";
  const { headers } = headersOf({ ...reply, body }, {
    isHead: false,
    requestId,
    listenerHeaders: edge.headers,
  });
  headers.push("Date", new Date().toUTCString(), "Connection", "close");
  const lines = headers.map((part, index) => index % 2 === 0 ? `${part}: ` : `${part}\r\n`).join("");
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ""}\r\n${lines}\r\n${body}`;
}
