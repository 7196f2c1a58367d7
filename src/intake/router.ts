/** The intake's routes. */

import { projectServices, requiredFields } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { type DocumentSource, routeDocuments } from "../documents/handlers.ts";
import type { ReadBudget } from "../gate/rate.ts";
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
 * `GET /healthz`: 200 while the service takes leads, otherwise 503. Source: SPEC, Intake health; DECISIONS, The
 * intake endpoint.
 */
export function healthHandler(health: () => Health, isDraining: () => boolean): Handler {
  return () => {
    const { writable, pending, dead } = health();
    const ok = writable && !isDraining();
    return json(ok ? 200 : 503, { ok, pending, dead, store_writable: writable }, publicRead);
  };
}

/**
 * `GET /v1/vocabulary`: a snapshot at most five minutes old, rendered when it changes. Source: SPEC, Vocabulary;
 * DECISIONS, The intake endpoint.
 */
export function vocabularyHandler(reference: () => Reference, nowMs: () => number): Handler {
  let areasRead: readonly Area[] | null = null;
  let text = "";
  let replies: CachedResponse | null = null;
  return (exchange) => {
    const { areas, readAtMs } = reference();
    if (nowMs() - readAtMs > limits.vocabularyMaxAgeSeconds * 1000) {
      return refuse("not_accepting", { requestId: exchange.requestId, headers: publicRead });
    }
    if (areasRead !== areas) {
      areasRead = areas;
      const now = JSON.stringify({
        project_area: areas,
        project_service: projectServices,
        required: requiredFields,
      });
      // The snapshot is read every second and rarely changes.
      if (now !== text) [text, replies] = [now, new CompressedText(now).replies(headers)];
    }
    return (replies as CachedResponse).to(exchange);
  };
}

const headers = {
  all: { ...publicRead, "Cache-Control": `public, max-age=${limits.vocabularyMaxAgeSeconds}` },
  content: { "Content-Type": "application/json" },
};

interface IntakeRouterParts extends IntakeParts {
  readonly health: () => Health;
  readonly isDraining: () => boolean;
  /** Spent by every route except the posts. */
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
    // A browser at the bare address gets the playground. A post without a path is 404, not 405.
    .any(
      "/",
      (exchange) =>
        beforeReads(exchange) ?? (/^(GET|HEAD)$/.test(exchange.method) ? toPlayground : notFound(exchange)),
    )
    .get("/v1/vocabulary", vocabularyHandler(parts.reference, parts.nowMs))
    .get("/healthz", healthHandler(parts.health, parts.isDraining));
  return routeDocuments(router, "intake", parts.documents);
}
