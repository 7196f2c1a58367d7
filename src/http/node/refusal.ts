/** Responses without an exchange: after parser errors, to CONNECT, and for faults before an exchange exists. */

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Reply } from "../exchange.ts";
import type { RefusalStatus } from "../options.ts";
import { headersOf } from "../reply.ts";
import type { Connections } from "./connections.ts";
import type { Edge } from "./edge.ts";
import type { ServerConnection } from "./server_connection.ts";

/**
 * Detaches the failed HTTP parser from a connection. Deno 2.9.6 reuses it for the next connection while still feeding
 * it; Node keeps it until the connection closes.
 */
function leaveParser(socket: Socket): void {
  if (!leavesParser) return;
  socket.removeAllListeners("data");
  socket.removeAllListeners("end");
  // Reads on, to notice the connection's end.
  socket.resume();
}

/** Whether a failed connection cannot read further requests. */
const leavesParser = "Deno" in globalThis;

/** Handles a parser error, or Node's header timeout. */
export function clientError(connections: Connections, error: NodeJS.ErrnoException, socket: Socket): void {
  leaveParser(socket);
  const connection = connections.find(socket);
  const status = statusOf(error);
  if (connection === undefined || status === null || !socket.writable) {
    // A failed handshake, a reset or a disconnect.
    socket.destroy();
    return;
  }
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
    // The client disconnected mid-body.
    open.destroy();
  } else if (!open.isComplete) {
    // The request's own body is malformed.
    open.send(connections.edge.refuse(status, open.requestId));
  }
}

/**
 * Refuses CONNECT on HTTP/1. Node passes the bare socket; earlier responses are still sent, and the last one closes it.
 */
export function connectRequested(connections: Connections, socket: Socket): void {
  const connection = connections.find(socket);
  if (connection === undefined) {
    socket.destroy();
    return;
  }
  connection.fail();
  // Discards further input, to notice the connection's end.
  socket.resume();
  if (connection.open === null) refuseSocket(connections, connection, 400);
}

/** Responds 503 without an exchange; throws if that fails. */
export function refuseUnmade(edge: Edge, response: ServerResponse): void {
  // Generating an id may be what failed.
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

/** Responds on the bare socket, then waits for the client to close. */
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
