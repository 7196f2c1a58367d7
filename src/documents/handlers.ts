/** Serves the published documents, compressed if the client accepts it and with a strong `ETag`. */

import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { CompressedText } from "../http/cached_response.ts";
import { publicRead } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import { type DocumentName, type DocumentRule, documents, surfaceOf } from "./published.ts";

/** Returns the text of a document. Called on the document's first request, when all base URLs are known, and again after a failure. */
export type DocumentSource = (name: DocumentName) => Promise<string>;

/**
 * Adds routes for a surface's documents.
 *
 * Source: SPEC, GET openapi.json and INTEGRATION.md; DECISIONS, The intake endpoint.
 */
export function routeDocuments(router: Router, surface: "intake" | "forms", source: DocumentSource): Router {
  for (const name of Object.keys(documents) as DocumentName[]) {
    if (surfaceOf(name) === surface) router.get(documents[name].path, documentHandler(name, source));
  }
  return router;
}

function documentHandler(name: DocumentName, source: DocumentSource): Handler {
  let responder: Promise<(exchange: Exchange) => Reply> | null = null;
  const retry = (error: unknown) => {
    responder = null;
    throw error;
  };
  return async (exchange) => {
    const reply =
      await (responder ??= source(name).then((text) => createResponder(documents[name], text)).catch(retry));
    return reply(exchange);
  };
}

function createResponder(rule: DocumentRule, text: string): (exchange: Exchange) => Reply {
  const document = new CompressedText(text);
  const replies = (caching: string) =>
    document.replies({
      all: { ...publicRead, "Cache-Control": caching },
      content: { "Content-Type": rule.contentType, ...rule.headers },
    });
  const latest = replies(rule.caching);
  const versioned = rule.cachingOfVersion === undefined ? latest : replies(rule.cachingOfVersion);
  return (exchange) => (exchange.query === `v=${document.version}` ? versioned : latest).replyTo(exchange);
}
