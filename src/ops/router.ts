/**
 * The operator's routes.
 *
 * @module
 */

import { json } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import type { ConsoleParts } from "./console/context.ts";
import { addConsole } from "./console/router.ts";

/** What the routes work with. */
export interface OpsParts {
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  readonly console: ConsoleParts;
}

/** The surface's routes. */
export function opsRouter(parts: OpsParts): Router {
  const router = new Router({
    notFound: ({ requestId }) => json(404, { error: "not_found", request_id: requestId }),
    methodNotAllowed: ({ requestId }) => json(405, { error: "method_not_allowed", request_id: requestId }),
  });
  addConsole(router, parts.console);
  return router;
}
