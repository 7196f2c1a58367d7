/**
 * The pages of a site: its sources with their facts filled in, and one page for each area that the vocabulary has and no
 * source describes.
 */

import { render, type Rendered } from "../http/markdown.ts";
import { otherAreas } from "./categories.ts";
import { factsOf } from "./facts.ts";
import type { AreaPage, PageSource, SiteContent } from "./source.ts";
import { hash } from "node:crypto";

/** A page, ready to be laid out. */
export interface SitePage extends Omit<PageSource, "body" | "area"> {
  readonly url: string;
  /** The page above it in the breadcrumbs. */
  readonly parent: string | null;
  readonly area: AreaPage | null;
  /** With the facts filled in. */
  readonly markdown: string;
  readonly rendered: Rendered;
}

/** The pages of a site and what their builders share. */
export interface Site {
  readonly content: SiteContent;
  /** In the order of their addresses. */
  readonly pages: readonly SitePage[];
  readonly areas: readonly AreaPage[];
}

const byCode = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
const folded = (area: string) => area.normalize("NFC").toLowerCase();

/**
 * Makes the pages. A source about an area or of a term that is not in force makes none, and links to it become plain
 * text.
 *
 * @throws {Error} when a source names a fact that there is none of, or links to a page that there is none of
 */
export function assemble(content: SiteContent): Site {
  const sorted: SiteContent = {
    ...content,
    areas: [...content.areas].sort((a, b) => byCode(a.area, b.area)),
    // As the feed has them.
    plans: [...content.plans].sort((a, b) =>
      byCode(a.customer, b.customer) || a.amountCents - b.amountCents || byCode(a.slug, b.slug)
    ),
    sources: [...content.sources].sort((a, b) => byCode(a.path, b.path)),
  };
  const described = new Map(
    sorted.sources.flatMap((source) => source.area === null ? [] : [[folded(source.area), source]]),
  );
  const taken = new Set(sorted.sources.map(({ path }) => path));
  const areas = sorted.areas.map((area): AreaPage => {
    const source = described.get(folded(area.area));
    const path = source?.path ?? freePath(area.area, taken);
    taken.add(path);
    return { ...area, path, synonyms: source?.synonyms ?? [], category: source?.category ?? otherAreas };
  });
  const areaAt = new Map(areas.map((area) => [area.path, area]));
  const sources = [
    ...sorted.sources.filter((source) => source.area === null || areaAt.has(source.path)),
    ...undescribedPages(areas.filter(({ path }) => !sorted.sources.some((source) => source.path === path))),
  ].sort((a, b) => byCode(a.path, b.path));
  const facts = factsOf(sorted, areas);
  const site = sorted.urls.site;
  const retired = new Set(
    sorted.sources.filter(({ path, area }) => area !== null && !areaAt.has(path)).map(({ path }) => path),
  );
  const paths = new Set(sources.map(({ path }) => path));
  const pages = sources.map((source): SitePage => {
    const area = areaAt.get(source.path) ?? null;
    const { body, ...rest } = source;
    const markdown = facts.fill({ ...rest, body: withoutLinksTo(retired, body) }, area);
    return {
      ...rest,
      url: site + source.path,
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
  const above = path.replace(/[^/]+\/?$/, "");
  return paths.has(above) ? above : parentOf(above, paths);
}

function withoutLinksTo(paths: ReadonlySet<string>, markdown: string): string {
  return markdown.replace(
    /\[([^\]]*)\]\((\/areas\/[^)#]*)(?:#[^)]*)?\)/g,
    (link, text: string, path: string) => paths.has(path) ? text : link,
  );
}

const digest = (area: string) => hash("sha256", area, "hex").slice(0, 8);

/** `/areas/wine-cellar/`; terms that would have one address, or none, are told apart by a digest. */
export function freePath(area: string, taken: ReadonlySet<string>): string {
  const slug = area.normalize("NFKD").toLowerCase().replace(/\p{M}+/gu, "").replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "").slice(0, 60).replace(/-+$/, "");
  const path = `/areas/${slug}/`;
  if (slug !== "" && !taken.has(path)) return path;
  return slug === "" ? `/areas/${digest(area)}/` : `/areas/${slug}-${digest(area)}/`;
}

/** A source for each area. */
export function undescribedPages(areas: readonly AreaPage[]): PageSource[] {
  const names = areas.map(({ area }) => area.toWellFormed().replace(/[\p{Cc}\s]+/gu, " ").trim());
  return areas.map(({ area, path }, n) => {
    const name = names[n] as string;
    // No two pages have one title.
    const isPlain = name !== "" && names.indexOf(name) === names.lastIndexOf(name);
    return undescribed(area, { path, name: isPlain ? name : `${name} (${digest(area)})`.trim() });
  });
}

function undescribed(
  area: string,
  { path, name }: { readonly path: string; readonly name: string },
): PageSource {
  return {
    path,
    // As nobody calls a page that they write.
    title: `Project area ${name}`,
    nav: name,
    description: `The project area “${name}”: a term of the vocabulary without a description of its own yet.`,
    category: otherAreas,
    updated: null,
    order: 1_000,
    kind: "area",
    parent: null,
    area,
    service: null,
    synonyms: [],
    // The name is filled in as a fact: it may hold what looks like one.
    body:
      `The operator has added {{area code}} to the vocabulary. A lead that names it in \`project_area\` is taken as it
is, without the flag \`project_area_unknown\`. Nobody has written yet what such a lead usually holds: it means what the
person who filled in the form meant by it, and \`project_details\` says the rest.

{{area term}}

## What to send

{{area example}}

The other areas are listed under [project areas](/areas/), and what else a lead may hold under
[the envelope](/intake/envelope/).`,
  };
}

/**
 * Checks the links of all pages, anchors included, their parents and their titles. `files` can be linked to beside the pages.
 *
 * @throws {Error} naming each page with a link or a parent that is nowhere, and each title that two pages have
 */
export function checkPages(site: Site, files: readonly string[]): void {
  const pages = new Map(site.pages.map((page) => [page.path, page]));
  const wrong = site.pages.flatMap((page) =>
    page.rendered.links.filter((href) => href.startsWith("/") || href.startsWith("#")).filter((href) => {
      const [path = "", anchor] = href.split("#");
      const target = path === "" ? page : pages.get(path);
      if (target === undefined) return !files.includes(path.slice(1));
      return anchor !== undefined && !target.rendered.headings.some(({ id }) => id === anchor);
    }).map((href) => `${page.path} links to ${href}, which is nowhere`)
  );
  const orphans = site.pages.filter(({ parent }) => parent !== null && !pages.has(parent))
    .map(({ path, parent }) => `${path} is below ${parent}, which is nowhere`);
  const titles = site.pages.map(({ title }) => title);
  const twice = titles.filter((title, n) => titles.indexOf(title) !== n)
    .map((title) => `Two pages are called ${title}`);
  const faults = [...wrong, ...orphans, ...twice];
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
