/**
 * The request and the reply as handlers see them: one small shape for every
 * protocol and runtime, because the fetch classes cost much of node:http's throughput (measured on Node 24).
 *
 * @module
 */

import type { Source } from "./source.ts";

/** The outcome of reading a request body with a cap. */
export type Body =
  | { readonly kind: "complete"; readonly bytes: Uint8Array }
  /** More than the cap was announced or has arrived; nothing is held. */
  | { readonly kind: "too_large" }
  /** The client went away, or the body has not arrived within the request's time bound. */
  | { readonly kind: "incomplete" };

/** One request, as a handler sees it. */
export interface Exchange {
  /** As sent, upper-case for the standard methods. */
  readonly method: string;
  /** The path of the request target, without query, percent-encoding untouched. */
  readonly path: string;
  /** What follows the first `?`, or `""`. Never logged. */
  readonly query: string;
  /** Adopted from `X-Request-Id` or generated. As text (UTF-8 where the bytes are). */
  readonly requestId: string;
  /** The peer, or what a trusted proxy says of it. Canonical text, IPv4-mapped IPv6 as IPv4. */
  readonly clientAddress: string;
  /** A header's value by lower-case name, one character per byte as sent; several are joined by `", "`. */
  header(name: string): string | undefined;
  /** A header's values by lower-case name, one for each of its lines. */
  headerLines(name: string): readonly string[];
  /** Reads the body, holding at most `bytesMax` bytes. Once: a second call throws. */
  readBody(bytesMax: number): Promise<Body>;
  /** For the access log only; set by a handler once the key is known. */
  keyId: string | null;
  /** Why the request is refused, for the access log only; set by a handler. Never text of the caller's. */
  reason: string | null;
  /** The pattern of the route that matched, or `"-"`; set by the router. */
  route: string;
  /** The segments that the route's `{name}` parts matched, percent-encoding untouched; set by the router. */
  params: Readonly<Record<string, string>>;
}

/** An answer. The adapter adds `X-Request-Id`, and `Content-Length` when the length is known. */
export interface Reply {
  readonly status: number;
  /** Names in their usual spelling, values as Latin-1 text. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Text goes out as UTF-8. A stream or source is cancelled when the client goes away, and asked for more when the
   * client has taken what it gave before.
   */
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | Source | null;
  /**
   * The length of a stream or source in bytes, when it is known, and that of a body which the answer to a HEAD leaves
   * out. One that turns out to have another length is cut off: the client sees that it has not all of it.
   */
  readonly length?: number;
}

/** Answers one request. What it throws is answered with the surface's fault reply and logged. */
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>;
