/**
 * The published documents under `/api`: compressed for whoever accepts that, with a strong `ETag`.
 *
 * @module
 */

import { hash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { documentEncoding, type DocumentName, type DocumentRule, documents } from "../contract/documents.ts";
import { parseAcceptEncoding, weightOf } from "../http/accept_encoding.ts";
import { hasTagWeakly } from "../http/etag.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { empty } from "../http/reply.ts";
import { publicRead } from "./reply.ts";

/** A document as it is sent. */
interface Rendered {
  readonly version: string;
  readonly plain: Uint8Array;
  readonly packed: Uint8Array;
}

/**
 * The handler of one document. `text` is called once, by the first request: only then is the listener's own
 * address known, which the documents name.
 *
 * Source: SPEC, GET openapi.json and INTEGRATION.md; DECISIONS, The intake endpoint.
 */
export function documentHandler(name: DocumentName, text: () => string): Handler {
  let rendered: Rendered | undefined;
  return (exchange) => answer(documents[name], rendered ??= render(text()), exchange);
}

/** The version of a text, for `ETag` and addresses: 80 bits of its SHA-256. */
export function versionOf(text: string): string {
  return hash("sha256", text, "hex").slice(0, 20);
}

function render(text: string): Rendered {
  const plain = new TextEncoder().encode(text);
  return { version: versionOf(text), plain, packed: gzipSync(plain, { level: 9 }) };
}

function answer(rule: DocumentRule, { version, plain, packed }: Rendered, exchange: Exchange): Reply {
  const isPacked = weightOf(parseAcceptEncoding(exchange.header("accept-encoding")), documentEncoding) > 0;
  // A strong tag names the bytes as they are sent.
  const tag = isPacked ? `"${version}-${documentEncoding}"` : `"${version}"`;
  const isVersion = rule.cachingOfVersion !== undefined && exchange.query === `v=${version}`;
  const headers = {
    ...publicRead,
    "Cache-Control": isVersion ? rule.cachingOfVersion as string : rule.caching,
    "ETag": tag,
    "Vary": "Accept-Encoding",
  };
  if (hasTagWeakly(exchange.header("if-none-match") ?? "", tag)) return empty(304, headers);
  return {
    status: 200,
    headers: {
      "Content-Type": rule.contentType,
      ...headers,
      ...rule.headers,
      "X-Content-Type-Options": "nosniff",
      ...(isPacked ? { "Content-Encoding": documentEncoding } : {}),
    },
    body: isPacked ? packed : plain,
  };
}
