/**
 * The request and reply of handlers, on every protocol and runtime; the fetch classes would cost much of node:http's
 * throughput.
 */

import type { Source } from "./source.ts";

/** The result of reading a request body with a cap. */
export type Body =
  | { readonly kind: "complete"; readonly bytes: Uint8Array }
  /** More than the cap was announced or received. */
  | { readonly kind: "too_large" }
  /** The client disconnected, or the body did not arrive in time. */
  | { readonly kind: "incomplete" };

/** One request. */
export interface Exchange {
  /** As sent, upper-case for the standard methods. */
  readonly method: string;
  /** The path without query, percent-encoding untouched. */
  readonly path: string;
  /** The query after the first `?`, or `""`. Never logged. */
  readonly query: string;
  /** Adopted from `X-Request-Id` or generated; text (UTF-8 where valid). */
  readonly requestId: string;
  /** The peer, or the address from a trusted proxy; canonical, IPv4-mapped IPv6 as IPv4. */
  readonly clientAddress: string;
  /** A header's value by lower-case name, one character per byte; several lines are joined by `", "`. */
  header(name: string): string | undefined;
  /** A header's values by lower-case name, one per line. */
  headerLines(name: string): readonly string[];
  /** Reads the body once, at most `bytesMax` bytes; a second call throws. */
  readBody(bytesMax: number): Promise<Body>;
  /** For the access log; set by a handler once the key is known. */
  keyId: string | null;
  /** Reason of a refusal, for the access log; never the caller's text. */
  reason: string | null;
  /** The matched route pattern, or `"-"`; set by the router. */
  route: string;
  /** The segments matched by `{name}` parts, percent-encoding untouched; set by the router. */
  params: Readonly<Record<string, string>>;
}

/** A response; the adapter adds `X-Request-Id`, and `Content-Length` when the length is known. */
export interface Reply {
  readonly status: number;
  /** Values are Latin-1 text. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text is sent as UTF-8. A stream or source is pulled as the client reads, and canceled when it disconnects. */
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | Source | null;
  /**
   * The length in bytes of a stream or source, or of a body that a HEAD response omits. A different length aborts the
   * response.
   */
  readonly length?: number;
}

/** Handles one request. An exception is logged and answered with the surface's fault reply. */
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>;
