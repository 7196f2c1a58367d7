/**
 * The tenant forms routes.
 *
 * @module
 */

import { json } from "../http/reply.ts";
import { Router } from "../http/router.ts";

/** What the routes work with. */
export interface FormsParts {
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

/** The surface's routes. */
export function formsRouter(_parts: FormsParts): Router {
  return new Router({
    notFound: ({ requestId }) => json(404, { error: "not_found", request_id: requestId }),
    methodNotAllowed: ({ requestId }) => json(405, { error: "method_not_allowed", request_id: requestId }),
  });
}
