/** The OpenAPI document, generated from the tables that the service uses. This module is browser compatible. */

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

/** The parts of an OpenAPI document that are used here. */
interface OpenApi {
  readonly openapi: "3.0.3";
  readonly info: Node;
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly Node[];
  readonly paths: Readonly<Record<string, Node>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Node>>>>;
}

/** The version of the contract. The major version is the one in the paths (`/v1/`); additions raise the minor version. */
const contractVersion = "1.0.0";

/**
 * Builds the document for a service at these URLs.
 *
 * Source: SPEC, Surfaces and Versioning.
 */
export function openapi(urls: BaseUrls): OpenApi {
  const documentUrl = (name: "brief" | "playground") => `${urls.intake}${documents[name].path}`;
  return {
    openapi: "3.0.3",
    info: {
      title: "Lead Intake Service",
      version: contractVersion,
      description: "Send a sales lead with one HTTPS call; a 202 means that it is on disk.\n\n" +
        `Start with the [integration brief](${documentUrl("brief")}), and try leads in the ` +
        `[playground](${
          documentUrl("playground")
        }), which sends no leads. If you build a customer's website, read the ` +
        `[forms brief](${urls.forms}${documents.formsBrief.path}). This document is generated from the same ` +
        "definitions that the service validates requests with: fetch it instead of keeping a copy.\n\n" +
        "Responses may gain members, and lists of values may grow; clients must accept both. Every path with GET also " +
        "supports HEAD. Documents and plans are compressed for clients that accept it.",
      contact: { name: "Playground and documents", url: documentUrl("playground") },
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: serversFor(urls, "intake"),
    tags: [
      { name: "Intake", description: "Post leads with your key, and read the vocabulary without one." },
      {
        name: "Forms",
        description: "Post form submissions from a customer's own website, with the customer's key.",
      },
      {
        name: "Plans",
        description: "Read the subscription plans. Public and read-only, with CORS for any origin.",
      },
      { name: "Health", description: "Check whether the service accepts posts. Public." },
      {
        name: "Documents",
        description: "Read the contract in several formats. Public, cacheable and compressed.",
      },
    ],
    paths: paths(urls),
    components: { securitySchemes, parameters, headers, responses: sharedResponses, schemas },
  };
}

/** The public base URLs by surface, without a trailing slash. */
export interface BaseUrls {
  readonly intake: string;
  readonly forms: string;
  readonly subscription: string;
}

/** Builds `servers`: the hosts of the given surfaces. */
export function serversFor(urls: BaseUrls, ...surfaces: (keyof BaseUrls)[]) {
  const descriptions = { intake: "The intake", forms: "The tenant forms", subscription: "The plan feed" };
  return surfaces.map((surface) => ({ url: urls[surface], description: descriptions[surface] }));
}

/** Builds `paths`: all public paths except the site's. Paths without `servers` are on the intake's host. Source: SPEC, Surfaces. */
export function paths(urls: BaseUrls): Readonly<Record<string, Node>> {
  const onForms = { servers: serversFor(urls, "forms") };
  const pathOf = (name: DocumentName): [string, Node] => {
    const servers = surfaceOf(name) === "forms" ? onForms : {};
    return [documents[name].path, { ...servers, ...documentPath(name) }];
  };
  return {
    "/v1/intake": intakePath(),
    "/v1/vocabulary": vocabularyPath(),
    "/v1/forms/{tenant}/{form_key}": { ...onForms, ...formsPath() },
    "/api/plans": { servers: serversFor(urls, "subscription"), ...plansPath() },
    "/healthz": { servers: serversFor(urls, "intake", "forms"), ...healthPath() },
    ...Object.fromEntries((Object.keys(documents) as DocumentName[]).map(pathOf)),
  };
}

/** The security scheme that the operations refer to by name. */
export const securitySchemes: Readonly<Record<string, Node>> = {
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
    description:
      "Your key. For leads, the customer issues one key per lead source, and the key's label becomes the lead's " +
      `\`source\`, such as \`${placeholders.source}\`. For forms, use a forms key that was issued to the customer. ` +
      "Keys work only for the surface that they were issued for. Keep the key in a secret store.",
  },
};
