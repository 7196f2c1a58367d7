/** The routes of the intake surface. */

import { projectServices, requiredFields } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { type DocumentSource, routeDocuments } from "../documents/handlers.ts";
import type { ReadRateLimiter } from "../gate/rate.ts";
import type { Handler, Reply } from "../http/exchange.ts";
import { type CachedResponse, CompressedText } from "../http/cached_response.ts";
import { json, publicRead, text } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import type { Area, Reference } from "../store/serving/reference.ts";
import { intakeHandler, type IntakeParts, refuse } from "./handle.ts";

export interface Health {
  readonly writable: boolean;
  readonly pending: number;
  readonly dead: number;
}

/**
 * Returns the handler for `GET /healthz`: 200 while the service accepts leads, otherwise 503. Source: SPEC,
 * Intake health; DECISIONS, The intake endpoint.
 */
export function healthHandler(health: () => Health, isDraining: () => boolean): Handler {
  return () => {
    const { writable, pending, dead } = health();
    const ok = writable && !isDraining();
    return json(ok ? 200 : 503, { ok, pending, dead, store_writable: writable }, publicRead);
  };
}

/**
 * Returns the handler for `GET /v1/vocabulary`: a snapshot that is at most five minutes old, or 503 if there is none.
 * Source: SPEC, Vocabulary; DECISIONS, The intake endpoint.
 */
export function vocabularyHandler(reference: () => Reference, nowMs: () => number): Handler {
  let cachedAreas: readonly Area[] | null = null;
  let cachedBody = "";
  let cachedResponse: CachedResponse | null = null;
  return (exchange) => {
    const { areas, readAtMs } = reference();
    if (nowMs() - readAtMs > limits.vocabularyMaxAgeSeconds * 1000) {
      return refuse("not_accepting", { requestId: exchange.requestId, headers: publicRead });
    }
    if (cachedAreas !== areas) {
      cachedAreas = areas;
      const body = JSON.stringify({
        project_area: areas,
        project_service: projectServices,
        required: requiredFields,
      });
      // The areas are read every second but rarely change.
      if (body !== cachedBody) {
        [cachedBody, cachedResponse] = [body, new CompressedText(body).replies(vocabularyHeaders)];
      }
    }
    return (cachedResponse as CachedResponse).replyTo(exchange);
  };
}

const vocabularyHeaders = {
  all: { ...publicRead, "Cache-Control": `public, max-age=${limits.vocabularyMaxAgeSeconds}` },
  content: { "Content-Type": "application/json" },
};

interface IntakeRouterParts extends IntakeParts {
  readonly health: () => Health;
  readonly isDraining: () => boolean;
  /** The limiter for all routes except `/v1/intake`. */
  readonly reads: ReadRateLimiter;
  readonly documents: DocumentSource;
}

const playgroundRedirect: Reply = text(302, "The playground is at /api\n", {
  "Location": "/api",
  ...publicRead,
});

/**
 * Returns the router for `/v1/intake`, `/v1/vocabulary`, `/healthz`, the redirect at `/` and the documents. Source:
 * SPEC, Endpoints.
 */
export function intakeRouter(parts: IntakeRouterParts): Router {
  const beforeReads = parts.reads.guard((headers) =>
    refuse("rate_limited", { requestId: null, headers: { ...publicRead, ...headers } })
  );
  const notFound: Handler = ({ requestId }) => refuse("not_found", { requestId });
  const router = new Router({
    beforeReads,
    notFound,
    methodNotAllowed: ({ requestId }) => refuse("method_not_allowed", { requestId, headers: publicRead }),
  })
    .any("/v1/intake", intakeHandler(parts))
    // Redirects GET and HEAD to the playground; any other method gets 404, not 405.
    .any(
      "/",
      (exchange) =>
        beforeReads(exchange) ??
          (/^(GET|HEAD)$/.test(exchange.method) ? playgroundRedirect : notFound(exchange)),
    )
    .get("/v1/vocabulary", vocabularyHandler(parts.reference, parts.nowMs))
    .get("/healthz", healthHandler(parts.health, parts.isDraining));
  return routeDocuments(router, "intake", parts.documents);
}
