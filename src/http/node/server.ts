/**
 * Creates the Node server of a listener: node:http, node:http2 with HTTP/1.1 for TLS, or node:https with client
 * certificates; TLS settings and ticket keys.
 */

import { constants, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import { createServer as createMutualServer, type Server as MutualServer } from "node:https";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { Bounds } from "./defences/bounds.ts";
import type { TlsContext } from "../tls_files.ts";
import type { Edge } from "./edge.ts";

/** TLS 1.3, and the TLS 1.2 suites with forward secrecy and AEAD; the same as Deno's. */
const ciphers = [
  ...["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"],
  ...["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].flatMap((
    rest,
  ) => [`ECDHE-ECDSA-${rest}`, `ECDHE-RSA-${rest}`]),
].join(":");

/** Key exchange groups; the first resists quantum computers. */
const groups = ["X25519MLKEM768", "X25519", "P-256", "P-384"];

/** OpenSSL before 3.5 rejects a list with the first group. */
const ecdhCurve = [groups, groups.slice(1)].map((list) => list.join(":")).find((list) => {
  try {
    createSecureContext({ ecdhCurve: list });
    return true;
  } catch {
    return false;
  }
});

/**
 * The TLS options, at the start and after each renewal.
 *
 * Chosen: the client's suite order, because all are strong and it knows its processor. No renegotiation; neither
 * runtime has compression or 0-RTT.
 */
export function contextFor(
  { admission, bounds }: { readonly admission: object | null; readonly bounds: Bounds },
  context: TlsContext,
): SecureContextOptions {
  const noRenegotiation = constants.SSL_OP_NO_RENEGOTIATION;
  return {
    ...context,
    ciphers,
    ...(ecdhCurve === undefined ? {} : { ecdhCurve }),
    honorCipherOrder: false,
    // In seconds; a ticket is useless without its key.
    sessionTimeout: Math.ceil(bounds.ticketKeyMs / 1000),
    // Resumption relies on an earlier handshake, so it is off with client certificates. Deno resumes anyway; see
    // Admission.
    secureOptions: admission === null ? noRenegotiation : noRenegotiation | constants.SSL_OP_NO_TICKET,
  };
}

/**
 * Replaces the session ticket key every `everyMs` until the returned function is called; older tickets cause a full
 * handshake.
 *
 * Keys are not shared between processes, because a leaked key reveals recorded TLS 1.2 sessions. Deno rotates its own
 * every six hours.
 */
export function rotateTicketKeys(server: SecureServer, everyMs: number): () => void {
  const timer = setInterval(() => server.setTicketKeys(randomBytes(48)), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** A TLS server. */
export type SecureServer = Http2SecureServer | MutualServer;

/** Creates the server with its own bounds. */
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
    // Node's own response would have no X-Request-Id.
    requireHostHeader: false,
  };
  if (context === null) return createServer(http1);
  const secure = {
    ...contextFor(edge, context),
    ...http1,
    // node:http's default; without it, one response in a hundred waits 40 ms for an acknowledgement.
    noDelay: true,
    // Pauses reading until the handshake starts; Deno would not resume.
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
      // Above these limits Node resets the stream; leaves room for our own response (RFC 9113, section 6.5.2).
      settings: { maxConcurrentStreams: bounds.streamsMax, maxHeaderListSize: 8 * bounds.headerBytesMax },
      maxHeaderListPairs: bounds.headerBytesMax / 4,
      // Otherwise a header with surrounding blanks, such as an Idempotency-Key, is dropped silently.
      strictFieldWhitespaceValidation: false,
    } as Parameters<typeof createSecureServer>[0],
  );
}

/** Set before `listen`, when Node starts to check them. */
function setTimeouts(server: Server | SecureServer, edge: Edge): void {
  const { bounds } = edge;
  Object.assign(server, {
    connectionsCheckingInterval: bounds.sweepIntervalMs,
    headersTimeout: bounds.headersTimeoutMs,
    // A backstop behind our own bound.
    requestTimeout: bounds.headersTimeoutMs + bounds.requestTimeoutMs + bounds.discardTimeoutMs,
    // Our idle list needs no timer per response.
    keepAliveTimeout: 0,
    timeout: 0,
    // Above it, Deno drops lines silently; we count them ourselves.
    maxHeadersCount: 0,
    // A client may half-close after a request (nc -N) and is still answered.
    httpAllowHalfOpen: true,
  });
}

/**
 * Defers closing and destroying a session to the next turn of the loop. On Deno 2.9.6 a GOAWAY closes the session while
 * nghttp2 reads that frame, which crashes the process (SIGABRT in `find_stream_on_goaway_func`, or SIGSEGV). Does
 * nothing on Node.
 */
export function deferEnds(session: ServerHttp2Session): void {
  if (!("Deno" in globalThis)) return;
  // One listener per response that waits for the socket.
  session.socket.setMaxListeners(0);
  const close = session.close.bind(session);
  const destroy = session.destroy.bind(session);
  session.close = (callback) => void setImmediate(close, callback);
  session.destroy = (error, code) => {
    // Once only: nghttp2 reports each refused frame, and thousands may have arrived.
    session.destroy = () => {};
    // The socket may be closed.
    session.socket?.removeAllListeners("data");
    setImmediate(destroy, error, code);
  };
}
