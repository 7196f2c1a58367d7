/**
 * Prebuilt replies: plain and compressed bytes, headers and the 304, so that repeated reads cost little more than
 * sending.
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { parseAcceptEncoding, preferredCoding } from "./accept_encoding.ts";
import { hasTagWeakly, strongTag } from "./etag.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { empty } from "./reply.ts";

/**
 * ASCII text up to this length is sent with its headers. Longer text would be copied for each slow reader; bytes are
 * shared.
 */
const textLengthMax = 4_096;

/** The headers of a prebuilt reply. */
export interface CachedHeaders {
  /** For 200 and 304, such as `Cache-Control`; `ETag` and `Vary` are added. */
  readonly all: Readonly<Record<string, string>>;
  /** For 200 only, such as `Content-Type`. */
  readonly content: Readonly<Record<string, string>>;
}

interface Variant {
  readonly tag: string;
  readonly whole: Reply;
  readonly notModified: Reply;
}

/** A text in both codings. */
export class CompressedText {
  readonly #plain: Uint8Array;
  readonly #packed: Uint8Array;
  readonly #text: string;
  /** A content digest, for immutable addresses. */
  readonly version: string;

  /** Compresses the text, some milliseconds per 100 KB. */
  constructor(text: string) {
    this.#text = text;
    this.#plain = Buffer.from(text);
    this.#packed = gzipSync(this.#plain, { level: 9 });
    this.version = versionOf(text);
  }

  /** Its replies under these headers. */
  replies(headers: CachedHeaders): CachedResponse {
    const isShort = this.#plain.length === this.#text.length && this.#text.length <= textLengthMax;
    return new CachedResponse(
      variant(headers, { bytes: this.#plain, body: isShort ? this.#text : this.#plain, coding: {} }),
      variant(headers, {
        bytes: this.#packed,
        body: this.#packed,
        coding: { "Content-Encoding": "gzip" },
      }),
    );
  }
}

/** The replies to a GET: 200 or 304, plain or compressed. */
export class CachedResponse {
  readonly #identity: Variant;
  readonly #gzip: Variant;

  /** Created by {@linkcode CompressedText.replies}. */
  constructor(identity: Variant, gzip: Variant) {
    this.#identity = identity;
    this.#gzip = gzip;
  }

  /** Selects the reply for a request. RFC 9110, sections 12 and 13. */
  to(exchange: Exchange): Reply {
    const accepted = exchange.header("accept-encoding");
    const isPacked = accepted !== undefined &&
      preferredCoding(parseAcceptEncoding(accepted), ["gzip", "identity"]) === "gzip";
    const { tag, whole, notModified } = isPacked ? this.#gzip : this.#identity;
    const known = exchange.header("if-none-match");
    return known !== undefined && hasTagWeakly(known, tag) ? notModified : whole;
  }
}

/** The `ETag` without quotation marks. */
export function versionOf(text: string): string {
  return tagOf(Buffer.from(text)).slice(1, -1);
}

/** The tag covers the bytes as sent, so that all nodes agree. */
function tagOf(bytes: Uint8Array): string {
  return strongTag(createHash("sha256").update(bytes).digest());
}

function variant(
  { all, content }: CachedHeaders,
  { bytes, body, coding }: {
    bytes: Uint8Array;
    body: string | Uint8Array;
    coding: Readonly<Record<string, string>>;
  },
): Variant {
  const tag = tagOf(bytes);
  const headers = { ...all, "ETag": tag, "Vary": "Accept-Encoding" };
  return {
    tag,
    whole: {
      status: 200,
      headers: { ...content, ...headers, ...coding, "X-Content-Type-Options": "nosniff" },
      body,
    },
    notModified: empty(304, headers),
  };
}
