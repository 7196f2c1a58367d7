import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { projectServices } from "../../src/contract/fields.ts";
import { readPageSources } from "../../src/site/source.ts";
import areaTerms from "../vectors/areas.json" with { type: "json" };
import { readHtml, textsOf } from "../support/site/html.ts";
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

const metaOf = (html: string, name: string) =>
  readHtml(html).find((element) => element.attributes.name === name)?.attributes.content ?? "";

test("there is a page for every source, every area and every service", () => {
  assert.deepEqual([...pages.keys()].sort(), readPageSources().map(({ path }) => path).sort());
  const slugs = areaTerms.map((area) => `/areas/${area.replaceAll(" ", "-")}/`);
  for (const path of [...slugs, ...projectServices.map((name) => `/services/${name}/`)]) {
    assert.ok(pages.has(path), path);
  }
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

test("every page has a title and a description of its own", () => {
  const ways = [
    (html: string) => textsOf(html, "title")[0] ?? "",
    (html: string) => metaOf(html, "description"),
  ];
  for (const read of ways) {
    const texts = [...pages.values()].map(read);
    assert.equal(new Set(texts).size, texts.length);
    for (const text of texts) assert.ok(text.length >= 10 && text.length <= 170, text);
  }
});

test("every page names its canonical address, but for that of a 404, which is not to be indexed", () => {
  for (const [path, html] of pages) {
    const canonical = readHtml(html).filter(({ attributes }) => attributes.rel === "canonical");
    if (path === "/404.html") {
      assert.deepEqual(canonical, []);
      assert.equal(metaOf(html, "robots"), "noindex");
    } else assert.deepEqual(canonical.map(({ attributes }) => attributes.href), [urls.site + path]);
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

test("every page but the first can be reached from it", () => {
  const seen = new Set(["/"]);
  for (const path of seen) {
    for (const { name, attributes: { href = "" } } of readHtml(pages.get(path) ?? "<!doctype html>\n")) {
      if (name === "a" && href.startsWith("/") && pages.has(href)) seen.add(href);
    }
  }
  assert.deepEqual([...pages.keys()].filter((path) => !seen.has(path)), ["/404.html"]);
});

test("pages have landmarks, a way past them, and tell which of the menu's pages is the current one", () => {
  for (const [path, html] of pages) {
    const elements = readHtml(html);
    for (const name of ["main", "header", "footer"]) {
      const count = elements.filter((one) => one.name === name).length;
      assert.equal(count, 1, `${path}: ${name}`);
    }
    const labels = elements.filter(({ name }) => name === "nav")
      .map(({ attributes }) => attributes["aria-label"] ?? attributes["aria-labelledby"]);
    assert.ok(labels.every((label) => label !== undefined) && new Set(labels).size === labels.length, path);
    const first = elements.find(({ name }) => name === "a");
    assert.equal(first?.attributes.href, "#main", path);
  }
  assert.match(pages.get("/plans/") ?? "", /<a href="\/plans\/" aria-current="page">/);
});

test("no page loads or runs anything but its style sheet, its icon, and where there is code the buttons that copy it", () => {
  for (const [path, html] of pages) {
    const loaded = readHtml(html).filter(({ name, attributes }) =>
      ["script", "img", "iframe", "object", "embed", "video", "audio", "style", "form"].includes(name) ||
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

test("the style sheet, the icon and the script have the hash of their content in their names", () => {
  const assets = site.paths.filter((path) => /^assets\/.*\.(css|js|svg)$/.test(path));
  assert.equal(assets.length, 3);
  for (const path of assets) {
    const digest = createHash("sha256").update(site.bytes(path)).digest("hex");
    assert.ok(digest.startsWith(path.split(".").at(-2) as string), path);
  }
});

test("every text has variants that are packed, smaller, and the same when unpacked", () => {
  const plain = site.paths.filter((path) => !/\.(br|gz|data)$/.test(path));
  for (const path of plain) {
    const bytes = site.bytes(path);
    for (const [ending, unpack] of [[".br", brotliDecompressSync], [".gz", gunzipSync]] as const) {
      if (!site.paths.includes(path + ending)) {
        assert.ok(bytes.length < 256, `${path} is not packed`);
        continue;
      }
      const packed = site.bytes(path + ending);
      assert.ok(packed.length < bytes.length);
      assert.deepEqual(unpack(packed), bytes, path);
      if (ending === ".gz") assert.deepEqual([...packed.subarray(4, 10)], [0, 0, 0, 0, 2, 255]);
    }
  }
  assert.ok(!site.paths.some((path) => /^assets\/site\.data\./.test(path)), "ranges need the file as it is");
});

test("sitemap.xml has every page that is to be indexed, with the day it was changed", () => {
  const xml = site.text("sitemap.xml");
  const entries = [
    ...xml.matchAll(/<url><loc>([^<]*)<\/loc>(?:<lastmod>(\d{4}-\d\d-\d\d)<\/lastmod>)?<\/url>/g),
  ];
  assert.deepEqual(
    entries.map(([, loc]) => loc).sort(),
    [...pages.keys()].filter((path) => path !== "/404.html").map((path) => urls.site + path).sort(),
  );
  assert.equal(xml.split("<url>").length - 1, entries.length);
  assert.match(
    site.text("robots.txt"),
    /^User-agent: \*\nAllow: \/\n\nSitemap: https:\/\/www\.example\.com\/sitemap\.xml\n$/,
  );
});

test("every page is there in Markdown too, and nothing is left to be filled in", () => {
  for (const [path, html] of pages) {
    if (path === "/404.html") continue;
    const markdown = site.text(`${path.slice(1)}index.html.md`);
    assert.ok(markdown.startsWith("# "), path);
    for (const text of [html, markdown]) assert.doesNotMatch(text, /\{\{[a-z]|>undefined<|\[object/, path);
  }
});

test("numbers of the contract come from the contract: no source has one", () => {
  const numbers =
    /\b(64 KiB|65[ ,]?536|600 (requests|a minute)|1,?200 a minute|burst \d+|16,000|999\.99|0\.01)\b/;
  for (const { path, body } of readPageSources()) assert.doesNotMatch(body, numbers, path);
});
