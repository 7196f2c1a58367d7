/**
 * Builds the site's graph of schema.org entities. Every node has an `@id` and contains only literals and references, no
 * nested nodes, so that the pages' JSON-LD and the rows of `entity` and `edge` are equivalent.
 */

import { Buffer } from "node:buffer";
import type { EdgeRow, EntityRow } from "./site_data.ts";
import type { Site, SitePage } from "./assemble.ts";
import {
  type GraphNode,
  mainNodes,
  type PropertyValue,
  ref,
  type Reference,
  siteLanguage,
  siteName,
  termId,
} from "./graph_nodes.ts";

/** A page's nodes, without the shared nodes. */
export interface PageGraph {
  readonly page: string;
  readonly nodes: readonly GraphNode[];
}

const siteDescription =
  "One HTTPS call sends a sales lead to a customer of the platform, and the response confirms that it is on disk.";

/** Returns the nodes that every page contains: the publisher and the website. Their database rows belong to the home page. */
export function sharedNodes(siteUrl: string): GraphNode[] {
  return [
    {
      "@id": `${siteUrl}/#organization`,
      "@type": "Organization",
      name: siteName,
      url: `${siteUrl}/`,
    },
    {
      "@id": `${siteUrl}/#website`,
      "@type": "WebSite",
      name: siteName,
      description: siteDescription,
      url: `${siteUrl}/`,
      inLanguage: siteLanguage,
      publisher: ref(`${siteUrl}/#organization`),
    },
  ];
}

/** Returns a graph for each page, in the same order. An unlisted page has no nodes. */
export function siteGraph(site: Site): PageGraph[] {
  return site.pages.map((page) => ({ page: page.path, nodes: pageNodes(site, page).map(withoutUndefined) }));
}

function withoutUndefined(node: GraphNode): GraphNode {
  return Object.fromEntries(Object.entries(node).filter(([, value]) => value !== undefined)) as GraphNode;
}

const pageTypes: Readonly<Partial<Record<SitePage["kind"], string>>> = {
  faq: "FAQPage",
  areas: "CollectionPage",
  services: "CollectionPage",
  kits: "CollectionPage",
  plans: "CollectionPage",
  vocabulary: "CollectionPage",
};

function pageNodes(site: Site, page: SitePage): GraphNode[] {
  if (page.kind === "unlisted") return [];
  const { main, further } = mainNodes(site, page);
  const crumbs = breadcrumbs(site, page);
  const mentions = mentionedTerms(site, page).filter((id) => id !== main?.["@id"]);
  const webPage: GraphNode = {
    "@id": `${page.url}#webpage`,
    "@type": pageTypes[page.kind] ?? "WebPage",
    name: page.title,
    description: page.description,
    url: page.url,
    inLanguage: siteLanguage,
    dateModified: page.updated ?? undefined,
    isPartOf: ref(`${site.content.urls.site}/#website`),
    publisher: ref(`${site.content.urls.site}/#organization`),
    breadcrumb: crumbs.length === 0 ? undefined : ref(`${page.url}#breadcrumb`),
    mainEntity: page.kind === "faq"
      ? further.filter((node) => node["@type"] === "Question").map((node) => ref(node["@id"]))
      : main === null
      ? undefined
      : ref(main["@id"]),
    mentions: mentions.length === 0 ? undefined : mentions.map(ref),
  };
  return [webPage, ...crumbs, ...(main === null ? [] : [main]), ...further];
}

/** Returns the breadcrumb pages, from the root to this page. */
export function breadcrumbTrail(site: Site, page: SitePage): SitePage[] {
  const parent = site.pages.find(({ path }) => path === page.parent);
  return parent === undefined ? [page] : [...breadcrumbTrail(site, parent), page];
}

function breadcrumbs(site: Site, page: SitePage): GraphNode[] {
  const pages = breadcrumbTrail(site, page);
  if (pages.length < 2) return [];
  const id = `${page.url}#breadcrumb`;
  return [
    {
      "@id": id,
      "@type": "BreadcrumbList",
      name: `Breadcrumbs for “${page.title}”`,
      numberOfItems: pages.length,
      itemListElement: pages.map((_, n) => ref(`${id}-${n + 1}`)),
    },
    ...pages.map((one, n): GraphNode => ({
      "@id": `${id}-${n + 1}`,
      "@type": "ListItem",
      name: one.nav,
      position: n + 1,
      item: ref(`${one.url}#webpage`),
    })),
  ];
}

// Pages of these kinds link to the terms without being about them.
const listingKinds: readonly SitePage["kind"][] = ["areas", "services", "vocabulary", "home"];

function mentionedTerms(site: Site, page: SitePage): string[] {
  if (listingKinds.includes(page.kind)) return [];
  return page.rendered.links.flatMap((href) => {
    const path = href.replace(/#.*$/, "");
    const target = site.pages.find((one) => one.path === path);
    return target?.kind === "area" || target?.kind === "service" ? [termId(target)] : [];
  }).filter((id, n, all) => all.indexOf(id) === n);
}

/** Serializes a page's JSON-LD as text that is safe in a `script` element. */
export function jsonLd(siteUrl: string, nodes: readonly GraphNode[]): string {
  const document = { "@context": "https://schema.org", "@graph": [...sharedNodes(siteUrl), ...nodes] };
  // Escapes anything that an HTML parser could take for the end of the element or the start of a comment.
  return JSON.stringify(document).replace(
    /[<>&\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const isReference = (value: unknown): value is Reference =>
  typeof value === "object" && value !== null && "@id" in value;

/** Returns the rows for a node: one `entity`, and one `edge` per reference. */
export function nodeRows(page: string, node: GraphNode): { entity: EntityRow; edges: EdgeRow[] } {
  const { "@id": id, "@type": type, name, description, url, ...others } = node;
  const properties: Record<string, unknown> = {};
  const edges: EdgeRow[] = [];
  for (const predicate of Object.keys(others).sort()) {
    const value = others[predicate];
    if (isReference(value)) {
      edges.push({ subject: id, predicate, object: value["@id"], position: null });
    } else if (Array.isArray(value) && value.length > 0 && value.every(isReference)) {
      value.forEach((one, position) => edges.push({ subject: id, predicate, object: one["@id"], position }));
    } else properties[predicate] = value;
  }
  const text = (value: PropertyValue | undefined) => typeof value === "string" ? value : null;
  return {
    entity: {
      id,
      type,
      name: text(name),
      description: text(description),
      url: text(url),
      page,
      properties: JSON.stringify(properties),
    },
    edges,
  };
}

/** Compares two texts as SQLite's `BINARY` collation does, by their UTF-8 bytes. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
