/** What programs read first: `sitemap.xml`, `robots.txt`, `llms.txt`, and each page in Markdown. */

import { documents } from "../documents/published.ts";
import { kits, kitsStatus, kitsSummary, kitsVersion } from "../documents/kits.ts";
import { markup } from "../http/markup.ts";
import { exampleQueries } from "./site_data.ts";
import { categories } from "./categories.ts";
import type { Site, SitePage } from "./assemble.ts";
import { siteName } from "./graph_nodes.ts";
import { codeBlock, codeSpan, literal } from "./markdown.ts";
import { markdownPath } from "./page_html.ts";

/** The pages that are listed: neither that of a 404 nor that of the search. */
function listed(site: Site): SitePage[] {
  return site.pages.filter(({ kind }) => kind !== "unlisted");
}

/** The pages by category, in the order of the tree, and by their order within. */
export function inOrder(site: Site): SitePage[] {
  const place = new Map(categories.map(({ id }, n) => [id, n]));
  const rank = (page: SitePage) => place.get(page.category) ?? categories.length;
  return listed(site)
    .map((page, n) => ({ page, n }))
    .sort((a, b) => rank(a.page) - rank(b.page) || a.page.order - b.page.order || a.n - b.n)
    .map(({ page }) => page);
}

/** `sitemap.xml`. Pages that nobody wrote have no date. */
export function sitemap(site: Site): string {
  const entries = listed(site).map(({ url, updated }) => {
    const day = updated === null ? null : markup`<lastmod>${updated}</lastmod>`;
    return markup`<url><loc>${url}</loc>${day}</url>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${
    markup`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${entries}</urlset>\n`.text
  }`;
}

/** `robots.txt`: everything may be read. */
export function robots({ content }: Site): string {
  return `User-agent: *\nAllow: /\n\nSitemap: ${content.urls.site}/sitemap.xml\n`;
}

/** A page in Markdown, with its title and description. */
export function pageMarkdown(page: SitePage): string {
  return `# ${literal(page.title)}\n\n> ${literal(page.description)}\n\n${page.markdown.trim()}\n`;
}

/**
 * `llms.txt`, as llmstxt.org has it: a title, a summary, text without headings, and then nothing but lists of links.
 * `schema` is what `sqlite_master` of `site.data` has.
 */
export function llmsText(site: Site, schema: readonly string[]): string {
  const { urls } = site.content;
  const sections = categories.flatMap(({ id, name }) => {
    const pages = inOrder(site).filter(({ category }) => category === id);
    if (pages.length === 0) return [];
    const lines = pages.map(({ path, title, description }) =>
      `- [${literal(title)}](${urls.site}${markdownPath(path)}): ${literal(description)}`
    );
    return [`## ${name}\n\n${lines.join("\n")}`];
  });
  const queries = exampleQueries.map(({ about, sql }) => `${about}\n\n${codeBlock("sql", sql)}`);
  return `# ${siteName}

> A lead provider sends one sales lead with one HTTPS POST. A 202 means that the lead and its delivery are on disk. No SDK, no OAuth, no webhook, nothing to poll.

This whole site is also one SQLite file, <${urls.site}/assets/site.data>: fetch it once, or query it over HTTP range
requests. \`page\` has every page with its text, \`entity\` every node of the pages' JSON-LD, \`edge\` what the nodes have to
do with each other, \`category\` the tree that the pages hang in. Its schema, as \`sqlite_master\` has it:

${codeBlock("sql", schema.map((statement) => `${statement};`).join("\n\n"))}

Three queries to begin with.

${queries.join("\n\n")}

${kitsSummary} Version ${kitsVersion}, ${kitsStatus}. <${urls.site}/kits/> has an example of each.

${kits.map(({ name, from, install }) => `- ${name}, ${from}: ${codeSpan(install)}`).join("\n")}

Each page below is there as HTML too: leave \`index.html.md\` off its address. The contract for programs is the OpenAPI
document, <${urls.intake}${documents.openapi.path}>; the integration brief is the same for people,
<${urls.intake}${documents.brief.path}>, and <${urls.forms}${documents.formsBrief.path}> is that of the tenant forms. All
are served live.

${sections.join("\n\n")}
`;
}
