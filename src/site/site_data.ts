/**
 * Defines the site as one SQLite file: the schema, example queries, and the function that writes the file.
 *
 * Callers pass sorted rows, so equal sites produce equal files. SQLite pages are 4 KiB, because a client that reads over HTTP
 * fetches whole pages. Tables without a rowid store each row in the primary-key index.
 */

import { closeSync, openSync, writeSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

interface CategoryRow {
  readonly id: string;
  readonly parent: string | null;
  readonly position: number;
  readonly name: string;
  readonly description: string;
}

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

export interface EntityRow {
  readonly id: string;
  readonly type: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string | null;
  readonly page: string;
  readonly properties: string;
}

export interface EdgeRow {
  readonly subject: string;
  readonly predicate: string;
  readonly object: string;
  readonly position: number | null;
}

/** All rows, parents before their children. */
export interface SiteDataRows {
  readonly category: readonly CategoryRow[];
  readonly page: readonly PageRow[];
  readonly entity: readonly EntityRow[];
  readonly edge: readonly EdgeRow[];
}

/** The statements in `sqlite_master`, except those for the search index's internal tables. */
export const siteDataSchema: readonly string[] = [
  `CREATE TABLE category (
  id TEXT PRIMARY KEY,
  parent TEXT REFERENCES category (id),  -- NULL at the top of the tree
  position INTEGER NOT NULL UNIQUE,      -- display order, each after its parent
  name TEXT NOT NULL,
  description TEXT NOT NULL
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE page (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,             -- such as /areas/roof/
  url TEXT NOT NULL UNIQUE,              -- the canonical URL
  parent TEXT REFERENCES page (path),    -- the parent in the breadcrumbs
  category TEXT NOT NULL REFERENCES category (id),
  position INTEGER NOT NULL,             -- within its category
  title TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  lang TEXT NOT NULL,                    -- BCP 47
  updated TEXT,                          -- YYYY-MM-DD; NULL for generated pages
  markdown TEXT NOT NULL,
  text TEXT NOT NULL                     -- the page as plain text
) STRICT`,
  `CREATE TABLE entity (
  id TEXT PRIMARY KEY,                   -- the @id of the JSON-LD node
  type TEXT NOT NULL,                    -- a schema.org type
  name TEXT,
  description TEXT,
  url TEXT,
  page TEXT NOT NULL REFERENCES page (path),  -- the page whose JSON-LD contains the node
  properties TEXT NOT NULL CHECK (json_valid(properties))  -- the other literal properties, as a JSON object
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE edge (
  subject TEXT NOT NULL REFERENCES entity (id),
  predicate TEXT NOT NULL,               -- a schema.org property
  object TEXT NOT NULL REFERENCES entity (id),
  position INTEGER,                      -- index in a list, from 0; NULL for a single value
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

interface ExampleQuery {
  readonly about: string;
  readonly sql: string;
}

/** The queries in `llms.txt` and on the page about the file. The tests run them. */
export const exampleQueries: readonly ExampleQuery[] = [
  {
    about: "List every project area, with its synonyms and the page that describes it:",
    sql: `SELECT properties ->> '$.termCode' AS term, properties -> '$.alternateName' AS synonyms, url
FROM entity
WHERE type = 'DefinedTerm' AND id IN (
  SELECT object FROM edge WHERE predicate = 'hasDefinedTerm' AND subject LIKE '%/areas/#set')
ORDER BY term`,
  },
  {
    about: "Search for pages, best match first:",
    sql: `SELECT page.title, page.url, snippet(page_search, 2, '', '', ' … ', 16) AS excerpt
FROM page_search JOIN page ON page.id = page_search.rowid
WHERE page_search MATCH 'duplicate OR idempotency'
ORDER BY bm25(page_search, 10.0, 5.0, 1.0)
LIMIT 5`,
  },
  {
    about: "List the areas and services that the page about roofs mentions:",
    sql: `SELECT mentioned.name, mentioned.url
FROM entity AS roof
JOIN entity AS part ON part.page = roof.page
JOIN edge ON edge.subject = part.id AND edge.predicate = 'mentions'
JOIN entity AS mentioned ON mentioned.id = edge.object
WHERE roof.type = 'DefinedTerm' AND roof.name = 'roof'
ORDER BY edge.position`,
  },
];

/** The text "LISD" as a number, by which tools such as `file` identify the format. */
const applicationId = 0x4c495344;
/** The version of the schema above. Increment it with every change that readers can see. */
const schemaVersion = 1;

/** Writes the file, which must not exist yet, and returns the statements in `sqlite_master`. */
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
    const stored = database.prepare("select sql from sqlite_master where sql is not null order by rowid")
      .all();
    schema = stored.map(({ sql }) => String(sql));
  } finally {
    database.close();
  }
  clearLibraryVersion(file);
  return schema;
}

/** Inserts rows, whose keys are the column names. */
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

/** Clears header bytes 96 to 99, which contain the writer's SQLite version and which nothing reads. */
function clearLibraryVersion(file: string): void {
  const handle = openSync(file, "r+");
  try {
    writeSync(handle, new Uint8Array(4), 0, 4, 96);
  } finally {
    closeSync(handle);
  }
}
