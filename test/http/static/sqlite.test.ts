import assert from "node:assert/strict";
import { renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { queryRemotely } from "../../support/http/remote_sqlite.ts";
import { makeFolder } from "../../support/http/static_folder.ts";
import { places, startApp } from "../../support/http/echo.ts";

const queries = [
  "select title from page where path = '/areas/area-4321/'",
  "select p.title from edge e join page p on p.id = e.target where e.source = 17 order by p.id",
  "select count(*) from page where path between '/areas/area-1000/' and '/areas/area-1002/'",
];

/** Creates a database of many pages and some megabytes. */
function makeDatabase(path: string, title: string): void {
  const database = new DatabaseSync(path);
  database.exec(`
    pragma page_size = 4096;
    create table page (id integer primary key, path text not null unique, title text not null, body text not null);
    create table edge (source integer not null, target integer not null, primary key (source, target)) without rowid;
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
    insert into page select i, '/areas/area-' || i || '/', '${title} ' || i, hex(zeroblob(300)) from n;
    insert into edge select id, (id * 7 + step) % 10000 + 1 from page, (select 1 step union select 2 union select 3);
    vacuum;
  `);
  database.close();
}

function locally(path: string, query: string): unknown[][] {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare(query).all().map((row) => Object.values(row));
  database.close();
  return rows;
}

for (const place of places) {
  test(`a SQLite client queries a database over HTTP on ${place} and fetches a small part of it`, async (t) => {
    const folder = makeFolder();
    const path = join(folder, "site.sqlite");
    makeDatabase(path, "Area");
    const app = await startApp(place, { folder });
    t.after(() => app.close());
    const results = await queryRemotely(`http://127.0.0.1:${app.port}/site.sqlite`, queries);
    for (const [index, query] of queries.entries()) {
      assert.deepEqual(results[index]?.rows, locally(path, query), query);
    }
    const last = results.at(-1);
    assert.ok(last !== undefined);
    const { size, requests, bytes, type } = last;
    t.diagnostic(`${requests} requests, ${bytes} of ${size} bytes`);
    assert.equal(size, statSync(path).size);
    assert.ok(size > 5_000_000);
    assert.ok(bytes < size / 50, `${bytes} of ${size} bytes`);
    assert.ok(requests < 40, `${requests} requests`);
    assert.equal(type, "application/vnd.sqlite3");
  });
}

test("a SQLite client notices that the database was replaced", async (t) => {
  const folder = makeFolder();
  const path = join(folder, "site.sqlite");
  makeDatabase(path, "Area");
  makeDatabase(`${path}.new`, "Region");
  const app = await startApp("node", { folder });
  t.after(() => app.close());
  const [before, after] = await queryRemotely(
    `http://127.0.0.1:${app.port}/site.sqlite`,
    queries.slice(0, 2),
    () => renameSync(`${path}.new`, path),
  );
  assert.deepEqual(before?.rows, [["Area 4321"]]);
  assert.match(after?.error ?? "", /status 412/);
});
