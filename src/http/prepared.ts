/**
 * A reply that is made once and sent often: its bytes plain and packed, its headers, its 304. A request chooses among
 * them and makes nothing, so that a reader who asks a thousand times costs little more than the sending.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { parseAcceptEncoding, preferredCoding } from "./accept_encoding.ts";
import { hasTagWeakly, strongTag } from "./etag.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { empty } from "./reply.ts";

/**
 * Text of ASCII alone up to this many characters goes out in one piece with its headers. Longer, it would be copied for
 * each reader, and a thousand who do not read would hold a thousand copies; bytes are shared.
 */
const textLengthMax = 4_096;

/** The headers of a prepared reply. */
export interface PreparedHeaders {
  /** Of the 200 and the 304: `Cache-Control` and the like. `ETag` and `Vary` are added. */
  readonly all: Readonly<Record<string, string>>;
  /** Of the 200 alone: `Content-Type` and what the content needs. */
  readonly content: Readonly<Record<string, string>>;
}

interface Variant {
  readonly tag: string;
  readonly whole: Reply;
  readonly notModified: Reply;
}

/** A text as it is sent, in both codings. */
export class Prepared {
  readonly #plain: Uint8Array;
  readonly #packed: Uint8Array;
  readonly #text: string;
  /** What tells this text from any other: for an address that may be kept for good. */
  readonly version: string;

  /** Packs the text, which takes some milliseconds for a hundred kilobytes. */
  constructor(text: string) {
    this.#text = text;
    this.#plain = Buffer.from(text);
    this.#packed = gzipSync(this.#plain, { level: 9 });
    this.version = versionOf(text);
  }

  /** The replies to whoever asks for it, under these headers. */
  replies(headers: PreparedHeaders): PreparedReplies {
    const isShort = this.#plain.length === this.#text.length && this.#text.length <= textLengthMax;
    return new PreparedReplies(
      variant(headers, { bytes: this.#plain, body: isShort ? this.#text : this.#plain, coding: {} }),
      variant(headers, {
        bytes: this.#packed,
        body: this.#packed,
        coding: { "Content-Encoding": "gzip" },
      }),
    );
  }
}

/** The replies to a GET of one text: 200 or 304, plain or packed. */
export class PreparedReplies {
  readonly #identity: Variant;
  readonly #gzip: Variant;

  /** Made by {@linkcode Prepared.replies}. */
  constructor(identity: Variant, gzip: Variant) {
    this.#identity = identity;
    this.#gzip = gzip;
  }

  /** The one for this request: packed for whoever accepts that, 304 for whoever has it. RFC 9110, sections 12 and 13. */
  to(exchange: Exchange): Reply {
    const accepted = exchange.header("accept-encoding");
    const isPacked = accepted !== undefined &&
      preferredCoding(parseAcceptEncoding(accepted), ["gzip", "identity"]) === "gzip";
    const { tag, whole, notModified } = isPacked ? this.#gzip : this.#identity;
    const known = exchange.header("if-none-match");
    return known !== undefined && hasTagWeakly(known, tag) ? notModified : whole;
  }
}

/** What tells a text from any other: its `ETag` without the quotation marks. */
export function versionOf(text: string): string {
  return tagOf(Buffer.from(text)).slice(1, -1);
}

/** The tag names the bytes as they are sent, so that every node has the same. */
function tagOf(bytes: Uint8Array): string {
  return strongTag(createHash("sha256").update(bytes).digest());
}

function variant(
  { all, content }: PreparedHeaders,
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
