/**
 * A posted body as text, and digests of what was posted.
 *
 * @module
 */

import { hash } from "node:crypto";
import type { Exchange } from "../http/exchange.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The body's text, or `null` for a `Content-Encoding` and for bytes that are not UTF-8. A byte order mark stays: the
 * raw body is kept whole.
 *
 * Source: DECISIONS, The lead envelope and The intake endpoint.
 */
export function bodyText(exchange: Exchange, bytes: Uint8Array): string | null {
  if (!isIdentity(exchange.header("content-encoding"))) return null;
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

function isIdentity(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding === "" ||
    contentEncoding.toLowerCase() === "identity";
}

/** The first 128 bits of a SHA-256. Chosen: half of it, because it fits PostgreSQL's `uuid` and halves the index. */
export function digest128(data: string | Uint8Array): string {
  return hash("sha256", data, "hex").slice(0, 32);
}
