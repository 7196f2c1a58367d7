/**
 * The pages of a site: its sources with their facts filled in, and one page for each area that the vocabulary has and no
 * source describes.
 *
 * @module
 */

import { otherAreas } from "./categories.ts";
import type { AreaPage, SiteContent } from "./content.ts";
import { factsOf } from "./facts.ts";
import { render, type Rendered } from "../http/markdown.ts";
import type { PageSource } from "./source.ts";
import { freePath, undescribedPages } from "./undescribed.ts";

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
