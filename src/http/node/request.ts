/** Reads the headers and body of Node's requests. */

import type { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { BodyBuffer } from "../body_buffer.ts";
import type { Body } from "../exchange.ts";
import type { RefusalStatus } from "../options.ts";
import { isHost, parseTarget } from "../target.ts";
import { type Bounds, fixedBounds } from "./defenses/bounds.ts";

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** The headers that the listener itself reads. */
interface ScannedHeaders {
  /** The `Host`; `null` if repeated. */
  host: string | null | undefined;
  authority: string | undefined;
  /** The first `X-Request-Id`. */
  requestId: string | undefined;
  /** The `Content-Length`; `NaN` if absent. */
  announcedBytes: number;
  /** All values of `Transfer-Encoding`, in order. */
  transferEncoding: string | undefined;
  /** The total length of names and values, plus four bytes per line. */
  bytes: number;
  lines: number;
  hasUpgrade: boolean;
}

/** Scans Node's flat list of names and values once, and trims the values in place, as the HTTP/1 parser does. */
function scanHeaders(rawHeaders: string[]): ScannedHeaders {
  const headers: ScannedHeaders = {
    host: undefined,
    authority: undefined,
    requestId: undefined,
    announcedBytes: NaN,
    transferEncoding: undefined,
    bytes: 0,
    lines: rawHeaders.length / 2,
    hasUpgrade: false,
  };
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    const value = rawHeaders[index + 1] = trimBlanks(rawHeaders[index + 1] as string);
    headers.bytes += name.length + value.length + 4;
    // Comparing lengths first rules out most names.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "host") headers.host = headers.host === undefined ? value : null;
        break;
      case 7:
        if (name.toLowerCase() === "upgrade") headers.hasUpgrade = true;
        break;
      case 10:
        if (name === ":authority") headers.authority = value;
        break;
      case 12:
        if (name.toLowerCase() === "x-request-id") headers.requestId ??= value;
        break;
      case 14:
        if (name.toLowerCase() === "content-length") headers.announcedBytes = Number(value);
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") {
          const { transferEncoding: earlier } = headers;
          headers.transferEncoding = earlier === undefined ? value : `${earlier}, ${value}`;
        }
        break;
    }
  }
  return headers;
}

/**
 * Returns the request's host; `undefined` if an HTTP/1.0 client omits it, `null` if it is missing, malformed or
 * contradictory. `target` is the authority of an absolute-form target.
 */
function requestHost(
  headers: ScannedHeaders,
  options: { target: string | null; isHttp10: boolean },
): string | null | undefined {
  const { host, authority } = headers;
  if (host === null) return null;
  if (authority !== undefined && host !== undefined && host !== authority) return null;
  if (host !== undefined && !isHost(host)) return null;
  const named = options.target ?? authority ?? host;
  if (named === undefined) return options.isHttp10 ? undefined : null;
  return isHost(named) ? named : null;
}

/**
 * Returns the status with which to refuse a request because of its headers, or `null`.
 *
 * Source: RFC 9112, sections 3.2, 6.1 and 7. Chosen: 501 for a coding before chunked, which node:http does not decode;
 * 400 on HTTP/1.0, or unless chunked occurs once and last, because the body's end is then unknown.
 */
function refusalOf(
  headers: ScannedHeaders,
  options: { bounds: Bounds; host: string | null | undefined; isHttp10: boolean },
): RefusalStatus | null {
  const { bounds, host, isHttp10 } = options;
  if (headers.bytes > bounds.headerBytesMax || headers.lines > bounds.headerLinesMax) return 431;
  if (host === null) return 400;
  if (headers.transferEncoding === undefined) return null;
  const codings = headers.transferEncoding.toLowerCase().split(",").map((coding) => coding.trim());
  if (isHttp10 || codings.indexOf("chunked") !== codings.length - 1) return 400;
  return codings.length === 1 ? null : 501;
}

interface Head {
  readonly path: string;
  readonly query: string;
  /** `null` if invalid. */
  readonly host: string | null | undefined;
  /** The status with which to refuse the request, or `null`. */
  readonly refusal: RefusalStatus | null;
  readonly headers: ScannedHeaders;
}

export function readHead(request: IncomingMessage, bounds: Bounds): Head {
  // CONNECT over HTTP/2 has no :path.
  const { path, query, authority } = parseTarget(request.url ?? "");
  const headers = scanHeaders(request.rawHeaders);
  const isHttp10 = request.httpVersion === "1.0";
  const host = requestHost(headers, { target: authority, isHttp10 });
  // Node's HTTP/1 parser also accepts versions 0.9 and 2.0.
  const isOtherVersion = request.httpVersionMajor !== 1 && !("stream" in request);
  const refusal = isOtherVersion ? 400 : refusalOf(headers, { bounds, host, isHttp10 });
  return { path, query, host, headers, refusal };
}

/** Returns the values of all header lines with this name, which must be in lower case. */
export function headerLines(rawHeaders: readonly string[], name: string): string[] {
  const lines: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const candidate = rawHeaders[index] as string;
    if (candidate.length !== name.length) continue;
    if (candidate !== name && candidate.toLowerCase() !== name) continue;
    lines.push(rawHeaders[index + 1] as string);
  }
  return lines;
}

/** Trims spaces and tabs. `trim` would also remove 0xA0, a byte of UTF-8, and a regular expression is quadratic. */
function trimBlanks(value: string): string {
  let [start, end] = [0, value.length];
  while (isBlank(value.charCodeAt(start))) start++;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x9;

export const tooLarge: Body = { kind: "too_large" };
export const incomplete: Body = { kind: "incomplete" };
export const emptyBody: Body = { kind: "complete", bytes: new Uint8Array(0) };

interface NodeBodyOptions {
  /** The `Content-Length`; `NaN` if absent. */
  readonly announcedBytes: number;
  readonly discardBytesMax: number;
  readonly onChunk: (bytes: number) => void;
  /** Called when the discarded bytes exceed `discardBytesMax`, or there are too many small chunks. */
  readonly onOverrun: () => void;
}

/** A request body that is read up to a cap or discarded. */
export class NodeBody {
  readonly announcedBytes: number;
  readonly #request: IncomingMessage;
  readonly #options: NodeBodyOptions;
  #isListening = false;
  #buffer: BodyBuffer | null = null;
  #resolve: ((body: Body) => void) | null = null;
  #onDiscarded: (() => unknown) | null = null;
  #discardedBytes = 0;
  #bytes = 0;
  #chunks = 0;

  constructor(request: IncomingMessage, options: NodeBodyOptions) {
    this.#request = request;
    this.#options = options;
    this.announcedBytes = options.announcedBytes;
  }

  get isBeingRead(): boolean {
    return this.#resolve !== null;
  }

  read(bytesMax: number): Promise<Body> {
    this.#buffer = new BodyBuffer({ bytesMax, expected: this.announcedBytes || 0 });
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#listen();
    });
  }

  /** Discards the rest of the body, then calls `onDiscarded`. */
  discard(onDiscarded: () => unknown): void {
    this.#onDiscarded = onDiscarded;
    this.#listen();
    this.#request.resume();
  }

  /** Ends a pending read, because the rest of the body will not arrive. */
  abort(): void {
    this.#settle(incomplete);
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#request.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#request.on("end", () => this.#onEnd());
  }

  #onData(chunk: Buffer): void {
    this.#options.onChunk(chunk.byteLength);
    this.#bytes += chunk.byteLength;
    this.#chunks++;
    if (this.#chunks > fixedBounds.bodyChunksMax + this.#bytes / fixedBounds.bodyChunkBytesMin) {
      this.#options.onOverrun();
      return;
    }
    if (this.#buffer !== null) {
      if (this.#buffer.append(chunk)) return;
      this.#settle(tooLarge);
    }
    this.#discardedBytes += chunk.byteLength;
    if (this.#discardedBytes > this.#options.discardBytesMax) this.#options.onOverrun();
  }

  #onEnd(): void {
    if (this.#buffer !== null) this.#settle({ kind: "complete", bytes: this.#buffer.bytes });
    this.#onDiscarded?.();
  }

  #settle(body: Body): void {
    this.#buffer = null;
    const resolve = this.#resolve;
    this.#resolve = null;
    resolve?.(body);
  }
}
