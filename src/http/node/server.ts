/** Creates a server: node:http without TLS, node:https with client certificates, otherwise node:http2 and HTTP/1.1. */

import { constants, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import { createServer as createMutualServer, type Server as MutualServer } from "node:https";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { Bounds } from "./defenses/bounds.ts";
import type { TlsContext } from "../tls_files.ts";
import type { Edge } from "./edge.ts";

/** The cipher suites for TLS 1.3 and 1.2, the same as Deno's; all have forward secrecy and AEAD. */
const ciphers = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  ...["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].flatMap((
    rest,
  ) => [`ECDHE-ECDSA-${rest}`, `ECDHE-RSA-${rest}`]),
].join(":");

/** The first group is post-quantum. */
const groups = ["X25519MLKEM768", "X25519", "P-256", "P-384"];

/** The groups that OpenSSL supports; versions before 3.5 reject a list with the first group. */
const ecdhCurve = [groups, groups.slice(1)].map((list) => list.join(":")).find((list) => {
  try {
    createSecureContext({ ecdhCurve: list });
    return true;
  } catch {
    return false;
  }
});

/**
 * Returns the TLS options, without renegotiation. Chosen: the client's order of cipher suites, because all are strong
 * and the client knows its processor.
 */
export function secureContextOptions(
  { admission, bounds }: { readonly admission: object | null; readonly bounds: Bounds },
  context: TlsContext,
): SecureContextOptions {
  const noRenegotiation = constants.SSL_OP_NO_RENEGOTIATION;
  return {
    ...context,
    ciphers,
    ...(ecdhCurve === undefined ? {} : { ecdhCurve }),
    honorCipherOrder: false,
    // In seconds. A ticket cannot outlive its key.
    sessionTimeout: Math.ceil(bounds.ticketKeyMs / 1000),
    // A resumed session skips the check of the client's certificate. Deno resumes anyway; see Admission.
    secureOptions: admission === null ? noRenegotiation : noRenegotiation | constants.SSL_OP_NO_TICKET,
  };
}

/**
 * Replaces the session ticket key every `everyMs` until the returned function is called; Deno rotates its own every six
 * hours. Rejected: sharing keys between processes, because a leaked key decrypts recorded TLS 1.2 sessions.
 */
export function rotateTicketKeys(server: SecureServer, everyMs: number): () => void {
  const timer = setInterval(() => server.setTicketKeys(randomBytes(48)), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

export type SecureServer = Http2SecureServer | MutualServer;

/** Creates a server; without `context`, it serves plain HTTP. */
export function createHttpServer(edge: Edge, context: TlsContext | null): Server | SecureServer {
  const { bounds } = edge;
  // These are set before `listen`, which starts Node's checks.
  return Object.assign(makeServer(edge, context), {
    connectionsCheckingInterval: bounds.sweepIntervalMs,
    headersTimeout: bounds.headersTimeoutMs,
    // A backstop for our own timeout.
    requestTimeout: bounds.headersTimeoutMs + bounds.requestTimeoutMs + bounds.discardTimeoutMs,
    // We close idle connections ourselves, without a timer per response.
    keepAliveTimeout: 0,
    timeout: 0,
    // No limit, because Deno silently drops excess lines; we count them ourselves.
    maxHeadersCount: 0,
    // A client may close its sending side after a request (nc -N) and still get the response.
    httpAllowHalfOpen: true,
  });
}

function makeServer(edge: Edge, context: TlsContext | null): Server | SecureServer {
  const { bounds } = edge;
  const http1 = {
    maxHeaderSize: bounds.headerBytesMax,
    connectionsCheckingInterval: bounds.sweepIntervalMs,
    // Node's own 400 has no X-Request-Id.
    requireHostHeader: false,
  };
  if (context === null) return createServer(http1);
  const secure = {
    ...secureContextOptions(edge, context),
    ...http1,
    // The default in node:http. Without it, one response in a hundred waits 40 ms for an acknowledgment.
    noDelay: true,
    // Nothing is read until the queued handshake starts; Deno would not resume.
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
      // Node resets a stream whose headers exceed its limits; ours are lower, so that we can send 431.
      settings: { maxConcurrentStreams: bounds.streamsMax, maxHeaderListSize: 8 * bounds.headerBytesMax },
      maxHeaderListPairs: bounds.headerBytesMax / 4,
      // Otherwise Node silently drops a header with surrounding spaces, such as an Idempotency-Key.
      strictFieldWhitespaceValidation: false,
    } as Parameters<typeof createSecureServer>[0],
  );
}

/**
 * On Deno, defers a session's `close` and `destroy` to the next turn of the event loop. Deno 2.9.6 closes a session
 * while nghttp2 still reads the client's GOAWAY, which crashes the process (SIGABRT in `find_stream_on_goaway_func`, or
 * SIGSEGV).
 */
export function deferClose(session: ServerHttp2Session): void {
  if (!("Deno" in globalThis)) return;
  // Each response that waits for the socket adds a listener.
  session.socket.setMaxListeners(0);
  const close = session.close.bind(session);
  const destroy = session.destroy.bind(session);
  session.close = (callback) => void setImmediate(close, callback);
  session.destroy = (error, code) => {
    // The session is destroyed once only, because nghttp2 may report thousands of refused frames.
    session.destroy = () => {};
    session.socket?.removeAllListeners("data");
    setImmediate(destroy, error, code);
  };
}
