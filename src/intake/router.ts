/**
 * The intake's routes, without the documents.
 *
 * @module
 */

import { Router } from "../http/router.ts";
import { intakeHandler, type IntakeParts } from "./handle.ts";
import { type Health, healthHandler } from "./health.ts";
import { publicRead, refuse } from "./reply.ts";
import { vocabularyHandler } from "./vocabulary.ts";

/** What the intake's routes work with, besides what the posts need. */
export interface IntakeRouterParts extends IntakeParts {
  readonly health: () => Health;
  readonly isDraining: () => boolean;
}

/** `POST /v1/intake`, `GET /v1/vocabulary` and `GET /healthz`. Source: SPEC, Endpoints. */
export function intakeRouter(parts: IntakeRouterParts): Router {
  return new Router({
    notFound: ({ requestId }) => refuse("not_found", { requestId }),
    methodNotAllowed: ({ requestId }) => refuse("method_not_allowed", { requestId, headers: publicRead }),
  })
    .any("/v1/intake", intakeHandler(parts))
    .get("/v1/vocabulary", vocabularyHandler(parts.reference, parts.nowMs))
    .get("/healthz", healthHandler(parts.health, parts.isDraining));
}
