/**
 * The intake's routes.
 *
 * @module
 */

import { type DocumentSource, routeDocuments } from "../documents/handlers.ts";
import type { ReadBudget } from "../gate/rate.ts";
import type { Handler, Reply } from "../http/exchange.ts";
import { publicRead, text } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import { intakeHandler, type IntakeParts } from "./handle.ts";
import { type Health, healthHandler } from "./health.ts";
import { refuse } from "./reply.ts";
import { vocabularyHandler } from "./vocabulary.ts";

/** What the intake's routes work with, besides what the posts need. */
interface IntakeRouterParts extends IntakeParts {
  readonly health: () => Health;
  readonly isDraining: () => boolean;
  /** Spent by everything but the posts. */
  readonly reads: ReadBudget;
  readonly documents: DocumentSource;
}

const toPlayground: Reply = text(302, "The playground is at /api\n", { "Location": "/api", ...publicRead });

/** `POST /v1/intake`, `GET /v1/vocabulary`, `GET /healthz` and the documents. Source: SPEC, Endpoints. */
export function intakeRouter(parts: IntakeRouterParts): Router {
  const beforeReads = parts.reads.refuseBy((headers) =>
    refuse("rate_limited", { requestId: null, headers: { ...publicRead, ...headers } })
  );
  const notFound: Handler = ({ requestId }) => refuse("not_found", { requestId });
  const router = new Router({
    beforeReads,
    notFound,
    methodNotAllowed: ({ requestId }) => refuse("method_not_allowed", { requestId, headers: publicRead }),
  })
    .any("/v1/intake", intakeHandler(parts))
    // Whoever opens the bare address in a browser wants the playground. For any other method nothing is there: a post
    // that lacks its path is told so, and not that its method is wrong.
    .any(
      "/",
      (exchange) =>
        beforeReads(exchange) ?? (/^(GET|HEAD)$/.test(exchange.method) ? toPlayground : notFound(exchange)),
    )
    .get("/v1/vocabulary", vocabularyHandler(parts.reference, parts.nowMs))
    .get("/healthz", healthHandler(parts.health, parts.isDraining));
  return routeDocuments(router, "intake", parts.documents);
}
