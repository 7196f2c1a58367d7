/** Builds responses for the operator's listener, which caches must not store. */

import type { Reply } from "../http/exchange.ts";
import { noStore } from "../http/reply.ts";
import type { Source } from "../http/source.ts";

/**
 * The headers of every data response. They forbid caching, content sniffing and embedding by other origins, and suppress
 * `Referer`, because the URL may contain personal data.
 */
const dataHeaders = Object.freeze({
  "Cache-Control": noStore,
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
});

export function jsonReply(status: number, body: string): Reply {
  return { status, headers: { ...dataHeaders, "Content-Type": "application/json" }, body };
}

/** Returns a text response; `headers` must include `Content-Type`. */
export function textReply(body: string | Source, headers: Readonly<Record<string, string>>): Reply {
  return { status: 200, headers: { ...dataHeaders, ...headers }, body };
}

/** The error codes of the operator's listener, with their HTTP statuses. */
export const opsErrors = {
  invalid_parameter: 400,
  // A search that takes too long.
  too_broad: 400,
  not_found: 404,
  method_not_allowed: 405,
  not_available: 503,
} as const;

/** Returns an error response, with `members` added to the body. */
export function opsError(
  code: keyof typeof opsErrors,
  requestId: string,
  members: Readonly<Record<string, string>> = {},
): Reply {
  return jsonReply(opsErrors[code], JSON.stringify({ error: code, ...members, request_id: requestId }));
}
