/**
 * The OpenAPI document, from the tables that the validator and the handlers use. This module is browser
 * compatible.
 *
 * @module
 */

import { documents } from "./documents.ts";
import { headers, parameters } from "./openapi/headers.ts";
import type { Node } from "./openapi/node.ts";
import { type BaseUrls, paths, securitySchemes, serversOf } from "./openapi/paths.ts";
import { sharedResponses } from "./openapi/responses.ts";
import { schemas } from "./openapi/schemas.ts";

/** The document: as much of its shape as is of use here. */
interface OpenApi {
  readonly openapi: "3.0.3";
  readonly info: Node;
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly Node[];
  readonly paths: Readonly<Record<string, Node>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Node>>>>;
}

/**
 * The version of the contract. The major one is that of the paths (`/v1/`); an addition that no client has to
 * know of raises the minor one.
 */
const contractVersion = "1.0.0";

/**
 * The document for a service that is reached at these addresses.
 *
 * Source: SPEC, Surfaces and Versioning.
 */
export function openapi(urls: BaseUrls): OpenApi {
  const linked = (name: "brief" | "playground") => `${urls.intake}${documents[name].path}`;
  return {
    openapi: "3.0.3",
    info: {
      title: "Lead Intake Service",
      version: contractVersion,
      description: "One HTTPS call posts a sales lead; the 202 means that it is on disk.\n\n" +
        `Start with the [integration brief](${linked("brief")}), and try leads in the ` +
        `[playground](${
          linked("playground")
        }), which posts nothing. Whoever builds a customer's website has ` +
        `[a brief](${urls.forms}${documents.formsBrief.path}) of their own. This document is served live and generated ` +
        "from the tables that the service itself works with: fetch it, do not copy it.\n\n" +
        "Answers may gain members, and lists of values may grow; a client has to take both. Every GET may be a HEAD: it " +
        "answers the same without the body. Documents and plans come compressed to whoever accepts that.",
      contact: { name: "Playground and documents", url: linked("playground") },
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: serversOf(urls, "intake"),
    tags: [
      { name: "Intake", description: "Post leads, with a key of the source; read the terms, without one." },
      {
        name: "Forms",
        description: "Post what visitors fill in on a customer's own website, with the customer's key.",
      },
      { name: "Plans", description: "The subscription plans. Public, read-only, for any site's scripts." },
      { name: "Health", description: "Whether posts are being taken. Public." },
      { name: "Documents", description: "The contract in several forms. Public, cacheable, compressed." },
    ],
    paths: paths(urls),
    components: { securitySchemes, parameters, headers, responses: sharedResponses, schemas },
  };
}
