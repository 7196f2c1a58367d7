/**
 * What the kit itself wants of a request's headers.
 *
 * @module
 */

import { isHost } from "./target.ts";

/** The outcome of {@linkcode scanHeaders}. */
export interface ScannedHeaders {
  /** The value of `Host`; `null` when there are several. */
  host: string | null | undefined;
  /** HTTP/2's `:authority`. */
  authority: string | undefined;
  /** The first `X-Request-Id`. */
  requestId: string | undefined;
  /** NaN when there is no `Content-Length`. */
  announcedBytes: number;
  isChunked: boolean;
  /** All names and values, and four bytes for each line. */
  headerBytes: number;
}

/** Finds them in one pass over Node's flat list of names and values. */
export function scanHeaders(rawHeaders: readonly string[]): ScannedHeaders {
  const found: ScannedHeaders = {
    host: undefined,
    authority: undefined,
    requestId: undefined,
    announcedBytes: NaN,
    isChunked: false,
    headerBytes: 0,
  };
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    const value = rawHeaders[index + 1] as string;
    found.headerBytes += name.length + value.length + 4;
    // The lengths tell most headers apart without a comparison of text.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "host") found.host = found.host === undefined ? value : null;
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
        if (name.toLowerCase() === "transfer-encoding") found.isChunked = true;
        break;
    }
  }
  return found;
}

/**
 * The host a request is for; `undefined` when it names none, which HTTP/1.0 may, and `null` when it is
 * malformed, missing or contradictory. `target` is the authority of an absolute-form request target.
 */
export function requestHost(
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

/** A header's value by lower-case name; several are joined by `", "`. */
export function headerValue(rawHeaders: readonly string[], name: string): string | undefined {
  let value: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const candidate = rawHeaders[index] as string;
    if (candidate.length !== name.length) continue;
    if (candidate !== name && candidate.toLowerCase() !== name) continue;
    const next = rawHeaders[index + 1] as string;
    value = value === undefined ? next : `${value}, ${next}`;
  }
  return value;
}
