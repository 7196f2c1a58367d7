/**
 * The plan feed and the checkout routes.
 *
 * @module
 */

import { Router } from "../http/router.ts";
import { anyOrigin, planFeedHandler } from "./feed.ts";
import { refusePlan } from "./reply.ts";

/** What the routes work with. */
export interface PlansParts {
  /** The plans as the text of a JSON array, or `null` when the store cannot be read. */
  readonly plans: () => string | null;
}

/**
 * The surface's routes. There is no catalog: 404, as the specification has it.
 *
 * Source: SPEC, Subscription plan feed, catalog and checkout.
 */
export function plansRouter(parts: PlansParts): Router {
  return new Router({
    notFound: ({ requestId }) => refusePlan("not_found", { requestId }),
    methodNotAllowed: ({ requestId }) => refusePlan("method_not_allowed", { requestId, headers: anyOrigin }),
  })
    .get("/api/plans", planFeedHandler(parts.plans));
}
