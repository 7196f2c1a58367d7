/** Replies that are built once, plain and compressed with gzip, so that reads cost little more than sending them. */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { parseAcceptEncoding, preferredCoding } from "./accept_encoding.ts";
import { hasTagWeakly, strongTag } from "./conditional.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { empty } from "./reply.ts";

/**
 * The maximum length of ASCII text that is sent in one write with its headers. Longer text would be copied for each
 * slow reader, whereas bytes are shared.
 */
const textLengthMax = 4_096;

interface CachedHeaders {
  /** The headers of the 200 and the 304, such as `Cache-Control`; `ETag` and `Vary` are added. */
  readonly all: Readonly<Record<string, string>>;
  /** The headers of the 200 only, such as `Content-Type`. */
  readonly content: Readonly<Record<string, string>>;
}

interface Variant {
  readonly tag: string;
  readonly ok: Reply;
  readonly notModified: Reply;
}

export class CompressedText {
  readonly #plain: Uint8Array;
  readonly #gzip: Uint8Array;
  readonly #text: string;
  /** The text's digest, for immutable URLs. */
  readonly version: string;

  /** Compresses the text, which takes a few milliseconds per 100 KB. */
  constructor(text: string) {
    this.#text = text;
    this.#plain = Buffer.from(text);
    this.#gzip = gzipSync(this.#plain, { level: 9 });
    this.version = versionOf(text);
  }

  replies(headers: CachedHeaders): CachedResponse {
    const isShort = this.#plain.length === this.#text.length && this.#text.length <= textLengthMax;
    return new CachedResponse(
      buildVariant(headers, { bytes: this.#plain, body: isShort ? this.#text : this.#plain, coding: {} }),
      buildVariant(headers, { bytes: this.#gzip, body: this.#gzip, coding: { "Content-Encoding": "gzip" } }),
    );
  }
}

/** The replies to a GET: 200 and 304, plain and compressed. */
export class CachedResponse {
  readonly #identity: Variant;
  readonly #gzip: Variant;

  constructor(identity: Variant, gzip: Variant) {
    this.#identity = identity;
    this.#gzip = gzip;
  }

  replyTo(exchange: Exchange): Reply {
    const accepted = exchange.header("accept-encoding");
    const isGzip = accepted !== undefined &&
      preferredCoding(parseAcceptEncoding(accepted), ["gzip", "identity"]) === "gzip";
    const { tag, ok, notModified } = isGzip ? this.#gzip : this.#identity;
    const ifNoneMatch = exchange.header("if-none-match");
    return ifNoneMatch !== undefined && hasTagWeakly(ifNoneMatch, tag) ? notModified : ok;
  }
}

/** Returns a text's entity tag without its quotation marks. */
export function versionOf(text: string): string {
  return computeTag(Buffer.from(text)).slice(1, -1);
}

function computeTag(bytes: Uint8Array): string {
  return strongTag(createHash("sha256").update(bytes).digest());
}

function buildVariant(
  { all, content }: CachedHeaders,
  { bytes, body, coding }: {
    bytes: Uint8Array;
    body: string | Uint8Array;
    coding: Readonly<Record<string, string>>;
  },
): Variant {
  const tag = computeTag(bytes);
  const headers = { ...all, "ETag": tag, "Vary": "Accept-Encoding" };
  return {
    tag,
    ok: {
      status: 200,
      headers: { ...content, ...headers, ...coding, "X-Content-Type-Options": "nosniff" },
      body,
    },
    notModified: empty(304, headers),
  };
}
