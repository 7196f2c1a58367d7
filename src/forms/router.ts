/** The tenant forms routes. */

import { type DocumentSource, routeDocuments } from "../documents/handlers.ts";
import type { ReadBudget } from "../gate/rate.ts";
import type { Handler } from "../http/exchange.ts";
import { text } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import { heldLinkPath } from "../store/serving/held_links.ts";
import { formsHandler, type FormsParts, refuse } from "./handle.ts";
import { heldPageHandler, type HeldPageParts } from "./held_page.ts";

interface FormsRouterParts extends FormsParts {
  readonly health: () => { readonly writable: boolean };
  readonly isDraining: () => boolean;
  /** Spent by every route except the posts. */
  readonly reads: ReadBudget;
  readonly documents: DocumentSource;
  /** `null` if digests have no links. */
  readonly held: Omit<HeldPageParts, "reads"> | null;
}

/** The surface's routes. Source: SPEC, Endpoints; DECISIONS, Decided since (Digest actions). */
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

/** 200 `ok`, or 503 when the store takes no writes or the process is stopping. Source: SPEC, Forms health. */
export function healthHandler(
  health: () => { readonly writable: boolean },
  isDraining: () => boolean,
): Handler {
  return () => health().writable && !isDraining() ? text(200, "ok") : text(503, "not accepting");
}
