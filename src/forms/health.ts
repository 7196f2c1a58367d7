/**
 * `GET /healthz` of the forms.
 *
 * @module
 */

import type { Handler } from "../http/exchange.ts";
import { text } from "../http/reply.ts";

/**
 * The handler: 200 with the text `ok`, or 503 when the store takes no writes or the process is stopping.
 *
 * Source: SPEC, Forms health. Chosen: 503 with a text that is not `ok`, because a balancer looks at the status and a
 * monitor at the word; no CORS header, because this surface has none.
 */
export function healthHandler(
  health: () => { readonly writable: boolean },
  isDraining: () => boolean,
): Handler {
  return () => health().writable && !isDraining() ? text(200, "ok") : text(503, "not accepting");
}
