/**
 * `GET /api/plans`: the plans from a snapshot, rendered once a version.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { limits } from "../contract/limits.ts";
import { parseAcceptEncoding, preferredCoding } from "../http/accept_encoding.ts";
import { hasTagWeakly, strongTag } from "../http/etag.ts";
import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { empty } from "../http/reply.ts";
import { refusePlan } from "./reply.ts";

/** Any site's scripts may read the feed. */
export const anyOrigin: Readonly<Record<string, string>> = { "Access-Control-Allow-Origin": "*" };

/** One representation of the feed. */
interface Variant {
  readonly tag: string;
  readonly whole: Reply;
  readonly notModified: Reply;
}

/** A version of the feed in its two representations. */
interface Rendered {
  readonly text: string;
  readonly identity: Variant;
  readonly gzip: Variant;
}

/**
 * The handler. `snapshot` gives the array's JSON text, or `null` when the store cannot be read: then the answer is 503
 * and never an empty list, which would read as "nothing is for sale".
 *
 * Source: SPEC, GET plans; DECISIONS, Plans, checkout, site.
 */
export function planFeedHandler(snapshot: () => string | null): Handler {
  let rendered: Rendered | null = null;
  return (exchange) => {
    const text = snapshot();
    if (text === null) {
      return refusePlan("not_accepting", { requestId: exchange.requestId, headers: anyOrigin });
    }
    if (rendered?.text !== text) rendered = render(text);
    return answer(rendered, exchange);
  };
}

function answer({ identity, gzip }: Rendered, exchange: Exchange): Reply {
  const accepted = exchange.header("accept-encoding");
  const isPacked = accepted !== undefined &&
    preferredCoding(parseAcceptEncoding(accepted), ["gzip", "identity"]) === "gzip";
  const variant = isPacked ? gzip : identity;
  const known = exchange.header("if-none-match");
  return known !== undefined && hasTagWeakly(known, variant.tag) ? variant.notModified : variant.whole;
}

function render(text: string): Rendered {
  const plain = new TextEncoder().encode(text);
  return {
    text,
    // Text of ASCII alone goes out in one piece with the headers, bytes in a second one.
    identity: variant(plain, { body: plain.length === text.length ? text : plain, coding: {} }),
    gzip: variant(gzipSync(plain, { level: 9 }), { coding: { "Content-Encoding": "gzip" } }),
  };
}

/** The tag names the bytes as they are sent, so that every node has the same. */
function variant(
  bytes: Uint8Array,
  { body = bytes, coding }: { body?: string | Uint8Array; coding: Readonly<Record<string, string>> },
): Variant {
  const tag = strongTag(createHash("sha256").update(bytes).digest());
  const headers = {
    ...anyOrigin,
    "Cache-Control": `public, max-age=${limits.plansMaxAgeSeconds}`,
    "ETag": tag,
    "Vary": "Accept-Encoding",
  };
  return {
    tag,
    whole: {
      status: 200,
      headers: {
        "Content-Type": "application/json",
        ...headers,
        ...coding,
        "X-Content-Type-Options": "nosniff",
      },
      body,
    },
    notModified: empty(304, headers),
  };
}
