/**
 * The HTTP listener, which uses Node's servers on both Node and Deno.
 *
 * Rejected: Deno.serve, which accepts HTTP/1.1 without a `Host`, has no header timeout, and refuses malformed HTTP
 * without a request id. On Deno 2.9.6, both take 137 µs per post; per read, Deno.serve takes 37 µs instead of 32.
 */

import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { ServerHttp2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Reply } from "../exchange.ts";
import type { Listener, ListenOptions, RefusalStatus } from "../options.ts";
import { nodeHeaders } from "../reply.ts";
import { TlsFiles } from "../tls_files.ts";
import { Connections } from "./connections.ts";
import { HandshakeQueue } from "./defenses/by_address.ts";
import { Edge } from "./edge.ts";
import { NodeExchange } from "./exchange.ts";
import type { NodeRequest, NodeResponse } from "./request.ts";
import {
  createHttpServer,
  deferClose,
  rotateTicketKeys,
  secureContextOptions,
  type SecureServer,
} from "./server.ts";
import type { ServerConnection } from "./server_connection.ts";

/** nghttp2's `NGHTTP2_ERR_FLOODED`: too many unacknowledged frames. */
const floodedErrno = -904;

/**
 * The accept backlog. Chosen: Linux's limit, because one attacker fills Node's default of 511 in a moment, and other
 * clients then wait a second to retry.
 */
const backlog = 4_096;

const isDeno = "Deno" in globalThis;

const exchangeKey: unique symbol = Symbol("exchange");

type Tagged = NodeResponse & { [exchangeKey]?: NodeExchange };

/** Serves the surfaces at an address; rejects if the address cannot be bound or the certificate is unusable. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const edge = new Edge(options);
  const connections = new Connections(edge);
  const tls = options.tls ? await TlsFiles.load(options.tls, "listener") : null;
  const server = createHttpServer(edge, tls?.context ?? null);
  attach(server, connections);
  const { address, port } = await bind(server, edge);
  server.on("error", (error: unknown) => edge.report(error, null));
  const stopWatching = tls?.watch({
    everyMs: edge.bounds.certificatePollMs,
    observe: (observation) => {
      if (observation.kind === "certificate_renewed") {
        (server as SecureServer).setSecureContext(secureContextOptions(edge, tls.context));
        if (observation.isCaChanged) {
          edge.admission?.revokeAll();
          connections.retire();
        }
      }
      edge.observe(observation, null);
    },
  });
  const stopRotating = tls === null
    ? null
    : rotateTicketKeys(server as SecureServer, edge.bounds.ticketKeyMs);
  return {
    host: address,
    port,
    async close(graceMs) {
      stopWatching?.();
      stopRotating?.();
      // Node would close idle connections without announcing it first.
      (server as Server).closeIdleConnections = () => {};
      server.close();
      await connections.drain(graceMs);
    },
  };
}

/** Binds the server, and validates the bound address before a connection is accepted. */
function bind(server: Server | SecureServer, edge: Edge): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...edge.options.address, backlog }, () => {
      server.off("error", reject);
      try {
        const bound = server.address();
        if (bound === null || typeof bound === "string") {
          throw new TypeError("The socket is not a TCP socket");
        }
        edge.onBound({ host: bound.address, port: bound.port });
        resolve(bound);
      } catch (error) {
        server.close();
        reject(error);
      }
    });
  });
}

/** Calls an event listener; if it throws, reports the exception, which would end the process, and destroys `target`. */
function guard(edge: Edge, listener: () => void, target?: { destroy(): unknown }): void {
  try {
    listener();
  } catch (error) {
    edge.report(error, null);
    target?.destroy();
  }
}

function attach(server: Server | SecureServer, connections: Connections): void {
  const { edge } = connections;
  const { admission } = edge;
  const events = server as Server;
  events.on("request", (request: NodeRequest, response: NodeResponse) => {
    start(connections, request, response);
  });
  events.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    start(connections, request, response, { awaitsContinue: true });
  });
  events.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    start(connections, request, response, { refusal: 417 });
  });
  // The event passes the socket on HTTP/1, and a response on HTTP/2.
  events.on("connect", (request: IncomingMessage, target: Socket | ServerResponse) => {
    if ("writeHead" in target) start(connections, request, target, { refusal: 400 });
    else guard(edge, () => onConnectMethod(connections, target), target);
  });
  events.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    guard(edge, () => onClientError(connections, error, socket), socket);
  });
  const onConnected = (socket: Socket): void => {
    guard(edge, () => {
      const connection = connections.onConnected(socket, socket);
      // On Node, the parser reports an incomplete body; on Deno, it does not.
      socket.once("end", () => connection.onInputEnd());
    }, socket);
  };
  if (!("setSecureContext" in server)) {
    events.on("connection", (socket: Socket) => {
      guard(edge, () => connections.onAccepted(socket), socket);
      onConnected(socket);
    });
    return;
  }
  const secure = server as SecureServer;
  const handshakes = queueHandshakes(secure, connections);
  secure.on("connection", (socket: Socket) => {
    guard(edge, () => handshakes.add(socket, connections.onAccepted(socket)), socket);
  });
  if (admission !== null) {
    // This listener comes first, because the HTTP parser ignores a socket that is already destroyed.
    secure.prependListener("secureConnection", (socket: TLSSocket) => {
      guard(edge, () => {
        const reason = admission.admit(socket);
        if (reason === null) return;
        edge.reportRefusedClient(socket, reason);
        socket.destroy();
      }, socket);
    });
  }
  secure.on("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol !== "h2" && !socket.destroyed) onConnected(socket);
  });
  secure.on("session", (session: ServerHttp2Session) => {
    deferClose(session);
    session.on("error", (error: NodeJS.ErrnoException) => {
      session.destroy();
      if (error.errno === floodedErrno) connections.markAbusive(session);
    });
    guard(edge, () => connections.onConnected(session, session.socket), session);
  });
  secure.on("sessionError", () => {});
  secure.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    // The certificate's error is more specific. On public listeners, failed handshakes are normal and are not reported.
    const reason = socket.authorizationError ?? error.code ?? "handshake_failed";
    if (admission !== null) edge.reportRefusedClient(socket, String(reason));
    socket.destroy();
  });
}

/** Removes the server's `connection` listener, which starts a handshake, and returns a queue that calls it. */
function queueHandshakes(server: SecureServer, connections: Connections): HandshakeQueue {
  const { edge } = connections;
  const [startHandshake, ...others] = server.listeners("connection");
  if (startHandshake === undefined || others.length > 0) {
    throw new Error("The server must have exactly one connection listener");
  }
  server.removeAllListeners("connection");
  return new HandshakeQueue({
    waitMsMax: edge.bounds.handshakeTimeoutMs,
    start: (socket) =>
      guard(edge, () => {
        connections.onHandshakeStarted(socket);
        startHandshake.call(server, socket);
      }, socket),
  });
}

interface StartOptions {
  readonly awaitsContinue?: boolean;
  readonly refusal?: RefusalStatus;
  /** Whether the request waited for earlier ones, which have ended. */
  readonly wasQueued?: boolean;
}

/** Starts a request; if that throws, reports the exception and sends 503 or aborts. */
function start(
  connections: Connections,
  request: NodeRequest,
  response: NodeResponse,
  options: StartOptions = {},
): void {
  const { edge } = connections;
  try {
    startExchange(connections, { request, response, options });
  } catch (error) {
    edge.report(error, null);
    guard(edge, () => {
      const exchange = (response as Tagged)[exchangeKey];
      if (exchange === undefined) sendFault(edge, response as ServerResponse);
      else exchange.destroy();
    }, response);
  }
}

function startExchange(
  connections: Connections,
  { request, response, options }: { request: NodeRequest; response: NodeResponse; options: StartOptions },
): void {
  const transport = "stream" in request ? request.stream.session : request.socket;
  const connection = transport === undefined ? undefined : connections.find(transport);
  if (connection === undefined) return;
  if (transport !== undefined && connections.edge.admission?.isValid(transport) === false) {
    connection.destroy();
    return;
  }
  if (options.wasQueued !== true) {
    if (connection.ignoresRequests) return;
    if (connection.isBusy) {
      connections.enqueue(connection, {
        request: request as IncomingMessage,
        start: (refusal = options.refusal) => {
          const refused = refusal === undefined ? {} : { refusal };
          start(connections, request, response, { ...options, ...refused, wasQueued: true });
        },
      });
      return;
    }
  }
  const exchange = new NodeExchange(connections, { connection, request, response });
  connections.onRequest(exchange);
  (response as Tagged)[exchangeKey] = exchange;
  (response as ServerResponse).on("close", onResponseClosed);
  if (options.awaitsContinue) exchange.awaitsContinue = true;
  const refusal = options.refusal ?? exchange.refusal;
  if (refusal === null) {
    respond(connections.edge, exchange);
    return;
  }
  exchange.isRefused = true;
  exchange.send(connections.edge.refuse(refusal, exchange.requestId));
}

function onResponseClosed(this: ServerResponse): void {
  (this as ServerResponse & Tagged)[exchangeKey]?.onClosed();
}

async function respond(edge: Edge, exchange: NodeExchange): Promise<void> {
  let reply: Reply;
  try {
    reply = await edge.handle(exchange);
  } catch (error) {
    reply = edge.fault(exchange, error);
  }
  try {
    exchange.send(reply);
  } catch (error) {
    edge.report(error, exchange);
    exchange.destroy();
  }
}

/** Sends 503 for a request without an exchange. */
function sendFault(edge: Edge, response: ServerResponse): void {
  // The request id generator may have thrown.
  const requestId = "-";
  const reply = edge.refuse(503, requestId);
  const { headers } = nodeHeaders(reply, { isHead: false, requestId, listenerHeaders: edge.headers });
  if (!("stream" in response)) headers.push("Connection", "close");
  response.writeHead(reply.status, headers);
  response.end(reply.body);
}

/** Handles an error from the HTTP/1 parser, or Node's header timeout. */
function onClientError(connections: Connections, error: NodeJS.ErrnoException, socket: Socket): void {
  if (isDeno) detachParser(socket);
  const connection = connections.find(socket);
  const status = statusOf(error);
  if (connection === undefined || status === null || !socket.writable) {
    // A failed handshake, a reset or a disconnect.
    socket.destroy();
    return;
  }
  // The headers are late because we are not reading them.
  if (status === 408 && connection.pipeline?.isPaused && !isDeno) return;
  if (connection.isInputDiscarded) return;
  connection.discardInput();
  const { current } = connection;
  if (connection.queuedRequests > 0) {
    connection.pipeline?.refuseIncomplete(status);
  } else if (current === null) {
    if (status === 408 && socket.bytesRead === 0) socket.destroy();
    else refuseOnSocket(connections, connection, status);
  } else if (error.code === "HPE_INVALID_EOF_STATE") {
    // The client disconnected during the body.
    current.destroy();
  } else if (!current.isComplete) {
    // The body of the current request is malformed.
    current.send(connections.edge.refuse(status, current.requestId));
  }
}

/** Stops feeding a failed parser, because Deno 2.9.6 reuses it for the next connection. */
function detachParser(socket: Socket): void {
  socket.removeAllListeners("data");
  socket.removeAllListeners("end");
  // Only a socket that is being read reports its end.
  socket.resume();
}

/** Refuses CONNECT on HTTP/1; if an earlier request is open, only closes the connection after its response. */
function onConnectMethod(connections: Connections, socket: Socket): void {
  const connection = connections.find(socket);
  if (connection === undefined) {
    socket.destroy();
    return;
  }
  connection.discardInput();
  // Only a socket that is being read reports its end.
  socket.resume();
  if (connection.current === null) refuseOnSocket(connections, connection, 400);
}

function statusOf(error: NodeJS.ErrnoException): RefusalStatus | null {
  if (error.code === "HPE_HEADER_OVERFLOW") return 431;
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
  return error.code?.startsWith("HPE_") ? 400 : null;
}

/** Writes a response directly to the socket, and waits for the client to close. */
function refuseOnSocket(connections: Connections, connection: ServerConnection, status: RefusalStatus): void {
  const { edge } = connections;
  const requestId = edge.options.requestId.generate();
  const reply = edge.refuse(status, requestId);
  const body = typeof reply.body === "string" ? reply.body : "";
  const { headers } = nodeHeaders({ ...reply, body }, {
    isHead: false,
    requestId,
    listenerHeaders: edge.headers,
  });
  headers.push("Date", new Date().toUTCString(), "Connection", "close");
  const lines = headers.map((part, index) => index % 2 === 0 ? `${part}: ` : `${part}\r\n`).join("");
  (connection.transport as Socket).end(
    `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ""}\r\n${lines}\r\n${body}`,
  );
  connections.awaitClose(connection);
  edge.logMalformed(status, requestId, connection.peer);
}
