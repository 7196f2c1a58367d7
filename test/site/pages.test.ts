import assert from "node:assert/strict";
import { before, test } from "node:test";
import { readHtml } from "../support/site/html.ts";
import { type BuiltSite, gutterCare, SiteWorld, urls } from "../support/site/site.ts";

let world: SiteWorld;
let site: BuiltSite;
let pages: ReadonlyMap<string, string>;

before(async () => {
  world = await SiteWorld.open();
  await world.put(gutterCare);
  site = await world.build("site");
  pages = site.pages;
});

test("every page is well-formed, with one h1, and headings that leave no level out", () => {
  for (const [path, html] of pages) {
    assert.doesNotThrow(() => readHtml(html), path);
    const levels = readHtml(html).filter(({ name }) => /^h\d$/.test(name)).map(({ name }) => Number(name[1]));
    assert.equal(levels.filter((level) => level === 1).length, 1, path);
    assert.equal(levels[0], 1, path);
    for (const [n, level] of levels.entries()) {
      assert.ok(level <= (levels[n - 1] ?? 1) + 1, `${path}: h${level}`);
    }
  }
});

test("every link within the site leads to a page, to a file or to a place in a page", () => {
  const ids = new Map([...pages].map(([path, html]) => [
    path,
    new Set(readHtml(html).map(({ attributes }) => attributes.id)),
  ]));
  const files = new Set(site.paths.map((path) => `/${path}`));
  for (const [path, html] of pages) {
    for (const { name, attributes: { href = "" } } of readHtml(html)) {
      if (name !== "a" && name !== "link") continue;
      if (/^https?:/.test(href) && !href.startsWith(`${urls.site}/`)) continue;
      const { pathname, hash, search } = new URL(href, urls.site + path);
      assert.equal(search, "", href);
      assert.ok(pages.has(pathname) || files.has(pathname), `${path} links to ${href}`);
      if (hash !== "") assert.ok(ids.get(pathname)?.has(hash.slice(1)), `${path} links to ${href}`);
    }
  }
});

test("no page loads or runs anything but its style sheet, its icon, and where there is code the buttons that copy it", () => {
  for (const [path, html] of pages) {
    const loaded = readHtml(html).filter(({ name, attributes }) =>
      ["script", "img", "iframe", "object", "embed", "video", "audio", "style"].includes(name) ||
      (name === "link" && !["canonical", "alternate"].includes(attributes.rel ?? ""))
    );
    assert.deepEqual(loaded.map(({ name, attributes }) => attributes.rel ?? attributes.type ?? name).sort(), [
      "application/ld+json",
      "icon",
      ...(html.includes("<pre ") ? ["module"] : []),
      "stylesheet",
    ], path);
    assert.doesNotMatch(html, /\son[a-z]+=|\sstyle=|javascript:/i, path);
  }
});
