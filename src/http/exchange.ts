/** A handler's request and reply. Rejected: the fetch classes, which cost much of node:http's throughput. */

import type { Source } from "./source.ts";

/** The result of reading a request body with a cap. */
export type Body =
  | { readonly kind: "complete"; readonly bytes: Uint8Array }
  /** The announced or received length exceeds the cap. */
  | { readonly kind: "too_large" }
  /** The client disconnected, or the body did not arrive in time. */
  | { readonly kind: "incomplete" };

/** A request, and what the access log records about it. */
export interface Exchange {
  readonly method: string;
  /** The path without the query, still percent-encoded. */
  readonly path: string;
  /** The query after the first `?`, or `""`; it is never logged. */
  readonly query: string;
  /** The valid authority of the target, `:authority` or `Host`; `undefined` if an HTTP/1.0 request has none. */
  readonly host: string | undefined;
  /** The caller's `X-Request-Id`, decoded if it is UTF-8, or a generated id. */
  readonly requestId: string;
  /** The canonical address of the peer, or of the client behind a trusted proxy. */
  readonly clientAddress: string;
  /** The canonical address of the peer, which may be a proxy. */
  readonly peerAddress: string;
  /** Returns a header's value by lower-case name, one character per byte; repeated lines are joined with `", "`. */
  header(name: string): string | undefined;
  headerLines(name: string): readonly string[];
  /** Reads at most `bytesMax` bytes of the body; a second call throws. */
  readBody(bytesMax: number): Promise<Body>;
  /** The API key's id for the access log; set by a handler. */
  keyId: string | null;
  /** The event that a post created or repeated, for the access log; set by a handler. */
  eventId: string | null;
  /** The reason for a refusal, for the access log; never the caller's text. */
  reason: string | null;
  /** The matched route pattern, or `"-"`; set by the router. */
  route: string;
  /** The values of the `{name}` segments, still percent-encoded; set by the router. */
  params: Readonly<Record<string, string>>;
}

/** A response; the listener adds `X-Request-Id`, and `Content-Length` if the length is known. */
export interface Reply {
  readonly status: number;
  /** The values are Latin-1 text. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text is sent as UTF-8. A source is read at the client's pace and canceled if the client disconnects. */
  readonly body: string | Uint8Array | Source | null;
  /** The length in bytes of a source, or of the body that a HEAD omits. */
  readonly length?: number;
}

/** Handles a request. The listener logs an exception and sends the surface's fault reply. */
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>;
