/**
 * A node of the site's graph, and what all builders of nodes share.
 *
 * @module
 */

import type { Site, SitePage } from "./assemble.ts";

/** A reference to another node. */
export interface Reference {
  readonly "@id": string;
}

/** What a property may have. */
export type PropertyValue =
  | string
  | number
  | boolean
  | readonly (string | number)[]
  | Reference
  | readonly Reference[];

/** A node. A property with `undefined` is none. */
export interface GraphNode {
  readonly "@id": string;
  readonly "@type": string;
  readonly [property: string]: PropertyValue | undefined;
}

/** The name of the whole. */
export const siteName = "Lead Intake Service";

/** The language of all pages. */
export const siteLanguage = "en";

/** Refers to a node. */
export const ref = (id: string): Reference => ({ "@id": id });

/** The node of the term that a page is about. */
export function termId(page: { readonly url: string }): string {
  return `${page.url}#term`;
}

/** The node that a page is about, and those that it takes along. */
export interface MainNodes {
  readonly main: GraphNode | null;
  readonly further: readonly GraphNode[];
}

/** Makes the nodes of one kind of page. */
export type Builder = (site: Site, page: SitePage) => MainNodes;

/** Text of one line without its backticks. */
export const plain = (text: string) => text.replaceAll("`", "");
/** Any text as part of an `@id`. */
export const fragment = (text: string) => encodeURIComponent(text.toWellFormed());
