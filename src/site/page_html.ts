/** A page as HTML: whole without JavaScript, with its graph in the head. */

import { type Markup, Markup as Raw, markup } from "../http/markup.ts";
import { categories } from "./categories.ts";
import type { Site, SitePage } from "./assemble.ts";
import { jsonLd, type PageGraph, trail } from "./graph.ts";
import { siteLanguage, siteName } from "./graph_nodes.ts";
import { resultsMark, searchField, searchPath } from "./search.ts";

/** The addresses of what the pages load. */
export interface AssetPaths {
  readonly style: string;
  readonly icon: string;
  /** The script whose buttons copy; only for pages with something to copy. */
  readonly copyScript: string;
}

/** The pages of the menu. */
const menu = ["/intake/", "/vocabulary/", "/forms/", "/plans/", "/kits/", "/security/", "/faq/"];

/** The further pages of the foot. */
const foot = ["/privacy/", "/glossary/", "/site-data/"];

/** Pages with this many headings of the second level have contents. */
const contentsFrom = 3;

/** The file of a page in Markdown, next to its HTML. */
export function markdownPath(path: string): string {
  return `${path}index.html.md`;
}

function links(site: Site, page: SitePage, paths: readonly string[]): Markup {
  const entries = paths.flatMap((path) => {
    const target = site.pages.find((one) => one.path === path);
    if (target === undefined) return [];
    const current = path === page.path
      ? new Raw(' aria-current="page"')
      : within(page, path)
      ? new Raw(' class="within"')
      : null;
    return [markup`<li><a href="${path}"${current}>${target.nav}</a></li>\n`];
  });
  return markup`<ul>${entries}</ul>`;
}

function within(page: SitePage, path: string): boolean {
  const under = page.path.startsWith(path);
  return under || (path === "/vocabulary/" && /^\/(areas|services)\//.test(page.path));
}

function breadcrumbs(site: Site, page: SitePage): Markup | null {
  const pages = trail(site, page);
  if (pages.length < 2) return null;
  const entries = pages.map((one) =>
    one === page
      ? markup`<li aria-current="page">${one.nav}</li>`
      : markup`<li><a href="${one.path}">${one.nav}</a></li>`
  );
  return markup`<nav class="crumbs" aria-label="Breadcrumb"><ol>${entries}</ol></nav>\n`;
}

function contents(page: SitePage): Markup | null {
  const headings = page.rendered.headings.filter(({ depth }) => depth === 2);
  if (headings.length < contentsFrom) return null;
  const entries = headings.map(({ id, text }) => markup`<li><a href="#${id}">${text}</a></li>`);
  return markup`<nav class="contents" aria-labelledby="contents"><h2 id="contents">On this page</h2>
<ol>${entries}</ol></nav>\n`;
}

function neighbours(site: Site, page: SitePage): Markup | null {
  if (page.kind !== "area" && page.kind !== "service") return null;
  const group = site.pages.filter((one) => one.category === page.category && one.kind === page.kind);
  const name = categories.find(({ id }) => id === page.category)?.name ?? "";
  if (group.length < 2) return null;
  return markup`<nav class="group" aria-labelledby="group"><h2 id="group">${name}</h2>
${links(site, page, group.map(({ path }) => path))}</nav>\n`;
}

function head(site: Site, page: SitePage, assets: AssetPaths, graph: PageGraph): Markup {
  const title = page.path === "/" ? page.title : `${page.title} · ${siteName}`;
  const indexed = page.kind === "unlisted"
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
${indexed}
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

/** `20 November 2026`, from `2026-11-20`. */
function dayInWords(day: string): string {
  const [year = "", month = "", date = ""] = day.split("-");
  return `${Number(date)} ${months[Number(month) - 1]} ${year}`;
}

/** Renders a page. */
export function pageHtml(site: Site, page: SitePage, assets: AssetPaths, graph: PageGraph): string {
  const updated = page.updated === null
    ? null
    : markup`<p class="updated">Last changed on <time datetime="${page.updated}">${
      dayInWords(page.updated)
    }</time></p>\n`;
  const toc = contents(page);
  const parted = toc === null ? null : new Raw(' class="parted"');
  const home = page.path === "/" ? new Raw(' aria-current="page"') : null;
  return markup`<!doctype html>
<html lang="${siteLanguage}">
<head>
${head(site, page, assets, graph)}
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header class="top"><a class="name" href="/"${home}>${siteName}</a>
<nav aria-label="Main">${links(site, page, menu)}</nav>
<form action="${searchPath}" role="search"><input type="search" name="${searchField}" required aria-label="Search this site">
<button>Search</button></form></header>
<div class="page">
<main id="main" tabindex="-1">
${breadcrumbs(site, page)}<article${parted}>
<div class="opening"><h1>${page.title}</h1>
<p class="lede">${page.description}</p></div>
${toc}<div class="text">
${new Raw(page.rendered.html)}${page.path === searchPath && new Raw(resultsMark)}</div></article>
${neighbours(site, page)}${updated}</main>
</div>
<footer><nav aria-label="Further pages">${links(site, page, foot)}</nav>
<p>For programs: <a href="/llms.txt">llms.txt</a>, <a href="/assets/site.data">site.data</a>,
<a href="/sitemap.xml">sitemap.xml</a></p></footer>
</body>
</html>
`.text;
}
