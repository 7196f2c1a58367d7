/** The tenant forms routes. */

import { type DocumentSource, routeDocuments } from "../documents/handlers.ts";
import type { ReadBudget } from "../gate/rate.ts";
import type { Handler } from "../http/exchange.ts";
import { text } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import { heldLinkPath } from "../store/serving/held_links.ts";
import { formsHandler, type FormsParts, refuse } from "./handle.ts";
import { heldPageHandler, type HeldPageParts } from "./held_page.ts";

/** What the routes work with, besides what the posts need. */
interface FormsRouterParts extends FormsParts {
  readonly health: () => { readonly writable: boolean };
  readonly isDraining: () => boolean;
  /** Spent by everything but the posts. */
  readonly reads: ReadBudget;
  readonly documents: DocumentSource;
  /** `null`: no digest has links. */
  readonly held: Omit<HeldPageParts, "reads"> | null;
}

/**
 * `POST /v1/forms/{tenant}/{form_key}`, `GET /healthz`, the documents, and the page of a digest's links. Source: SPEC,
 * Endpoints; DECISIONS, Decided since (Digest actions).
 */
export function formsRouter(parts: FormsRouterParts): Router {
  const router = new Router({
    beforeReads: parts.reads.refuseBy((headers) => refuse("rate_limited", { requestId: null, headers })),
    notFound: ({ requestId }) => refuse("not_found", { requestId }),
    methodNotAllowed: ({ requestId }) => refuse("method_not_allowed", { requestId }),
  })
    .any("/v1/forms/{tenant}/{form_key}", formsHandler(parts))
    .get("/healthz", healthHandler(parts.health, parts.isDraining));
  if (parts.held !== null) {
    router.any(`${heldLinkPath}{token}`, heldPageHandler({ ...parts.held, reads: parts.reads }));
  }
  return routeDocuments(router, "forms", parts.documents);
}

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
