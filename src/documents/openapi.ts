/**
 * The OpenAPI document, from the tables that the validator and the handlers use. This module is browser
 * compatible.
 */

import { placeholders } from "./examples.ts";
import {
  documentPath,
  formsPath,
  healthPath,
  intakePath,
  plansPath,
  vocabularyPath,
} from "./openapi/operations.ts";
import { headers, type Node, parameters, sharedResponses } from "./openapi/parts.ts";
import { schemas } from "./openapi/schemas.ts";
import { type DocumentName, documents, surfaceOf } from "./published.ts";

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
        "answers the same without the body. Documents and plans are compressed for clients that accept it.",
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

/** The public base addresses by surface, without a slash at the end. */
export interface BaseUrls {
  readonly intake: string;
  readonly forms: string;
  readonly subscription: string;
}

/** `servers`: the hosts of the named surfaces. */
export function serversOf(urls: BaseUrls, ...surfaces: (keyof BaseUrls)[]) {
  const descriptions = { intake: "The intake", forms: "The tenant forms", subscription: "The plan feed" };
  return surfaces.map((surface) => ({ url: urls[surface], description: descriptions[surface] }));
}

/**
 * `paths`: everything public but the site. What has no servers of its own is on the intake. Source: SPEC, Surfaces.
 */
export function paths(urls: BaseUrls): Readonly<Record<string, Node>> {
  const onForms = { servers: serversOf(urls, "forms") };
  const pathOf = (name: DocumentName): [string, Node] => {
    const servers = surfaceOf(name) === "forms" ? onForms : {};
    return [documents[name].path, { ...servers, ...documentPath(name) }];
  };
  return {
    "/v1/intake": intakePath(),
    "/v1/vocabulary": vocabularyPath(),
    "/v1/forms/{tenant}/{form_key}": { ...onForms, ...formsPath() },
    "/api/plans": { servers: serversOf(urls, "subscription"), ...plansPath() },
    "/healthz": { servers: serversOf(urls, "intake", "forms"), ...healthPath() },
    ...Object.fromEntries((Object.keys(documents) as DocumentName[]).map(pathOf)),
  };
}

/** The security scheme's name is used by the operations. */
export const securitySchemes: Readonly<Record<string, Node>> = {
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
    description:
      "Your key. For leads, one per lead source, issued by the customer whom the leads are for; its label becomes the " +
      `lead's \`source\`, here \`${placeholders.source}\`. For forms, a key that was issued to the customer itself. ` +
      "Neither works for the other. Keep it in a secret store.",
  },
};
