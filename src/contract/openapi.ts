/**
 * The OpenAPI document, from the tables that the validator and the handlers use. This module is browser
 * compatible.
 *
 * @module
 */

import { documents } from "./documents.ts";
import { headers, parameters } from "./openapi/headers.ts";
import type { Node } from "./openapi/node.ts";
import { paths, securitySchemes } from "./openapi/paths.ts";
import { sharedResponses } from "./openapi/responses.ts";
import { schemas } from "./openapi/schemas.ts";

/** The document: as much of its shape as is of use here. */
export interface OpenApi {
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
export const contractVersion = "1.0.0";

/**
 * The document for a service that is reached at `baseUrl`, without a slash at the end.
 *
 * Source: SPEC, Surfaces and Versioning.
 */
export function openapi(baseUrl: string): OpenApi {
  return {
    openapi: "3.0.3",
    info: {
      title: "Lead Intake Service",
      version: contractVersion,
      description: "One HTTPS call posts a sales lead; the 202 means that it is on disk.\n\n" +
        `Start with the [integration brief](${baseUrl}${documents.brief.path}), and try leads in the ` +
        `[playground](${baseUrl}${documents.playground.path}), which posts nothing. This document is served live ` +
        "and generated from the tables that the service itself works with: fetch it, do not copy it.",
      contact: { name: "Playground and documents", url: `${baseUrl}${documents.playground.path}` },
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: baseUrl, description: "The intake" }],
    tags: [
      { name: "Intake", description: "Post leads. Needs a key." },
      { name: "Reads", description: "Public, without a key, for any site's scripts." },
      { name: "Documents", description: "The contract in several forms. Public, cacheable, compressed." },
    ],
    paths: paths(),
    components: { securitySchemes, parameters, headers, responses: sharedResponses, schemas },
  };
}
