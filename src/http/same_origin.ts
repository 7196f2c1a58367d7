/** Same-origin check for form posts. */

import type { Exchange } from "./exchange.ts";

/**
 * Whether the browser sent the request from the page's own origin. Compares `Origin` with the validated Host, without
 * the scheme, because an edge may terminate TLS. All current browsers send `Origin` or `Sec-Fetch-Site`.
 */
export function isSameOrigin(exchange: Exchange): boolean {
  const site = exchange.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin") return false;
  const origin = exchange.header("origin");
  if (origin === undefined) return site === "same-origin";
  const host = exchange.header("host");
  return host !== undefined && /^https?:\/\/(.+)$/.exec(origin)?.[1]?.toLowerCase() === host.toLowerCase();
}
