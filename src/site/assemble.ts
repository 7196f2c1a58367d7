/**
 * Assembles the site's pages: the sources, with their facts filled in, and a generated page for each area without a source.
 */

import { render, type Rendered } from "../http/markdown.ts";
import { otherAreas } from "./categories.ts";
import { factFiller } from "./facts.ts";
import type { AreaPage, PageSource, SiteContent } from "./source.ts";
import { hash } from "node:crypto";

/** A page whose Markdown has been rendered but not yet laid out. */
export interface SitePage extends Omit<PageSource, "body" | "area"> {
  readonly url: string;
  /** The path of the parent page in the breadcrumbs. */
  readonly parent: string | null;
  readonly area: AreaPage | null;
  /** The body with its facts filled in. */
  readonly markdown: string;
  readonly rendered: Rendered;
}

/** A site's pages, and the content from which they are built. */
export interface Site {
  readonly content: SiteContent;
  /** The pages, sorted by path. */
  readonly pages: readonly SitePage[];
  readonly areas: readonly AreaPage[];
}

const byCodeUnit = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
const foldCase = (area: string) => area.normalize("NFC").toLowerCase();

/**
 * Assembles the pages. The source for a retired area produces no page, and links to that page become plain text.
 *
 * @throws {Error} if a source names an unknown fact
 */
export function assemble(content: SiteContent): Site {
  const sorted: SiteContent = {
    ...content,
    areas: [...content.areas].sort((a, b) => byCodeUnit(a.area, b.area)),
    // The order of the plan feed.
    plans: [...content.plans].sort((a, b) =>
      byCodeUnit(a.customer, b.customer) || a.amountCents - b.amountCents || byCodeUnit(a.slug, b.slug)
    ),
    sources: [...content.sources].sort((a, b) => byCodeUnit(a.path, b.path)),
  };
  const sourceByArea = new Map(
    sorted.sources.flatMap((source) => source.area === null ? [] : [[foldCase(source.area), source]]),
  );
  const usedPaths = new Set(sorted.sources.map(({ path }) => path));
  const areas = sorted.areas.map((area): AreaPage => {
    const source = sourceByArea.get(foldCase(area.area));
    const path = source?.path ?? uniquePath(area.area, usedPaths);
    usedPaths.add(path);
    return { ...area, path, synonyms: source?.synonyms ?? [], category: source?.category ?? otherAreas };
  });
  const areaByPath = new Map(areas.map((area) => [area.path, area]));
  const sources = [
    ...sorted.sources.filter((source) => source.area === null || areaByPath.has(source.path)),
    ...generatedAreaPages(areas.filter(({ path }) => !sorted.sources.some((source) => source.path === path))),
  ].sort((a, b) => byCodeUnit(a.path, b.path));
  const fillFacts = factFiller(sorted, areas);
  const siteUrl = sorted.urls.site;
  const retiredPaths = new Set(
    sorted.sources.filter(({ path, area }) => area !== null && !areaByPath.has(path)).map(({ path }) => path),
  );
  const paths = new Set(sources.map(({ path }) => path));
  const pages = sources.map((source): SitePage => {
    const area = areaByPath.get(source.path) ?? null;
    const { body, ...rest } = source;
    const markdown = fillFacts({ ...rest, body: withoutLinksTo(retiredPaths, body) }, area);
    return {
      ...rest,
      url: siteUrl + source.path,
      parent: source.parent ?? parentOf(source.path, paths),
      area,
      markdown,
      rendered: render(markdown),
    };
  });
  return { content: sorted, pages, areas };
}

function parentOf(path: string, paths: ReadonlySet<string>): string | null {
  if (path === "/") return null;
  const parentPath = path.replace(/[^/]+\/?$/, "");
  return paths.has(parentPath) ? parentPath : parentOf(parentPath, paths);
}

function withoutLinksTo(paths: ReadonlySet<string>, markdown: string): string {
  return markdown.replace(
    /\[([^\]]*)\]\((\/areas\/[^)#]*)(?:#[^)]*)?\)/g,
    (link, text: string, path: string) => paths.has(path) ? text : link,
  );
}

const digest = (area: string) => hash("sha256", area, "hex").slice(0, 8);

/** Returns a path such as `/areas/wine-cellar/`, with a digest if the term has no slug or its path is taken. */
export function uniquePath(area: string, usedPaths: ReadonlySet<string>): string {
  const slug = area.normalize("NFKD").toLowerCase().replace(/\p{M}+/gu, "").replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "").slice(0, 60).replace(/-+$/, "");
  const path = `/areas/${slug}/`;
  if (slug !== "" && !usedPaths.has(path)) return path;
  return slug === "" ? `/areas/${digest(area)}/` : `/areas/${slug}-${digest(area)}/`;
}

export function generatedAreaPages(areas: readonly AreaPage[]): PageSource[] {
  const names = areas.map(({ area }) => area.toWellFormed().replace(/[\p{Cc}\s]+/gu, " ").trim());
  return areas.map(({ area, path }, n) => {
    const name = names[n] as string;
    // A name that is shared or empty needs another title, because titles must be unique.
    const isUnique = name !== "" && names.indexOf(name) === names.lastIndexOf(name);
    return generatedAreaPage(area, { path, name: isUnique ? name : `${name} (${digest(area)})`.trim() });
  });
}

function generatedAreaPage(
  area: string,
  { path, name }: { readonly path: string; readonly name: string },
): PageSource {
  return {
    path,
    // No written source has such a title.
    title: `Project area ${name}`,
    nav: name,
    description: `The project area “${name}”, a term of the vocabulary without a detailed description yet.`,
    category: otherAreas,
    updated: null,
    order: 1_000,
    kind: "area",
    parent: null,
    area,
    service: null,
    synonyms: [],
    // The name is a fact, because it may contain double braces itself.
    body:
      `The operator has added {{area code}} to the vocabulary. A lead with this \`project_area\` is accepted without the flag
\`project_area_unknown\`. There is no description of these leads yet. What the homeowner means by the term may become clear from
\`project_details\`.

{{area term}}

## What to send

{{area example}}

See [project areas](/areas/) for the other terms, and [the envelope](/intake/envelope/) for the other fields of a lead.`,
  };
}

/**
 * Checks the links, anchors, parents and titles of all pages. `files` lists the other valid link targets.
 *
 * @throws {Error} that names each page with a missing link target or parent, and each title that is used twice
 */
export function checkPages(site: Site, files: readonly string[]): void {
  const pages = new Map(site.pages.map((page) => [page.path, page]));
  const broken = site.pages.flatMap((page) =>
    page.rendered.links.filter((href) => href.startsWith("/") || href.startsWith("#")).filter((href) => {
      const [path = "", anchor] = href.split("#");
      const target = path === "" ? page : pages.get(path);
      if (target === undefined) return !files.includes(path.slice(1));
      return anchor !== undefined && !target.rendered.headings.some(({ id }) => id === anchor);
    }).map((href) => `${page.path} links to ${href}, which does not exist`)
  );
  const orphans = site.pages.filter(({ parent }) => parent !== null && !pages.has(parent))
    .map(({ path, parent }) => `${path} has the parent ${parent}, which does not exist`);
  const titles = site.pages.map(({ title }) => title);
  const repeated = titles.filter((title, n) => titles.indexOf(title) !== n)
    .map((title) => `Two pages have the title ${title}`);
  const faults = [...broken, ...orphans, ...repeated];
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
