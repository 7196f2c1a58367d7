/** Request headers on Node. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { RefusalStatus } from "../options.ts";
import type { Bounds } from "./defences/bounds.ts";
import { isHost, parseTarget } from "../target.ts";

/** A request of either protocol. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
/** A response of either protocol. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Headers that the kit itself reads. */
export interface ScannedHeaders {
  /** The `Host`; `null` if repeated. */
  host: string | null | undefined;
  authority: string | undefined;
  /** The first `X-Request-Id`. */
  requestId: string | undefined;
  /** NaN without `Content-Length`. */
  announcedBytes: number;
  /** All values, in order. */
  transferEncoding: string | undefined;
  /** All names and values, plus four bytes a line. */
  bytes: number;
  lines: number;
  /** Whether an `Upgrade` is requested. */
  hasUpgrade: boolean;
}

/** Scans Node's flat list of names and values once; HTTP/1's parser has trimmed them. */
function scanHeaders(rawHeaders: string[]): ScannedHeaders {
  const found: ScannedHeaders = {
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
    const value = rawHeaders[index + 1] = trimmed(rawHeaders[index + 1] as string);
    found.bytes += name.length + value.length + 4;
    // Lengths distinguish most headers without a comparison.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "host") found.host = found.host === undefined ? value : null;
        break;
      case 7:
        if (name.toLowerCase() === "upgrade") found.hasUpgrade = true;
        break;
      case 10:
        if (name === ":authority") found.authority = value;
        break;
      case 12:
        if (name.toLowerCase() === "x-request-id") found.requestId ??= value;
        break;
      case 14:
        if (name.toLowerCase() === "content-length") found.announcedBytes = Number(value);
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") {
          found.transferEncoding = joined(found.transferEncoding, value);
        }
        break;
    }
  }
  return found;
}

/**
 * The request's host; `undefined` if absent (HTTP/1.0), `null` if malformed, missing or contradictory. `target` is the
 * authority of an absolute-form target.
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
 * The status that refuses a request for its headers alone: too many, too large, an invalid host, or an unsupported
 * transfer coding.
 *
 * Source: RFC 9112, sections 3.2, 6.1 and 7. Chosen: 501 for a coding before chunked, which would be read as the body;
 * 400 if chunked is not the last and only one, or on HTTP/1.0, because the body's end is unknown.
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

/** The parsed head of a request. */
export interface Head {
  readonly path: string;
  readonly query: string;
  /** `null` if invalid. */
  readonly host: string | null | undefined;
  /** The status of the refusal. */
  readonly refusal: RefusalStatus | null;
  readonly headers: ScannedHeaders;
}

/** Parses the head of a request. */
export function readHead(request: IncomingMessage, bounds: Bounds): Head {
  // CONNECT over HTTP/2 has no :path.
  const { path, query, authority } = parseTarget(request.url ?? "");
  const headers = scanHeaders(request.rawHeaders);
  const isHttp10 = request.httpVersion === "1.0";
  const host = requestHost(headers, { target: authority, isHttp10 });
  // HTTP/1's parser also accepts 0.9 and 2.0.
  const isOther = request.httpVersionMajor !== 1 && !("stream" in request);
  const refusal = isOther ? 400 : refusalOf(headers, { bounds, host, isHttp10 });
  return { path, query, host, headers, refusal };
}

/** A header's values by lower-case name, one per line. */
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

/** Trims spaces and tabs; `trim` would remove a byte of UTF-8, and a pattern reads long runs twice. */
function trimmed(value: string): string {
  let [start, end] = [0, value.length];
  while (isBlank(value.charCodeAt(start))) start++;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x9;

function joined(values: string | undefined, next: string): string {
  return values === undefined ? next : `${values}, ${next}`;
}
