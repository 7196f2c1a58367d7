/** The files for programs: `sitemap.xml`, `robots.txt`, `llms.txt`, and each page as Markdown. */

import { documents } from "../documents/published.ts";
import { kits, kitsStatus, kitsSummary } from "../documents/kits.ts";
import { code } from "../documents/markdown.ts";
import { markup } from "../http/markup.ts";
import { exampleQueries } from "./site_data.ts";
import { categories } from "./categories.ts";
import type { Site, SitePage } from "./assemble.ts";
import { siteName } from "./graph_nodes.ts";
import { codeSpan, escapeMarkdown } from "./markdown.ts";
import { markdownPath } from "./page_html.ts";

/** Returns every page except the 404 page and the search page. */
function listedPages(site: Site): SitePage[] {
  return site.pages.filter(({ kind }) => kind !== "unlisted");
}

/** Returns the listed pages, sorted by category, then by `order`, then by path. */
export function pagesInOrder(site: Site): SitePage[] {
  const categoryPositions = new Map(categories.map(({ id }, n) => [id, n]));
  const rank = (page: SitePage) => categoryPositions.get(page.category) ?? categories.length;
  return listedPages(site).sort((a, b) => rank(a) - rank(b) || a.order - b.order);
}

/** Renders `sitemap.xml`. Generated area pages have no date. */
export function sitemap(site: Site): string {
  const entries = listedPages(site).map(({ url, updated }) => {
    const day = updated === null ? null : markup`<lastmod>${updated}</lastmod>`;
    return markup`<url><loc>${url}</loc>${day}</url>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${
    markup`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${entries}</urlset>\n`.text
  }`;
}

/** Renders `robots.txt`, which allows all crawlers to read every page. */
export function robots({ content }: Site): string {
  return `User-agent: *\nAllow: /\n\nSitemap: ${content.urls.site}/sitemap.xml\n`;
}

/** Renders a page as Markdown, with its title and description. */
export function pageMarkdown(page: SitePage): string {
  return `# ${escapeMarkdown(page.title)}\n\n> ${
    escapeMarkdown(page.description)
  }\n\n${page.markdown.trim()}\n`;
}

/**
 * Renders `llms.txt` in the format of llmstxt.org: a title, a summary, text without headings, then only lists of links.
 * `schema` contains the statements in `sqlite_master` of `site.data`.
 */
export function llmsText(site: Site, schema: readonly string[]): string {
  const { urls } = site.content;
  const sections = categories.flatMap(({ id, name }) => {
    const pages = pagesInOrder(site).filter(({ category }) => category === id);
    if (pages.length === 0) return [];
    const lines = pages.map(({ path, title, description }) =>
      `- [${escapeMarkdown(title)}](${urls.site}${markdownPath(path)}): ${escapeMarkdown(description)}`
    );
    return [`## ${name}\n\n${lines.join("\n")}`];
  });
  const queries = exampleQueries.map(({ about, sql }) => `${about}\n\n${code("sql", sql)}`);
  return `# ${siteName}

> A lead provider sends one sales lead with one HTTPS POST. A 202 means that the lead and its delivery record are on disk. No SDK, OAuth, webhook or polling is needed.

This whole site is also one SQLite file, <${urls.site}/assets/site.data>: fetch it once, or query it over HTTP range
requests. \`page\` contains every page with its text, \`entity\` every node of the pages' JSON-LD, \`edge\` the references
between nodes, and \`category\` the tree of categories. Its schema, from \`sqlite_master\`:

${code("sql", schema.map((statement) => `${statement};`).join("\n\n"))}

Three example queries:

${queries.join("\n\n")}

${kitsSummary} ${kitsStatus} See <${urls.site}/kits/> for an example of each.

${kits.map(({ name, from, install }) => `- ${name}, ${from}: ${codeSpan(install)}`).join("\n")}

Each page below is also available as HTML: omit \`index.html.md\` from its URL. The OpenAPI document,
<${urls.intake}${documents.openapi.path}>, is the machine-readable contract. The integration briefs describe the same
contract for people: <${urls.intake}${documents.brief.path}> for leads and <${urls.forms}${documents.formsBrief.path}> for
tenant forms. All are served live.

${sections.join("\n\n")}
`;
}
