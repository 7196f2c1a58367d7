/**
 * The documents that a surface publishes. They name the addresses of the surfaces, which the listeners may have to find
 * first.
 *
 * @module
 */

import type { DocumentSource } from "../documents/handlers.ts";
import type { BaseUrls } from "../documents/openapi.ts";
import type { Config } from "../settings/config.ts";
import { addressUrl } from "./listeners.ts";

/** The listeners' own addresses by surface, once they are open. */
type OpenUrls = () => ReadonlyMap<string, string>;

/** The texts of the documents, with all that they are made of: loaded by the first request, because no lead needs them. */
export function documentSource(config: Config, openUrls: OpenUrls): DocumentSource {
  return async (name) => {
    const { documentText } = await import("./document_texts.ts");
    return documentText(name, { urls: baseUrls(config, openUrls()), contactEmail: config.contactEmail });
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
