/**
 * The documents that a surface publishes. They contain the surfaces' addresses, which may be known only once the listeners are open.
 */

import type { DocumentSource } from "../documents/handlers.ts";
import type { BaseUrls } from "../documents/openapi.ts";
import type { Config } from "../settings/config.ts";
import { addressUrl } from "./listeners.ts";

/** The listeners' own addresses by surface, once they are open. */
type OpenUrls = () => ReadonlyMap<string, string>;

/** The documents' texts, loaded with their sources at the first request, because leads do not need them. */
export function documentSource(config: Config, openUrls: OpenUrls): DocumentSource {
  return async (name) => {
    const { documentText } = await import("./document_texts.ts");
    return documentText(name, { urls: baseUrls(config, openUrls()), contactEmail: config.contactEmail });
  };
}

/** The surfaces' base URLs, also of those that another process serves, as far as settings tell. */
function baseUrls(config: Config, openUrls: ReadonlyMap<string, string>): BaseUrls {
  const of = (name: keyof BaseUrls) => {
    const { url, listen } = config[name];
    // A listener on a socket requires a URL in the settings.
    const own = "socket" in listen ? "" : addressUrl(listen, config.tls !== null);
    return url ?? openUrls.get(name) ?? own;
  };
  return { intake: of("intake"), forms: of("forms"), subscription: of("subscription") };
}
