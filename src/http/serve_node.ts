/**
 * The listener on node:http (plain) and node:http2 (TLS, with HTTP/1.1 beside it). It runs on Node and on Deno.
 *
 * @module
 */

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { Certificate } from "./certificate.ts";
import { Edge } from "./edge.ts";
import type { Reply } from "./exchange.ts";
import { type Connection, Connections } from "./node_connection.ts";
import { NodeExchange, type NodeRequest, type NodeResponse } from "./node_exchange.ts";
import type { Listener, ListenOptions, RefusalStatus } from "./options.ts";

const exchangeOf: unique symbol = Symbol("exchange");

/** Listens with Node's servers. Throws what binding the address or reading the certificate throws. */
export async function serveNode(options: ListenOptions): Promise<Listener> {
  const edge = new Edge(options);
  const connections = new Connections(edge);
  const certificate = options.tls ? await Certificate.load(options.tls) : null;
  const server = certificate === null ? plainServer(edge) : secureServer(edge, certificate);
  setTimeouts(server, edge);
  attach(server, connections);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.address.port, options.address.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  server.on("error", (error: unknown) => edge.report(error, null));
  const stopWatching = certificate?.watch({
    everyMs: edge.bounds.certificatePollMs,
    onRenewed: (context) => (server as Http2SecureServer).setSecureContext(context),
    onEvent: options.onCertificate ?? (() => {}),
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    host: address,
    port,
    async close(graceMs) {
      stopWatching?.();
      server.close();
      await connections.drain(graceMs);
    },
  };
}

function plainServer(edge: Edge): Server {
  return createServer({ maxHeaderSize: edge.bounds.headerBytesMax, ...http1Options(edge) });
}

function secureServer(edge: Edge, certificate: Certificate): Http2SecureServer {
  const { bounds } = edge;
  return createSecureServer(
    {
      ...certificate.context,
      ...http1Options(edge),
      allowHTTP1: true,
      handshakeTimeout: bounds.handshakeTimeoutMs,
      settings: { maxConcurrentStreams: bounds.streamsMax, maxHeaderListSize: bounds.headerBytesMax },
    } as Parameters<typeof createSecureServer>[0],
  );
}

function http1Options(edge: Edge): object {
  return {
    maxHeaderSize: edge.bounds.headerBytesMax,
    connectionsCheckingInterval: edge.bounds.sweepIntervalMs,
    // Node's own answer would have no X-Request-Id.
    requireHostHeader: false,
  };
}

/** HTTP/1 time bounds must be there before `listen`, where Node starts to check them. */
function setTimeouts(server: Server | Http2SecureServer, edge: Edge): void {
  const { bounds } = edge;
  Object.assign(server, {
    connectionsCheckingInterval: bounds.sweepIntervalMs,
    headersTimeout: bounds.headersTimeoutMs,
    // Ours comes first, and knows which request it ends; this one stands behind it.
    requestTimeout: bounds.headersTimeoutMs + bounds.requestTimeoutMs + bounds.discardTimeoutMs,
    // Our idle list does it without a timer for each answer.
    keepAliveTimeout: 0,
    timeout: 0,
  });
}

function attach(server: Server | Http2SecureServer, connections: Connections): void {
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
  // CONNECT: this is no proxy. HTTP/1 hands over the bare socket, HTTP/2 a response.
  events.on("connect", (request: IncomingMessage, target: Socket | ServerResponse) => {
    if ("writeHead" in target) begin(connections, request, target, { refusal: 400 });
    else refuseSocket(connections, target, { status: 400 });
  });
  events.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    clientError(connections, error, socket);
  });
  events.on("connection", (socket: Socket) => connections.accepted(socket));
  if (!("setSecureContext" in server)) {
    events.on("connection", (socket: Socket) => connections.opened(socket, socket.remoteAddress));
    return;
  }
  const secure = server as Http2SecureServer;
  secure.on("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol !== "h2") connections.opened(socket, socket.remoteAddress);
  });
  secure.on("session", (session: ServerHttp2Session) => {
    session.on("error", () => session.destroy());
    connections.opened(session, session.socket.remoteAddress);
  });
  secure.on("sessionError", () => {});
  secure.on("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
}

function begin(
  connections: Connections,
  request: NodeRequest,
  response: NodeResponse,
  how?: { awaitsContinue?: boolean; refusal?: RefusalStatus },
): void {
  const transport = "stream" in request ? request.stream.session : request.socket;
  const connection = transport === undefined ? undefined : connections.find(transport);
  if (connection === undefined || connection.hasFailed) return;
  const exchange = new NodeExchange(connections, { connection, request, response });
  connections.began(exchange);
  (response as Tagged)[exchangeOf] = exchange;
  (response as ServerResponse).on("close", closed);
  if (how?.awaitsContinue) exchange.awaitsContinue = true;
  const refusal = how?.refusal ??
    (exchange.headerBytes > connections.edge.bounds.headerBytesMax ? 431 : undefined);
  if (refusal === undefined) answer(connections.edge, exchange);
  else exchange.send(connections.edge.refuse(refusal, exchange.requestId));
}

type Tagged = NodeResponse & { [exchangeOf]?: NodeExchange };

function closed(this: ServerResponse): void {
  (this as ServerResponse & Tagged)[exchangeOf]?.closed();
}

async function answer(edge: Edge, exchange: NodeExchange): Promise<void> {
  exchange.send(await edge.answer(exchange));
}

/** The parser has given up on a connection, or Node's time bound for headers has passed. */
function clientError(connections: Connections, error: NodeJS.ErrnoException, socket: Socket): void {
  const connection = connections.find(socket);
  const status = refusalOf(error);
  if (connection === undefined || status === null || !socket.writable) {
    // A failed handshake, a reset, or a client that has gone.
    socket.destroy();
    return;
  }
  if (connection.hasFailed) {
    const discarded = socket.bytesRead - connection.failedAtBytes;
    if (discarded > connections.edge.bounds.discardBytesMax) socket.destroy();
    return;
  }
  connection.hasFailed = true;
  connection.isClosing = true;
  connection.failedAtBytes = socket.bytesRead;
  const { latest } = connection;
  if (latest === null) {
    if (status === 408 && socket.bytesRead === 0) socket.destroy();
    else refuseSocket(connections, socket, { status, connection });
  } else if (error.code === "HPE_INVALID_EOF_STATE") {
    // The client went away in the middle of a body.
    latest.destroy();
  } else if (!latest.isComplete) {
    // Its own body is what is malformed.
    latest.send(connections.edge.refuse(status, latest.requestId));
  }
}

function refusalOf(error: NodeJS.ErrnoException): RefusalStatus | null {
  if (error.code === "HPE_HEADER_OVERFLOW") return 431;
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
  return error.code?.startsWith("HPE_") ? 400 : null;
}

/** Answers on the bare socket, then waits for the client to close it. */
function refuseSocket(
  connections: Connections,
  socket: Socket,
  options: { status: RefusalStatus; connection?: Connection },
): void {
  const { edge } = connections;
  const connection = options.connection ?? connections.find(socket);
  const requestId = edge.options.requestId.generate();
  const reply = edge.refuse(options.status, requestId);
  socket.end(rawReply(reply, requestId));
  if (connection === undefined) return;
  connections.ending(connection);
  edge.logUnread(options.status, requestId, connection.peer);
}

function rawReply(reply: Reply, requestId: string): string {
  const body = typeof reply.body === "string" ? reply.body : "";
  const headers: Record<string, string> = {
    ...reply.headers,
    "X-Request-Id": requestId,
    "Content-Length": String(new TextEncoder().encode(body).length),
    "Date": new Date().toUTCString(),
    "Connection": "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ""}\r\n${lines}\r\n${body}`;
}
