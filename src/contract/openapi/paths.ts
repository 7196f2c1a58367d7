/**
 * The operations of the OpenAPI document, each with the host that it is on. This module is browser compatible.
 *
 * @module
 */

import { type DocumentName, documents, surfaceOf } from "../documents.ts";
import { placeholders } from "../examples.ts";
import { formsPath } from "./forms.ts";
import { intakePath } from "./intake.ts";
import type { Node } from "./node.ts";
import { documentPath, healthPath, plansPath, vocabularyPath } from "./reads.ts";

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
