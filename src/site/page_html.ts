/** Renders a page as HTML that works without JavaScript and contains its JSON-LD. */

import { type Markup, Markup as Raw, markup } from "../http/markup.ts";
import { categories } from "./categories.ts";
import type { Site, SitePage } from "./assemble.ts";
import { breadcrumbTrail, jsonLd, type PageGraph } from "./graph.ts";
import { siteLanguage, siteName } from "./graph_nodes.ts";
import { resultsPlaceholder, searchField, searchPath } from "./search.ts";

/** The paths of the files that pages load. */
export interface AssetPaths {
  readonly style: string;
  readonly icon: string;
  /** The script for the copy buttons, on pages with code blocks. */
  readonly copyScript: string;
}

/** The paths of the pages in the main menu. */
const menu = ["/intake/", "/vocabulary/", "/forms/", "/plans/", "/kits/", "/security/", "/faq/"];

/** The paths of the pages in the footer's menu. */
const footerMenu = ["/privacy/", "/glossary/", "/site-data/"];

/** A page with at least this many second-level headings has a table of contents. */
const contentsHeadingsMin = 3;

/** Returns the path of a page's Markdown file. */
export function markdownPath(path: string): string {
  return `${path}index.html.md`;
}

function links(site: Site, page: SitePage, paths: readonly string[]): Markup {
  const entries = paths.flatMap((path) => {
    const target = site.pages.find((one) => one.path === path);
    if (target === undefined) return [];
    const current = path === page.path
      ? new Raw(' aria-current="page"')
      : isWithin(page, path)
      ? new Raw(' class="within"')
      : null;
    return [markup`<li><a href="${path}"${current}>${target.nav}</a></li>\n`];
  });
  return markup`<ul>${entries}</ul>`;
}

function isWithin(page: SitePage, path: string): boolean {
  return page.path.startsWith(path) || (path === "/vocabulary/" && /^\/(areas|services)\//.test(page.path));
}

function breadcrumbs(site: Site, page: SitePage): Markup | null {
  const pages = breadcrumbTrail(site, page);
  if (pages.length < 2) return null;
  const entries = pages.map((one) =>
    one === page
      ? markup`<li aria-current="page">${one.nav}</li>`
      : markup`<li><a href="${one.path}">${one.nav}</a></li>`
  );
  return markup`<nav class="crumbs" aria-label="Breadcrumb"><ol>${entries}</ol></nav>\n`;
}

function tableOfContents(page: SitePage): Markup | null {
  const headings = page.rendered.headings.filter(({ depth }) => depth === 2);
  if (headings.length < contentsHeadingsMin) return null;
  const entries = headings.map(({ id, text }) => markup`<li><a href="#${id}">${text}</a></li>`);
  return markup`<nav class="contents" aria-labelledby="contents"><h2 id="contents">On this page</h2>
<ol>${entries}</ol></nav>\n`;
}

function siblingLinks(site: Site, page: SitePage): Markup | null {
  if (page.kind !== "area" && page.kind !== "service") return null;
  const group = site.pages.filter((one) => one.category === page.category && one.kind === page.kind);
  const name = categories.find(({ id }) => id === page.category)?.name ?? "";
  if (group.length < 2) return null;
  return markup`<nav class="group" aria-labelledby="group"><h2 id="group">${name}</h2>
${links(site, page, group.map(({ path }) => path))}</nav>\n`;
}

function head(site: Site, page: SitePage, assets: AssetPaths, graph: PageGraph): Markup {
  const title = page.path === "/" ? page.title : `${page.title} · ${siteName}`;
  const indexingTags = page.kind === "unlisted"
    ? markup`<meta name="robots" content="noindex">`
    : markup`<link rel="canonical" href="${page.url}">
<meta property="og:type" content="website">
<meta property="og:url" content="${page.url}">
<meta property="og:title" content="${page.title}">
<meta property="og:description" content="${page.description}">
<link rel="alternate" type="text/markdown" href="${markdownPath(page.path)}" title="This page in Markdown">`;
  return markup`<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${page.description}">
<meta name="color-scheme" content="light dark">
${indexingTags}
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">${
    page.rendered.html.includes("<pre ") &&
    markup`\n<script type="module" src="${assets.copyScript}"></script>`
  }
<script type="application/ld+json">${new Raw(jsonLd(site.content.urls.site, graph.nodes))}</script>`;
}

const months = "January February March April May June July August September October November December".split(
  " ",
);

/** Formats `2026-11-20` as `November 20, 2026`. */
function longDate(day: string): string {
  const [year = "", month = "", date = ""] = day.split("-");
  return `${months[Number(month) - 1]} ${Number(date)}, ${year}`;
}

export function pageHtml(site: Site, page: SitePage, assets: AssetPaths, graph: PageGraph): string {
  const updated = page.updated === null
    ? null
    : markup`<p class="updated">Last updated: <time datetime="${page.updated}">${
      longDate(page.updated)
    }</time></p>\n`;
  const toc = tableOfContents(page);
  const articleClass = toc === null ? null : new Raw(' class="parted"');
  const homeState = page.path === "/" ? new Raw(' aria-current="page"') : null;
  return markup`<!doctype html>
<html lang="${siteLanguage}">
<head>
${head(site, page, assets, graph)}
</head>
<body>
<a class="skip" href="#main">Skip to main content</a>
<header class="top"><a class="name" href="/"${homeState}>${siteName}</a>
<nav aria-label="Main">${links(site, page, menu)}</nav>
<form action="${searchPath}" role="search"><input type="search" name="${searchField}" required aria-label="Search this site">
<button>Search</button></form></header>
<div class="page">
<main id="main" tabindex="-1">
${breadcrumbs(site, page)}<article${articleClass}>
<div class="opening"><h1>${page.title}</h1>
<p class="lede">${page.description}</p></div>
${toc}<div class="text">
${new Raw(page.rendered.html)}${page.path === searchPath && new Raw(resultsPlaceholder)}</div></article>
${siblingLinks(site, page)}${updated}</main>
</div>
<footer><nav aria-label="More pages">${links(site, page, footerMenu)}</nav>
<p>For programs: <a href="/llms.txt">llms.txt</a>, <a href="/assets/site.data">site.data</a>,
<a href="/sitemap.xml">sitemap.xml</a></p></footer>
</body>
</html>
`.text;
}
