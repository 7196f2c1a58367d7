/**
 * The documents that a surface publishes. They name the addresses of the surfaces, which the listeners may have to find
 * first.
 *
 * @module
 */

import { type DocumentName, documents, surfaceOf } from "../contract/documents.ts";
import type { BaseUrls } from "../contract/openapi/paths.ts";
import type { Handler } from "../http/exchange.ts";
import { documentHandler } from "../intake/docs.ts";
import type { Config } from "../settings/config.ts";
import { addressUrl } from "./listeners.ts";

/** The listeners' own addresses by surface, once they are open. */
type OpenUrls = () => ReadonlyMap<string, string>;

/** The documents of a surface, by path. */
export function documentHandlers(
  surface: "intake" | "forms",
  config: Config,
  openUrls: OpenUrls,
): Record<string, Handler> {
  const named = () => ({ urls: baseUrls(config, openUrls()), contactEmail: config.contactEmail });
  const load = async (name: DocumentName) => {
    const { documentText } = await import("./document_texts.ts");
    return documentHandler(name, () => documentText(name, named()));
  };
  const names = (Object.keys(documents) as DocumentName[]).filter((name) => surfaceOf(name) === surface);
  return Object.fromEntries(names.map((name) => [documents[name].path, onFirstUse(() => load(name))]));
}

/** A handler that is loaded by its first request, and once for all who ask meanwhile. */
function onFirstUse(load: () => Promise<Handler>): Handler {
  let loaded: Promise<Handler> | null = null;
  const retry = (error: unknown) => {
    loaded = null;
    throw error;
  };
  return async (exchange) => {
    const handler = await (loaded ??= load().catch(retry));
    return await handler(exchange);
  };
}

/** Where the surfaces are, as far as this process can know of those that another one serves. */
function baseUrls(config: Config, openUrls: ReadonlyMap<string, string>): BaseUrls {
  const of = (name: keyof BaseUrls) => {
    const { url, listen } = config[name];
    // Where a socket is named, the settings have the URL too.
    const own = "socket" in listen ? "" : addressUrl(listen, config.tls !== null);
    return url ?? openUrls.get(name) ?? own;
  };
  return { intake: of("intake"), forms: of("forms"), subscription: of("subscription") };
}
