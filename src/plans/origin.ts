/**
 * Which browser origins may open a checkout, and the headers that tell the browser so.
 *
 * @module
 */

import { rateHeaderNames } from "../contract/rate_headers.ts";

/** Headers of every answer to an origin that is allowed. */
type CorsHeaders = Readonly<Record<string, string>>;

/** The answer depends on who asks, whoever asks. */
export const varyOrigin: CorsHeaders = { "Vary": "Origin" };

/**
 * The headers for an origin of the list; `null` for any other, for none, and for `null`.
 *
 * Compared as the browser writes it, character by character: RFC 6454, section 6.2. Two `Origin` headers are joined by
 * a comma and are no origin of the list.
 */
export function corsOf(origins: ReadonlySet<string>, origin: string | undefined): CorsHeaders | null {
  if (origin === undefined || !origins.has(origin)) return null;
  return {
    ...varyOrigin,
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Expose-Headers": ["Retry-After", ...rateHeaderNames, "X-Request-Id"].join(", "),
  };
}

/** What a preflight learns besides. */
export const preflight: CorsHeaders = {
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, X-Request-Id",
  // Chosen: as long as the feed is kept, so that an origin that was taken off the list notices soon.
  "Access-Control-Max-Age": "300",
};
