/**
 * The listener on Node's servers, on Node and on Deno.
 *
 * Rejected: Deno.serve, which accepts HTTP/1.1 without a Host, has no header timeout and refuses malformed HTTP without a
 * request id; node:http is as fast there (Deno 2.9.6: 137 µs a post on both, 32 instead of 37 µs a read).
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { ServerHttp2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { contextFor, deferEnds, rotateTicketKeys, type SecureServer, serverFor } from "./server.ts";
import { Edge } from "./edge.ts";
import { HandshakeQueue } from "./defences/by_address.ts";
import { Connections } from "./connections.ts";
import { NodeExchange } from "./exchange.ts";
import type { NodeRequest, NodeResponse } from "./headers.ts";
import { clientError, connectRequested, refuseUnmade } from "./refusal.ts";
import type { Reply } from "../exchange.ts";
import type { Listener, ListenOptions, RefusalStatus } from "../options.ts";
import { TlsFiles } from "../tls_files.ts";

/** nghttp2's limit on unacknowledged frames, `NGHTTP2_ERR_FLOODED`. */
const flooded = -904;

/**
 * Accept backlog. Chosen: Linux's limit, because one attacker fills Node's 511 in a moment, and honest clients then
 * wait a second to retry.
 */
const backlog = 4_096;

const exchangeOf: unique symbol = Symbol("exchange");

/**
 * Listens at `options.address` and serves the surfaces. Resolves when connections are accepted; throws when the address
 * cannot be bound or the certificate is unusable.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const edge = new Edge(options);
  const connections = new Connections(edge);
  const tls = options.tls ? await TlsFiles.load(options.tls, "listener") : null;
  const server = serverFor(edge, tls?.context ?? null);
  attach(server, connections);
  const { address, port } = await bind(server, edge);
  server.on("error", (error: unknown) => edge.report(error, null));
  const stopWatching = tls?.watch({
    everyMs: edge.bounds.certificatePollMs,
    observe: (observation) => {
      if (observation.kind === "certificate_renewed") {
        (server as SecureServer).setSecureContext(contextFor(edge, tls.context));
        if (observation.isCaNew) {
          edge.admission?.renew();
          connections.retire();
        }
      }
      edge.tell(observation, null);
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
      // Node would close idle connections without notice; ours announces it first.
      (server as Server).closeIdleConnections = () => {};
      server.close();
      await connections.drain(graceMs);
    },
  };
}

/** Binds, and validates the address before a connection can be accepted. */
function bind(server: Server | SecureServer, edge: Edge): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...edge.options.address, backlog }, () => {
      server.off("error", reject);
      try {
        const bound = server.address();
        if (bound === null || typeof bound === "string") throw new TypeError("The socket is none of TCP");
        edge.bound({ host: bound.address, port: bound.port });
        resolve(bound);
      } catch (error) {
        server.close();
        reject(error);
      }
    });
  });
}

/** Reports an exception of an event listener, which would end the process, and destroys the target. */
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
    begin(connections, request, response);
  });
  events.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    begin(connections, request, response, { awaitsContinue: true });
  });
  events.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    begin(connections, request, response, { refusal: 417 });
  });
  // HTTP/1 passes the socket, HTTP/2 a response.
  events.on("connect", (request: IncomingMessage, target: Socket | ServerResponse) => {
    if ("writeHead" in target) begin(connections, request, target, { refusal: 400 });
    else guard(edge, () => connectRequested(connections, target), target);
  });
  events.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    guard(edge, () => clientError(connections, error, socket), socket);
  });
  const opened = (socket: Socket): void => {
    guard(edge, () => {
      const connection = connections.opened(socket, socket);
      // A truncated body: Node's parser reports it, Deno's does not.
      socket.once("end", () => connection.cut());
    }, socket);
  };
  if (!("setSecureContext" in server)) {
    events.on("connection", (socket: Socket) => {
      guard(edge, () => connections.accepted(socket), socket);
      opened(socket);
    });
    return;
  }
  const secure = server as SecureServer;
  const line = lineFor(secure, connections);
  secure.on("connection", (socket: Socket) => {
    guard(edge, () => line.add(socket, connections.accepted(socket)), socket);
  });
  if (admission !== null) {
    // Before the HTTP parser, so that it finds refused connections closed.
    secure.prependListener("secureConnection", (socket: TLSSocket) => {
      guard(edge, () => {
        const fault = admission.admit(socket);
        if (fault === null) return;
        edge.refuseClient(socket, fault);
        socket.destroy();
      }, socket);
    });
  }
  secure.on("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol !== "h2" && !socket.destroyed) opened(socket);
  });
  secure.on("session", (session: ServerHttp2Session) => {
    deferEnds(session);
    session.on("error", (error: NodeJS.ErrnoException) => {
      session.destroy();
      if (error.errno === flooded) connections.markAbusive(session);
    });
    guard(edge, () => connections.opened(session, session.socket), session);
  });
  secure.on("sessionError", () => {});
  secure.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    // On public listeners this is no news. A certificate fault says more than the closed connection.
    const fault = socket.authorizationError ?? error.code ?? "handshake_failed";
    if (admission !== null) edge.refuseClient(socket, String(fault));
    socket.destroy();
  });
}

/** Queues the handshakes of a server. */
function lineFor(server: SecureServer, connections: Connections): HandshakeQueue {
  const { edge } = connections;
  const [shakeHands, ...others] = server.listeners("connection");
  if (shakeHands === undefined || others.length > 0) throw new Error("The server has another listener");
  server.removeAllListeners("connection");
  return new HandshakeQueue({
    patienceMs: edge.bounds.handshakeTimeoutMs,
    begin: (socket) =>
      guard(edge, () => {
        connections.begun(socket);
        shakeHands.call(server, socket);
      }, socket),
  });
}

interface Beginning {
  readonly awaitsContinue?: boolean;
  readonly refusal?: RefusalStatus;
  /** Earlier requests are answered. */
  readonly isAdmitted?: boolean;
}

/** Starts a request; never throws: errors are reported and answered with 503, or abort it. */
function begin(
  connections: Connections,
  request: NodeRequest,
  response: NodeResponse,
  how?: Beginning,
): void {
  try {
    make(connections, { request, response, how: how ?? {} });
  } catch (error) {
    connections.edge.report(error, null);
    guard(connections.edge, () => fail(connections.edge, response as ServerResponse), response);
  }
}

function fail(edge: Edge, response: ServerResponse & Tagged): void {
  const exchange = response[exchangeOf];
  if (exchange === undefined) refuseUnmade(edge, response);
  else exchange.destroy();
}

function make(
  connections: Connections,
  options: { request: NodeRequest; response: NodeResponse; how: Beginning },
): void {
  const { request, response, how } = options;
  const transport = "stream" in request ? request.stream.session : request.socket;
  const connection = transport === undefined ? undefined : connections.find(transport);
  if (connection === undefined) return;
  if (transport !== undefined && connections.edge.admission?.isValid(transport) === false) {
    connection.destroy();
    return;
  }
  if (how.isAdmitted !== true) {
    if (connection.ignores) return;
    if (connection.isBusy) {
      connections.queued(connection, {
        request: request as IncomingMessage,
        begin: (refusal = how.refusal) => {
          const refused = refusal === undefined ? {} : { refusal };
          begin(connections, request, response, { ...how, ...refused, isAdmitted: true });
        },
      });
      return;
    }
  }
  const exchange = new NodeExchange(connections, { connection, request, response });
  connections.began(exchange);
  (response as Tagged)[exchangeOf] = exchange;
  (response as ServerResponse).on("close", closed);
  if (how.awaitsContinue) exchange.awaitsContinue = true;
  const refusal = how.refusal ?? exchange.refusal;
  if (refusal === null) {
    answer(connections.edge, exchange);
    return;
  }
  exchange.isRefused = true;
  exchange.send(connections.edge.refuse(refusal, exchange.requestId));
}

type Tagged = NodeResponse & { [exchangeOf]?: NodeExchange };

function closed(this: ServerResponse): void {
  (this as ServerResponse & Tagged)[exchangeOf]?.closed();
}

async function answer(edge: Edge, exchange: NodeExchange): Promise<void> {
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
