/**
 * Builds the site: content in, files out. Nothing here asks for the time, for chance or for the order of a folder, so
 * that the same content makes the same bytes.
 *
 * @module
 */

import { hash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import copyButtons from "../documents/copy_buttons.json" with { type: "json" };
import { type SiteDataRows, writeSiteData } from "./site_data.ts";
import { categories } from "./categories.ts";
import { packed } from "./compress.ts";
import { assemble, type Site, type SitePage } from "./assemble.ts";
import type { SiteContent } from "./content.ts";
import { byBytes, type PageGraph, rowsOf, sharedNodes, siteGraph, trail } from "./graph.ts";
import { siteLanguage } from "./graph_node.ts";
import { inOrder, llmsText, pageMarkdown, robots, sitemap } from "./indexes.ts";
import { checkPages } from "./check_pages.ts";
import { type AssetPaths, markdownPath, pageHtml } from "./page_html.ts";

/** The files of a site, by their path below its folder, without a slash at the start. */
export type SiteFiles = ReadonlyMap<string, Uint8Array>;

const dataFile = "assets/site.data";
const indexFiles = ["sitemap.xml", "robots.txt", "llms.txt"];
const encoder = new TextEncoder();

function ownFile(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, import.meta.url)), "utf8");
}

/** A file whose name changes with its content, so that it may be kept for good. */
function hashed(stem: string, ending: string, text: string): readonly [path: string, text: string] {
  return [`assets/${stem}.${hash("sha256", text, "hex").slice(0, 12)}.${ending}`, text];
}

/**
 * Builds every file of the site, `.br` and `.gz` variants included.
 *
 * @throws {Error} when a source is wrong: an unknown fact, a link to nowhere, a title that two pages have
 */
export function buildSite(content: SiteContent): SiteFiles {
  const site = assemble(content);
  // Before the database finds out, whose complaint would name no page.
  checkPages(site, [...indexFiles, dataFile]);
  const graphs = siteGraph(site);
  const { schema, bytes } = siteData(site, graphs);
  const style = hashed("site", "css", ownFile("style.css"));
  const icon = hashed("icon", "svg", ownFile("icon.svg"));
  const copyScript = hashed("copy", "js", copyButtons.script);
  const assets: AssetPaths = {
    style: `/${style[0]}`,
    icon: `/${icon[0]}`,
    copyScript: `/${copyScript[0]}`,
  };
  const texts = new Map<string, string>([
    style,
    icon,
    copyScript,
    ["sitemap.xml", sitemap(site)],
    ["robots.txt", robots(site)],
    ["llms.txt", llmsText(site, schema)],
  ]);
  for (const [n, page] of site.pages.entries()) {
    const html = pageHtml(site, page, assets, graphs[n] as PageGraph);
    texts.set(page.path.replace(/\/$/, "/index.html").slice(1), html);
    if (page.kind !== "error") texts.set(markdownPath(page.path).slice(1), pageMarkdown(page));
  }
  const files = new Map<string, Uint8Array>([[dataFile, bytes]]);
  for (const [path, text] of texts) {
    const plain = encoder.encode(text);
    files.set(path, plain);
    for (const [ending, variant] of packed(plain)) files.set(path + ending, variant);
  }
  return new Map([...files].sort(([a], [b]) => byBytes(a, b)));
}

function siteData(site: Site, graphs: readonly PageGraph[]): { schema: string[]; bytes: Uint8Array } {
  const folder = mkdtempSync(join(tmpdir(), "lead-intake-site-"));
  try {
    const file = join(folder, "site.data");
    const schema = writeSiteData(file, siteRows(site, graphs));
    return { schema, bytes: readFileSync(file) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The rows of the site's database, sorted. */
function siteRows(site: Site, graphs: readonly PageGraph[]): SiteDataRows {
  const ordered = inOrder(site);
  const shared: PageGraph = { page: "/", nodes: sharedNodes(site.content.urls.site) };
  const nodes = [shared, ...graphs].flatMap(({ page, nodes }) => nodes.map((node) => rowsOf(page, node)));
  const depth = (page: SitePage) => trail(site, page).length;
  return {
    category: categories.map((category, position) => ({ ...category, position })),
    page: [...ordered].sort((a, b) => depth(a) - depth(b) || byBytes(a.path, b.path)).map((
      page,
    ) => ({
      path: page.path,
      url: page.url,
      parent: page.parent,
      category: page.category,
      position: ordered.filter(({ category }) => category === page.category).indexOf(page),
      title: page.title,
      description: page.description,
      lang: siteLanguage,
      updated: page.updated,
      markdown: page.markdown,
      text: page.rendered.text,
    })),
    entity: nodes.map(({ entity }) => entity).sort((a, b) => byBytes(a.id, b.id)),
    edge: nodes.flatMap(({ edges }) => edges).sort((a, b) =>
      byBytes(a.subject, b.subject) || byBytes(a.predicate, b.predicate) || byBytes(a.object, b.object)
    ),
  };
}
