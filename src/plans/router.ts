/** Routes the plan feed, the buy pages, the checkout and the provider's webhook. */

import { Router } from "../http/router.ts";
import { buyHandler, type BuyParts } from "./buy.ts";
import { checkoutHandler } from "./checkout.ts";
import { anyOrigin, planFeedHandler } from "./feed.ts";
import { refusePlan } from "./reply.ts";
import { webhookHandler, type WebhookParts } from "./stripe_webhook.ts";

interface PlansParts extends BuyParts, WebhookParts {}

const feedPath = "/api/plans";

/** Creates the router. There is no catalog. Source: SPEC, Subscription plan feed, catalog and checkout. */
export function plansRouter(parts: PlansParts): Router {
  return new Router({
    beforeReads: parts.reads.guard((headers) =>
      refusePlan("rate_limited", { requestId: null, headers: { ...anyOrigin, ...headers } })
    ),
    notFound: ({ requestId }) => refusePlan("not_found", { requestId }),
    methodNotAllowed: ({ requestId, route }) =>
      refusePlan("method_not_allowed", { requestId, ...(route === feedPath ? { headers: anyOrigin } : {}) }),
  })
    .get(feedPath, planFeedHandler(parts.plans))
    .any("/buy/{plan}", buyHandler(parts))
    .any("/api/checkout/sessions", checkoutHandler(parts))
    .post("/api/stripe/webhook", webhookHandler(parts));
}
