/**
 * The site as one SQLite file: its schema, three queries to begin with, and how it is written.
 *
 * Everything in it is sorted before it comes here, so that equal sites are equal files. 4 KiB pages, because a client
 * that reads over HTTP fetches whole pages; tables without a rowid, because then a row lies in the index that finds it.
 */

import { closeSync, openSync, writeSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

/** A row of `category`. */
interface CategoryRow {
  readonly id: string;
  readonly parent: string | null;
  readonly position: number;
  readonly name: string;
  readonly description: string;
}

/** A row of `page`. */
interface PageRow {
  readonly path: string;
  readonly url: string;
  readonly parent: string | null;
  readonly category: string;
  readonly position: number;
  readonly title: string;
  readonly description: string;
  readonly lang: string;
  readonly updated: string | null;
  readonly markdown: string;
  readonly text: string;
}

/** A row of `entity`. */
export interface EntityRow {
  readonly id: string;
  readonly type: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string | null;
  readonly page: string;
  readonly properties: string;
}

/** A row of `edge`. */
export interface EdgeRow {
  readonly subject: string;
  readonly predicate: string;
  readonly object: string;
  readonly position: number | null;
}

/** All rows; parents before their children. */
export interface SiteDataRows {
  readonly category: readonly CategoryRow[];
  readonly page: readonly PageRow[];
  readonly entity: readonly EntityRow[];
  readonly edge: readonly EdgeRow[];
}

/** What `sqlite_master` has, but for what the search index keeps for itself. */
export const siteDataSchema: readonly string[] = [
  `CREATE TABLE category (
  id TEXT PRIMARY KEY,
  parent TEXT REFERENCES category (id),  -- NULL at the top of the tree
  position INTEGER NOT NULL UNIQUE,      -- each after its parent, in the order of the menus
  name TEXT NOT NULL,
  description TEXT NOT NULL
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE page (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,             -- below the site's address: /areas/roof/
  url TEXT NOT NULL UNIQUE,              -- the canonical address
  parent TEXT REFERENCES page (path),    -- the page above it in the breadcrumbs
  category TEXT NOT NULL REFERENCES category (id),
  position INTEGER NOT NULL,             -- within its category
  title TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  lang TEXT NOT NULL,                    -- BCP 47
  updated TEXT,                          -- YYYY-MM-DD; NULL when nobody wrote the page
  markdown TEXT NOT NULL,
  text TEXT NOT NULL                     -- the same without markup
) STRICT`,
  `CREATE TABLE entity (
  id TEXT PRIMARY KEY,                   -- the @id of the JSON-LD node
  type TEXT NOT NULL,                    -- a type of schema.org
  name TEXT,
  description TEXT,
  url TEXT,
  page TEXT NOT NULL REFERENCES page (path),  -- whose JSON-LD has the node
  properties TEXT NOT NULL CHECK (json_valid(properties))  -- the other literal properties, as a JSON object
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE edge (
  subject TEXT NOT NULL REFERENCES entity (id),
  predicate TEXT NOT NULL,               -- a property of schema.org
  object TEXT NOT NULL REFERENCES entity (id),
  position INTEGER,                      -- from 0 in a list; NULL when the property has one value
  PRIMARY KEY (subject, predicate, object)
) STRICT, WITHOUT ROWID`,
  `CREATE INDEX category_parent ON category (parent)`,
  `CREATE INDEX page_category ON page (category, position)`,
  `CREATE INDEX page_parent ON page (parent)`,
  `CREATE INDEX entity_type ON entity (type, name)`,
  `CREATE INDEX entity_page ON entity (page)`,
  `CREATE INDEX edge_object ON edge (object, predicate)`,
  `CREATE VIRTUAL TABLE page_search USING fts5 (title, description, text, content='page', content_rowid='id', tokenize='porter unicode61')`,
];

/** A question that the file answers. */
interface ExampleQuery {
  readonly about: string;
  readonly sql: string;
}

/** Queries for `llms.txt` and the page about the file. Tests run them. */
export const exampleQueries: readonly ExampleQuery[] = [
  {
    about:
      "Every project area that a lead can name, with what callers write for it and the page that explains it:",
    sql: `SELECT properties ->> '$.termCode' AS term, properties -> '$.alternateName' AS synonyms, url
FROM entity
WHERE type = 'DefinedTerm' AND id IN (
  SELECT object FROM edge WHERE predicate = 'hasDefinedTerm' AND subject LIKE '%/areas/#set')
ORDER BY term`,
  },
  {
    about: "Pages about a subject, the best first:",
    sql: `SELECT page.title, page.url, snippet(page_search, 2, '', '', ' … ', 16) AS excerpt
FROM page_search JOIN page ON page.id = page_search.rowid
WHERE page_search MATCH 'duplicate OR idempotency'
ORDER BY bm25(page_search, 10.0, 5.0, 1.0)
LIMIT 5`,
  },
  {
    about: "What belongs to a roof: the areas and services that its page mentions:",
    sql: `SELECT mentioned.name, mentioned.url
FROM entity AS roof
JOIN entity AS part ON part.page = roof.page
JOIN edge ON edge.subject = part.id AND edge.predicate = 'mentions'
JOIN entity AS mentioned ON mentioned.id = edge.object
WHERE roof.type = 'DefinedTerm' AND roof.name = 'roof'
ORDER BY edge.position`,
  },
];

/** "LISD", so that `file` and others can tell what it is. */
const applicationId = 0x4c495344;
/** Of the schema above: raise it with every change that a reader could notice. */
const schemaVersion = 1;

/** Writes the file, which must not exist yet, and returns its schema: every statement that `sqlite_master` has. */
export function writeSiteData(file: string, rows: SiteDataRows): string[] {
  let schema: string[];
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: true });
  try {
    database.exec(`
      pragma page_size = 4096;
      pragma journal_mode = delete;
      pragma auto_vacuum = none;
      pragma encoding = 'UTF-8';
      pragma application_id = ${applicationId};
      pragma user_version = ${schemaVersion};
      begin;
      ${siteDataSchema.map((statement) => `${statement};`).join("\n")}
    `);
    for (const name of ["category", "page", "entity", "edge"] as const) insert(database, name, rows[name]);
    database.exec(`
      insert into page_search (page_search) values ('rebuild');
      insert into page_search (page_search) values ('optimize');
      commit;
      vacuum;
    `);
    const made = database.prepare("select sql from sqlite_master where sql is not null order by rowid").all();
    schema = made.map(({ sql }) => String(sql));
  } finally {
    database.close();
  }
  forgetLibrary(file);
  return schema;
}

/** Every row of a table has the same members, which are its columns. */
function insert(database: DatabaseSync, table: keyof SiteDataRows, rows: readonly object[]): void {
  const [first] = rows;
  if (first === undefined) return;
  const names = Object.keys(first);
  const values = names.map((name) => `:${name}`);
  const statement = database.prepare(
    `insert into ${table} (${names.join(", ")}) values (${values.join(", ")})`,
  );
  for (const row of rows) statement.run(row as Record<string, SQLInputValue>);
}

/** Bytes 96 to 99 of the header say which version of SQLite wrote last, for curiosity only; two versions write alike. */
function forgetLibrary(file: string): void {
  const handle = openSync(file, "r+");
  try {
    writeSync(handle, new Uint8Array(4), 0, 4, 96);
  } finally {
    closeSync(handle);
  }
}
