/**
 * Node's server for a listener: node:http for plain HTTP, node:http2 with HTTP/1.1 beside it for TLS, and node:https
 * where clients show certificates; what it agrees to in a TLS handshake, and how long the keys of its session tickets live.
 *
 * @module
 */

import { constants, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import { createServer as createMutualServer, type Server as MutualServer } from "node:https";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import type { Bounds } from "./defences/bounds.ts";
import type { TlsContext } from "../tls_files.ts";
import type { Edge } from "./edge.ts";

/**
 * Chosen: the suites of TLS 1.3 that everybody has, and of TLS 1.2 those with a fresh key exchange and authenticated
 * encryption; Node would also take the server's key itself for the exchange, and CBC with SHA-1. Deno has these only.
 */
const ciphers = [
  ...["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"],
  ...["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"].flatMap((
    rest,
  ) => [`ECDHE-ECDSA-${rest}`, `ECDHE-RSA-${rest}`]),
].join(":");

/** Groups of the key exchange; the first withstands what is recorded today and read with a quantum computer later. */
const groups = ["X25519MLKEM768", "X25519", "P-256", "P-384"];

/** An OpenSSL before 3.5 has no such group, and refuses a list that names it. */
const ecdhCurve = [groups, groups.slice(1)].map((list) => list.join(":")).find((list) => {
  try {
    createSecureContext({ ecdhCurve: list });
    return true;
  } catch {
    return false;
  }
});

/**
 * What the server is given of the TLS files, now and when they are renewed.
 *
 * Chosen: the client's order of the suites, because none of them is weak and it knows which its processor is quick at;
 * Deno knows no other. No renegotiation, and neither runtime has compression or takes data before the handshake is over
 * (0-RTT), which a stranger could send again.
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
    // Seconds; a ticket is good for nothing beyond its key.
    sessionTimeout: Math.ceil(bounds.ticketKeyMs / 1000),
    // A resumed session is let in by the certificate of an earlier handshake, so where clients show certificates there is
    // none. Deno resumes all the same; see Admission.
    secureOptions: admission === null ? noRenegotiation : noRenegotiation | constants.SSL_OP_NO_TICKET,
  };
}

/**
 * Makes the key of the session tickets anew every `everyMs`, until the returned function is called. Who comes with a
 * ticket of an earlier key, of another process or of the process before an upgrade, shakes hands in full.
 *
 * Chosen: no key is shared between processes or outlives one, because a recorded TLS 1.2 session is read by whoever has
 * the key of its ticket. Deno has keys of its own, which it replaces every six hours, and this changes nothing there.
 */
export function rotateTicketKeys(server: SecureServer, everyMs: number): () => void {
  const timer = setInterval(() => server.setTicketKeys(randomBytes(48)), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

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
      // A header with a blank at an end of its value would vanish without a word, an Idempotency-Key perhaps.
      strictFieldWhitespaceValidation: false,
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

/**
 * Lets a session be closed and destroyed in the loop's next turn only. On Deno 2.9.6 a client's GOAWAY closes or
 * destroys the session while nghttp2 is still reading that frame, and with an answer larger than the window under
 * way the process died of it: of 20 clients that took 150 KB each and left, some always did (SIGABRT in
 * `find_stream_on_goaway_func`, or SIGSEGV). Nothing changes on Node.
 */
export function deferEnds(session: ServerHttp2Session): void {
  if (!("Deno" in globalThis)) return;
  // One for each answer that waits until the socket has taken others.
  session.socket.setMaxListeners(0);
  const close = session.close.bind(session);
  const destroy = session.destroy.bind(session);
  session.close = (callback) => void setImmediate(close, callback);
  session.destroy = (error, code) => {
    // Once: nghttp2 reports each frame that it refuses, and of what has come already there may be thousands.
    session.destroy = () => {};
    // Without a socket when that has closed.
    session.socket?.removeAllListeners("data");
    setImmediate(destroy, error, code);
  };
}
