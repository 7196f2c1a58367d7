/**
 * The site as a graph of schema.org's things. Every node has an `@id`; its values are literals or references to other
 * nodes, never nested ones, so that the JSON-LD of the pages and the rows of `entity` and `edge` are two ways to write the
 * same.
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

/** The nodes of one page, without those that every page has. */
export interface PageGraph {
  readonly page: string;
  readonly nodes: readonly GraphNode[];
}

const about =
  "One HTTPS call posts a sales lead to a customer of the platform; the answer says honestly whether it is on disk.";

/** The nodes that every page has: who publishes, and what the page is part of. They belong to the first page. */
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
      description: about,
      url: `${siteUrl}/`,
      inLanguage: siteLanguage,
      publisher: ref(`${siteUrl}/#organization`),
    },
  ];
}

/** Every page's graph, in the order of the pages. A page that is none, such as that of a 404, has no nodes of its own. */
export function siteGraph(site: Site): PageGraph[] {
  return site.pages.map((page) => ({ page: page.path, nodes: pageNodes(site, page).map(defined) }));
}

function defined(node: GraphNode): GraphNode {
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
  const mentions = mentioned(site, page).filter((id) => id !== main?.["@id"]);
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

/** The pages from the first one down to this one. */
export function trail(site: Site, page: SitePage): SitePage[] {
  const above = site.pages.find(({ path }) => path === page.parent);
  return above === undefined ? [page] : [...trail(site, above), page];
}

function breadcrumbs(site: Site, page: SitePage): GraphNode[] {
  const pages = trail(site, page);
  if (pages.length < 2) return [];
  const id = `${page.url}#breadcrumb`;
  return [
    {
      "@id": id,
      "@type": "BreadcrumbList",
      name: `Where “${page.title}” is`,
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

// The pages that list terms say so with their sets.
const listing: readonly SitePage["kind"][] = ["areas", "services", "vocabulary", "home"];

function mentioned(site: Site, page: SitePage): string[] {
  if (listing.includes(page.kind)) return [];
  return page.rendered.links.flatMap((href) => {
    const path = href.replace(/#.*$/, "");
    const target = site.pages.find((one) => one.path === path);
    return target?.kind === "area" || target?.kind === "service" ? [termId(target)] : [];
  }).filter((id, n, all) => all.indexOf(id) === n);
}

/** The document of one page, as text that may stand in a `script` element. */
export function jsonLd(siteUrl: string, nodes: readonly GraphNode[]): string {
  const document = { "@context": "https://schema.org", "@graph": [...sharedNodes(siteUrl), ...nodes] };
  // What a parser of HTML could take for the end of the element, or for the start of a comment.
  return JSON.stringify(document).replace(
    /[<>&\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const isReference = (value: unknown): value is Reference =>
  typeof value === "object" && value !== null && "@id" in value;

/** The rows of a node: one of `entity`, and one of `edge` for each reference. */
export function rowsOf(page: string, node: GraphNode): { entity: EntityRow; edges: EdgeRow[] } {
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

/** The order of SQLite's `BINARY` collation, which goes by bytes of UTF-8. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
