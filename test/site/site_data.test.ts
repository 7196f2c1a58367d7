import assert from "node:assert/strict";
import { before, test } from "node:test";
import areaTerms from "../vectors/areas.json" with { type: "json" };
import { type BuiltSite, gutterCare, SiteWorld, urls } from "../support/site/site.ts";

let world: SiteWorld;
let site: BuiltSite;

before(async () => {
  world = await SiteWorld.open();
  await world.put(gutterCare);
  site = await world.build("site");
});

function rows(sql: string): Record<string, unknown>[] {
  const database = site.database();
  try {
    return database.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    database.close();
  }
}
const value = (sql: string) => Object.values(rows(sql)[0] ?? {})[0];

test("site.data is whole: integrity, foreign keys, one file with small pages and a mark of its own", () => {
  assert.deepEqual(rows("pragma integrity_check").map(Object.values), [["ok"]]);
  assert.deepEqual(rows("pragma foreign_key_check"), []);
  assert.equal(value("pragma page_size"), 4096);
  assert.equal(value("pragma journal_mode"), "delete");
  assert.equal(value("pragma freelist_count"), 0);
  assert.equal(value("pragma application_id"), 0x4c495344);
  assert.equal(value("pragma user_version"), 1);
  assert.ok(!site.paths.some((path) => /-(journal|wal|shm)$/.test(path)));
  // Which version of SQLite wrote it: two of them write the same otherwise.
  assert.deepEqual([...site.bytes("assets/site.data").subarray(96, 100)], [0, 0, 0, 0]);
});

/** The code blocks of `llms.txt`. */
const codeBlocks = () =>
  [...site.text("llms.txt").matchAll(/^```sql\n([\s\S]*?)\n```$/gm)].map(([, text]) => text as string);

test("llms.txt follows the convention: a title, a summary, no further heading before the lists, and then links only", () => {
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

test("llms.txt has the schema exactly as sqlite_master has it", () => {
  const [schema = ""] = codeBlocks();
  const master = rows("select sql from sqlite_master where sql is not null order by rowid");
  assert.equal(schema, master.map(({ sql }) => `${sql};`).join("\n\n"));
});

test("the three queries of llms.txt answer what they say", () => {
  const [, ...queries] = codeBlocks();
  assert.equal(queries.length, 3);
  const [areas = [], search = [], roof = []] = queries.map(rows);
  assert.deepEqual(areas.map(({ term }) => term), [...areaTerms].sort());
  for (const { term, url, synonyms } of areas) {
    assert.equal(url, `${urls.site}/areas/${String(term).replaceAll(" ", "-")}/`);
    assert.ok(JSON.parse(String(synonyms)).length > 0, String(term));
  }
  assert.equal(search[0]?.title, "Idempotency");
  assert.ok(search.every(({ excerpt }) => /duplicate|idempoten/i.test(String(excerpt))));
  const names = roof.map(({ name }) => name);
  assert.ok(names.includes("gutters") && names.includes("replacement"), names.join());
});
