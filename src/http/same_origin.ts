/**
 * Whether a form was sent by one of our own pages.
 *
 * @module
 */

import type { Exchange } from "./exchange.ts";

/**
 * Whether a browser says that the request comes from the page's own origin. `Origin` is compared with the Host that was
 * asked for, which the listener has held against its own names; the scheme is left out, since an edge may speak TLS
 * before us. What says neither `Origin` nor `Sec-Fetch-Site` is no browser of today.
 */
export function isSameOrigin(exchange: Exchange): boolean {
  const site = exchange.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin") return false;
  const origin = exchange.header("origin");
  if (origin === undefined) return site === "same-origin";
  const host = exchange.header("host");
  return host !== undefined && /^https?:\/\/(.+)$/.exec(origin)?.[1]?.toLowerCase() === host.toLowerCase();
}
