/** Defines the routes of the forms surface. */

import { spamModelPath } from "../contract/forms.ts";
import { type DocumentSource, routeDocuments } from "../documents/handlers.ts";
import type { ReadRateLimiter } from "../gate/rate.ts";
import type { Handler } from "../http/exchange.ts";
import { text } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import { heldLinkPath } from "../store/serving/held_links.ts";
import { formsHandler, type FormsParts, refuse } from "./handle.ts";
import { heldPageHandler, type HeldPageParts } from "./held_page.ts";
import { spamModelHandler } from "./spam_model.ts";

interface FormsRouterParts extends FormsParts {
  readonly health: () => { readonly writable: boolean };
  readonly isDraining: () => boolean;
  /** The limiter for all requests except form posts. */
  readonly reads: ReadRateLimiter;
  readonly documents: DocumentSource;
  /** The dependencies of the page that links in digests open; `null` if digests have no links. */
  readonly held: Omit<HeldPageParts, "reads"> | null;
}

/** Returns the surface's router. Source: SPEC, Endpoints; DECISIONS, Decided since (Digest actions). */
export function formsRouter(parts: FormsRouterParts): Router {
  const router = new Router({
    beforeReads: parts.reads.guard((headers) => refuse("rate_limited", { requestId: null, headers })),
    notFound: ({ requestId }) => refuse("not_found", { requestId }),
    methodNotAllowed: ({ requestId }) => refuse("method_not_allowed", { requestId }),
  })
    .any("/v1/forms/{tenant}/{form_key}", formsHandler(parts))
    .get(spamModelPath, spamModelHandler(parts))
    .get("/healthz", healthHandler(parts.health, parts.isDraining));
  if (parts.held !== null) {
    router.any(`${heldLinkPath}{token}`, heldPageHandler({ ...parts.held, reads: parts.reads }));
  }
  return routeDocuments(router, "forms", parts.documents);
}

/** Returns the handler for `GET /healthz`: 200, or 503 if the store is not writable or the process is stopping. */
export function healthHandler(
  health: () => { readonly writable: boolean },
  isDraining: () => boolean,
): Handler {
  return () => health().writable && !isDraining() ? text(200, "ok") : text(503, "not accepting");
}
