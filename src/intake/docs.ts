/**
 * The published documents under `/api`: compressed for whoever accepts that, with a strong `ETag`.
 *
 * @module
 */

import { type DocumentName, type DocumentRule, documents } from "../contract/documents.ts";
import type { Handler } from "../http/exchange.ts";
import { Prepared } from "../http/prepared.ts";
import { publicRead } from "./reply.ts";

/**
 * The handler of one document. `text` is called once, by the first request: only then is the listener's own
 * address known, which the documents name.
 *
 * Source: SPEC, GET openapi.json and INTEGRATION.md; DECISIONS, The intake endpoint.
 */
export function documentHandler(name: DocumentName, text: () => string): Handler {
  const rule: DocumentRule = documents[name];
  const { caching, cachingOfVersion } = rule;
  const prepare = () => {
    const document = new Prepared(text());
    const replies = (caching: string) =>
      document.replies({
        all: { ...publicRead, "Cache-Control": caching },
        content: { "Content-Type": rule.contentType, ...rule.headers },
      });
    return {
      ofVersion: `v=${document.version}`,
      kept: cachingOfVersion === undefined ? null : replies(cachingOfVersion),
      asked: replies(caching),
    };
  };
  let prepared: ReturnType<typeof prepare> | undefined;
  return (exchange) => {
    const { ofVersion, kept, asked } = prepared ??= prepare();
    return (exchange.query === ofVersion && kept !== null ? kept : asked).to(exchange);
  };
}
