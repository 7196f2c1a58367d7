/**
 * A posted body as text, and digests of what was posted.
 *
 * @module
 */

import { hash } from "node:crypto";
import type { Exchange } from "../http/exchange.ts";
import { type BodyFault, bytesFault } from "../lead/body_fault.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const encoded: BodyFault = {
  detail: "the body has a Content-Encoding; it is needed without one, uncompressed",
  reason: "content_encoding",
};

/**
 * The body's text, or what is wrong when it has a `Content-Encoding` or is not UTF-8. A byte order mark stays: the
 * raw body is kept whole.
 *
 * Source: DECISIONS, The lead envelope and The intake endpoint.
 */
export function bodyText(exchange: Exchange, bytes: Uint8Array): string | BodyFault {
  if (!isIdentity(exchange.header("content-encoding"))) return encoded;
  try {
    return utf8.decode(bytes);
  } catch {
    return bytesFault(bytes);
  }
}

/** What is wrong with a body that the client did not send to its end. */
export const brokenOff: BodyFault = {
  detail: "the body did not arrive whole",
  reason: "incomplete",
};

function isIdentity(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding === "" ||
    contentEncoding.toLowerCase() === "identity";
}

/** The first 128 bits of a SHA-256. Chosen: half of it, because it fits PostgreSQL's `uuid` and halves the index. */
export function digest128(data: string | Uint8Array): string {
  return hash("sha256", data, "hex").slice(0, 32);
}
