/**
 * Every link within the site leads somewhere.
 *
 * @module
 */

import type { Site } from "./content.ts";

/**
 * Checks the links of all pages, anchors included.
 *
 * @throws {Error} naming each page with a link to nowhere
 */
export function checkLinks(site: Site, files: ReadonlySet<string>): void {
  const pages = new Map(site.pages.map((page) => [page.path, page]));
  const wrong = site.pages.flatMap((page) =>
    page.rendered.links.filter((href) => href.startsWith("/") || href.startsWith("#")).filter((href) => {
      const [path = "", anchor] = href.split("#");
      const target = path === "" ? page : pages.get(path);
      if (target === undefined) return !files.has(path.slice(1));
      return anchor !== undefined && !target.rendered.headings.some(({ id }) => id === anchor);
    }).map((href) => `${page.path} links to ${href}, which is nowhere`)
  );
  const titles = site.pages.map(({ title }) => title);
  const twice = titles.filter((title, n) => titles.indexOf(title) !== n)
    .map((title) => `Two pages are called ${title}`);
  if (wrong.length + twice.length > 0) throw new Error([...wrong, ...twice].join("\n"));
}
