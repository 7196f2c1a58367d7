/** Everything that a built site contains: its pages, their JSON-LD, site.data and llms.txt. */

import assert from "node:assert/strict";
import { test } from "node:test";
import areaTerms from "../vectors/areas.json" with { type: "json" };
import vocabulary from "../vectors/site/schema_org.json" with { type: "json" };
import { readHtml } from "../support/site/html.ts";
import { gutterCare, jsonLdOf, SiteTestEnv, urls } from "../support/site/site.ts";

const testEnv = await SiteTestEnv.open();
await testEnv.put(gutterCare);
await testEnv.add("wine cellar", "proposed");
const site = await testEnv.build("site");
const pages = site.pages;
const graphs = new Map([...pages].map(([path, html]) => [path, jsonLdOf(html)]));

function rows(sql: string): Record<string, unknown>[] {
  const database = site.database();
  try {
    return database.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    database.close();
  }
}
const value = (sql: string) => Object.values(rows(sql)[0] ?? {})[0];

test("every page is well-formed, with one h1 and no skipped heading level", () => {
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

test("every internal link resolves to a page, a file or an anchor", () => {
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

test("a page loads only its style sheet, its icon and, beside code, the copy script", () => {
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

const types: Readonly<
  Record<string, { extends: readonly string[]; properties: Readonly<Record<string, readonly string[]>> }>
> = vocabulary.types;

const isReference = (value: unknown): value is { "@id": string } =>
  typeof value === "object" && value !== null && "@id" in value;

/** Returns a type and its ancestors. */
function lineage(type: string): string[] {
  return [type, ...(types[type]?.extends ?? []).flatMap(lineage)];
}

/** Returns the types that a property of a type accepts, or `undefined` if the type has no such property. */
function rangeOf(type: string, property: string): readonly string[] | undefined {
  return lineage(type).map((one) => types[one]?.properties[property]).find((range) => range !== undefined);
}

/** Returns the schema.org data types that a literal may have. */
function literalTypes(value: unknown): string[] {
  if (typeof value === "number") return ["Number", "Integer"];
  if (typeof value === "boolean") return ["Boolean"];
  const text = String(value);
  return [
    "Text",
    ...(URL.canParse(text) ? ["URL"] : []),
    ...(/^\d{4}-\d\d-\d\d$/.test(text) ? ["Date"] : []),
    ...(/^P(\d+[YMWD])+$/.test(text) ? ["Duration"] : []),
    ...(/^-?\d+(\.\d+)?$/.test(text) ? ["Number"] : []),
  ];
}

test("every node has a schema.org type, with that type's properties and valid values", () => {
  const everything = new Map([...graphs.values()].flat().map((node) => [node["@id"], node]));
  const wrong = [...everything.values()].flatMap((node) => {
    const { "@id": id, "@type": type, ...properties } = node;
    if (!vocabulary.used.includes(type)) return [`${id} is a ${type}`];
    return Object.entries(properties).flatMap(([property, value]) => {
      const range = rangeOf(type, property);
      if (range === undefined) return [`${id}: a ${type} has no ${property}`];
      return [value].flat().filter((one) => {
        const kinds = isReference(one)
          ? lineage(everything.get(one["@id"])?.["@type"] ?? "")
          : literalTypes(one);
        return !kinds.some((kind) => range.includes(kind));
      }).map((one) => `${id}: ${property} may not be ${JSON.stringify(one)}`);
    });
  });
  assert.deepEqual(wrong, []);
});

test("the JSON-LD of every page contains exactly the rows of entity and edge", () => {
  const entities = rows("select * from entity") as Record<string, string | null>[];
  const edges = rows("select * from edge order by subject, predicate, position") as {
    subject: string;
    predicate: string;
    object: string;
    position: number | null;
  }[];
  const made = entities.map((row) => {
    const node: Record<string, unknown> = { "@id": row.id, "@type": row.type };
    for (const name of ["name", "description", "url"]) if (row[name] !== null) node[name] = row[name];
    Object.assign(node, JSON.parse(row.properties as string));
    for (const { predicate, object, position } of edges.filter(({ subject }) => subject === row.id)) {
      if (position === null) {
        assert.ok(!(predicate in node), `${row.id} has ${predicate} twice`);
        node[predicate] = { "@id": object };
      } else {
        const list = (node[predicate] ??= []) as unknown[];
        assert.equal(list.length, position);
        list.push({ "@id": object });
      }
    }
    return { page: row.page as string, node };
  });
  const byId = (a: Record<string, unknown>, b: Record<string, unknown>) =>
    String(a["@id"]) < String(b["@id"]) ? -1 : 1;
  const shared = made.filter(({ node }) => /\/#(organization|website)$/.test(String(node["@id"])));
  assert.ok(shared.length === 2 && shared.every(({ page }) => page === "/"));
  for (const [path, nodes] of graphs) {
    const own = made.filter((one) => one.page === path && !shared.includes(one));
    assert.deepEqual([...own, ...shared].map(({ node }) => node).sort(byId), [...nodes].sort(byId), path);
  }
  assert.equal(made.length, new Set([...graphs.values()].flat().map((node) => node["@id"])).size);
});

test("site.data passes integrity and foreign key checks and is one file with small pages and an application id", () => {
  assert.deepEqual(rows("pragma integrity_check").map(Object.values), [["ok"]]);
  assert.deepEqual(rows("pragma foreign_key_check"), []);
  assert.equal(value("pragma page_size"), 4096);
  assert.equal(value("pragma journal_mode"), "delete");
  assert.equal(value("pragma freelist_count"), 0);
  assert.equal(value("pragma application_id"), 0x4c495344);
  assert.equal(value("pragma user_version"), 1);
  assert.ok(!site.paths.some((path) => /-(journal|wal|shm)$/.test(path)));
  // The number of the SQLite version that wrote the file would make builds differ.
  assert.deepEqual([...site.bytes("assets/site.data").subarray(96, 100)], [0, 0, 0, 0]);
});

/** Returns the code blocks of `llms.txt`. */
const codeBlocks = () =>
  [...site.text("llms.txt").matchAll(/^```sql\n([\s\S]*?)\n```$/gm)].map(([, text]) => text as string);

test("llms.txt follows the convention: title, summary, then lists of links", () => {
  const text = site.text("llms.txt");
  const [opening = "", ...sections] = text.split(/^## /m);
  assert.match(opening, /^# Lead Intake Service\n\n> [^\n]+\n\n/);
  assert.equal(opening.match(/^#/gm)?.length, 1);
  assert.ok(sections.length >= 8);
  for (const section of sections) {
    const [name, blank, ...lines] = section.trimEnd().split("\n");
    assert.notEqual(name, "");
    assert.equal(blank, "");
    assert.ok(lines.length > 0);
    for (const line of lines) assert.match(line, /^- \[[^\n]+\]\(https:\/\/\S+\): \S[^\n]*$/);
  }
  const links = [...text.matchAll(/\]\((https:\/\/www\.example\.com\/[^)]*)\)/g)].map(([, href]) =>
    href as string
  );
  for (const href of links) assert.ok(site.paths.includes(new URL(href).pathname.slice(1)), href);
  const unlisted = ["/404.html", "/search/"];
  assert.equal(new Set(links).size, site.pages.size - unlisted.length);
});

test("llms.txt contains the schema exactly as in sqlite_master", () => {
  const [schema = ""] = codeBlocks();
  const master = rows("select sql from sqlite_master where sql is not null order by rowid");
  assert.equal(schema, master.map(({ sql }) => `${sql};`).join("\n\n"));
});

test("the three queries of llms.txt return what they promise", () => {
  const [, ...queries] = codeBlocks();
  assert.equal(queries.length, 3);
  const [areas = [], search = [], roof = []] = queries.map(rows);
  assert.deepEqual(areas.map(({ term }) => term), [...areaTerms, "wine cellar"].sort());
  for (const { term, url, synonyms } of areas) {
    assert.equal(url, `${urls.site}/areas/${String(term).replaceAll(" ", "-")}/`);
    assert.ok(term === "wine cellar" || JSON.parse(String(synonyms)).length > 0, String(term));
  }
  assert.equal(search[0]?.title, "Idempotency");
  assert.ok(search.every(({ excerpt }) => /duplicate|idempoten/i.test(String(excerpt))));
  const names = roof.map(({ name }) => name);
  assert.ok(names.includes("gutters") && names.includes("replacement"), names.join());
});
