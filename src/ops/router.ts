/**
 * The operator's routes.
 *
 * @module
 */

import { json } from "../http/reply.ts";
import { Router } from "../http/router.ts";

/** What the routes work with. */
export interface OpsParts {
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

/** The surface's routes. */
export function opsRouter(_parts: OpsParts): Router {
  return new Router({
    notFound: ({ requestId }) => json(404, { error: "not_found", request_id: requestId }),
    methodNotAllowed: ({ requestId }) => json(405, { error: "method_not_allowed", request_id: requestId }),
  });
}
