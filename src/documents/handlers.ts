/** The handlers of the published documents: compressed for whoever accepts that, with a strong `ETag`. */

import type { Exchange, Handler, Reply } from "../http/exchange.ts";
import { CompressedText } from "../http/cached_response.ts";
import { publicRead } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import { type DocumentName, type DocumentRule, documents, surfaceOf } from "./published.ts";

/** Gives the text of a document. It is asked once for each, by the first request: only then are all addresses known. */
export type DocumentSource = (name: DocumentName) => Promise<string>;

/**
 * Adds the routes of a surface's documents.
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
  let prepared: Promise<(exchange: Exchange) => Reply> | null = null;
  const retry = (error: unknown) => {
    prepared = null;
    throw error;
  };
  return async (exchange) => {
    const reply =
      await (prepared ??= source(name).then((text) => prepare(documents[name], text)).catch(retry));
    return reply(exchange);
  };
}

function prepare(rule: DocumentRule, text: string): (exchange: Exchange) => Reply {
  const document = new CompressedText(text);
  const replies = (caching: string) =>
    document.replies({
      all: { ...publicRead, "Cache-Control": caching },
      content: { "Content-Type": rule.contentType, ...rule.headers },
    });
  const asked = replies(rule.caching);
  const ofVersion = rule.cachingOfVersion === undefined ? asked : replies(rule.cachingOfVersion);
  return (exchange) => (exchange.query === `v=${document.version}` ? ofVersion : asked).to(exchange);
}
