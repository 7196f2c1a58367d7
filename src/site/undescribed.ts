/**
 * Pages for areas that an operator has added and nobody has written about. They say so.
 *
 * @module
 */

import { hash } from "node:crypto";
import { otherAreas } from "./categories.ts";
import type { AreaPage } from "./content.ts";
import type { PageSource } from "./source.ts";

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
