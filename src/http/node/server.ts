/**
 * Node's server for a listener: node:http for plain HTTP, node:http2 with HTTP/1.1 beside it for TLS, and node:https
 * where clients show certificates.
 *
 * @module
 */

import { createServer, type Server } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer as createMutualServer, type Server as MutualServer } from "node:https";
import type { TlsContext } from "../tls_files.ts";
import type { Edge } from "./edge.ts";
import { contextFor } from "./tls_policy.ts";

/** A server that speaks TLS. */
export type SecureServer = Http2SecureServer | MutualServer;

/** Makes it, with the bounds that it keeps itself; its events are the listener's. */
export function serverFor(edge: Edge, context: TlsContext | null): Server | SecureServer {
  const server = makeServer(edge, context);
  setTimeouts(server, edge);
  return server;
}

function makeServer(edge: Edge, context: TlsContext | null): Server | SecureServer {
  const { bounds } = edge;
  const http1 = {
    maxHeaderSize: bounds.headerBytesMax,
    connectionsCheckingInterval: bounds.sweepIntervalMs,
    // Node's own answer would have no X-Request-Id.
    requireHostHeader: false,
  };
  if (context === null) return createServer(http1);
  const secure = {
    ...contextFor(edge, context),
    ...http1,
    // node:http has it by default: without it one answer in a hundred waits 40 ms for an acknowledgement.
    noDelay: true,
    // Nothing is read of a socket before its handshake begins; Deno would not read of it afterwards either.
    pauseOnConnect: !("Deno" in globalThis),
    handshakeTimeout: bounds.handshakeTimeoutMs,
  };
  if (edge.admission !== null) {
    return createMutualServer({ ...secure, requestCert: true, rejectUnauthorized: true });
  }
  return createSecureServer(
    {
      ...secure,
      allowHTTP1: true,
      // Beyond these Node resets the stream: room for our own answer to headers over our bounds, a line having four
      // bytes at least and counting for 32 more (RFC 9113, section 6.5.2).
      settings: { maxConcurrentStreams: bounds.streamsMax, maxHeaderListSize: 8 * bounds.headerBytesMax },
      maxHeaderListPairs: bounds.headerBytesMax / 4,
    } as Parameters<typeof createSecureServer>[0],
  );
}

/** HTTP/1 time bounds must be there before `listen`, where Node starts to check them. */
function setTimeouts(server: Server | SecureServer, edge: Edge): void {
  const { bounds } = edge;
  Object.assign(server, {
    connectionsCheckingInterval: bounds.sweepIntervalMs,
    headersTimeout: bounds.headersTimeoutMs,
    // Ours comes first, and knows which request it ends; this one stands behind it.
    requestTimeout: bounds.headersTimeoutMs + bounds.requestTimeoutMs + bounds.discardTimeoutMs,
    // Our idle list does it without a timer for each answer.
    keepAliveTimeout: 0,
    timeout: 0,
    // Beyond it lines would vanish on Deno, a key or a length among them: we count them ourselves.
    maxHeadersCount: 0,
    // A client may shut down its side behind a whole request (nc -N) and is answered all the same.
    httpAllowHalfOpen: true,
  });
}
