/**
 * What the pages say of one another holds: every link within the site leads somewhere.
 *
 * @module
 */

import type { Site } from "./assemble.ts";

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
