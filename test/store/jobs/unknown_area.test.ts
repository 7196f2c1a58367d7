/** Tests the counts of unknown terms, which the search indexer adds. */

import assert from "node:assert/strict";
import test, { beforeEach } from "node:test";
import { SearchIndexer } from "../../../src/store/jobs/search_indexer.ts";
import { groupTerms, listUnknownAreas } from "../../../src/store/operator/vocabulary.ts";
import { acceptPosts } from "../../support/accept.ts";
import { openPool } from "../../support/pool.ts";
import { rowsRead } from "../../support/rows_read.ts";
import { TestEnv } from "../../support/test_env.ts";

const testEnv = await TestEnv.open();
const { sql } = testEnv;
const pool = openPool(testEnv.database.url);
const indexer = new SearchIndexer(pool);
const acme = await testEnv.tenant({ sandbox: true });
const web = await testEnv.issue({ tenant: acme });
const shop = await testEnv.issue({ tenant: acme });
const perDay = 1_000;

beforeEach(async () => {
  await sql`truncate event, outbox, search_entry, search_todo, unknown_area cascade`;
  await testEnv.setClock("2026-03-01T12:00:00Z");
});

/** Posts one lead per term in one commit and returns their ids. */
async function post(terms: readonly string[], { id: keyId } = web): Promise<string[]> {
  const rows = await acceptPosts(
    sql,
    terms.map((term) => ({
      keyId,
      flags: "project_area_unknown",
      lead: JSON.stringify({ last_name: "Doe", project_area: term }),
    })),
  );
  // A commit without duplicates returns one row with all ids.
  return rows.flatMap(({ event_id }) => event_id.match(/.{38}/g) ?? []);
}

const numbered = (count: number, name: string) => Array.from({ length: count }, (_, n) => `${name} ${n}`);

async function index(): Promise<void> {
  while (await indexer.runOnce() > 0);
}

/** Returns the counts of the terms that are kept, and the sum of the others. */
async function counted(): Promise<{ kept: Record<string, number>; others: number }> {
  const areas = await listUnknownAreas(pool, { tenantId: acme.id, limit: 10_000 });
  const kept = Object.fromEntries(
    areas.filter(({ term }) => term !== null).map(({ term, count }) => [term, count]),
  );
  return { kept, others: areas.find(({ term }) => term === null)?.count ?? 0 };
}

test("each lead is counted once, even if its commit is indexed again", async () => {
  const [id = ""] = await post(["moat", "moat", "tower"]);
  await index();
  // A later commit in the same microsecond.
  await sql`insert into search_todo (id_start) values (${id.slice(0, 14)})`;
  await index();
  assert.deepEqual(await counted(), { kept: { moat: 2, tower: 1 }, others: 0 });
  const [term] = await sql`select first_at, last_at, key_id from unknown_area where term = 'moat'`;
  await testEnv.setClock("2026-03-02T12:00:00Z");
  await post(["moat"], shop);
  await index();
  const [later] = await sql`select first_at, last_at, key_id from unknown_area where term = 'moat'`;
  assert.deepEqual(later, { ...term, last_at: new Date("2026-03-02T12:00:00Z") });
});

test("of each key, a thousand new terms a day are kept, and further ones are counted together", async () => {
  await post(numbered(perDay - 1, "room"));
  await index();
  await post([...numbered(3, "late"), "room 5"]);
  await index();
  const { kept, others } = await counted();
  assert.deepEqual([Object.keys(kept).length, kept["room 5"], kept["late 0"], others], [perDay, 2, 1, 2]);
  // Another key of the tenant, and the next day.
  await post(["stable"], shop);
  await testEnv.setClock("2026-03-02T00:00:01Z");
  await post(numbered(2, "next"));
  await index();
  const after = await counted();
  assert.deepEqual([after.kept.stable, after.kept["next 1"], after.others], [1, 1, 2]);
  const [most] = groupTerms(await listUnknownAreas(pool, { tenantId: null, limit: 10_000 }));
  assert.deepEqual([most?.term, most?.count], [null, 2]);
});

test("the terms of a backlog count for the day on which they are indexed", async () => {
  await testEnv.setClock("2026-03-01T23:59:00Z");
  await post(numbered(perDay, "late"));
  await testEnv.setClock("2026-03-01T23:59:01Z");
  await post(numbered(5, "later"));
  await testEnv.setClock("2026-03-02T00:00:10Z");
  for (let runs = 0; runs < 2; runs += 1) await sql`select fill_search_entry(1)`;
  const { kept, others } = await counted();
  assert.deepEqual([Object.keys(kept).length, others], [perDay, 5]);
});

test("an erased lead's term is no longer counted, whether or not it was indexed", async () => {
  const erase = (ids: readonly string[]) =>
    Promise.all(ids.map((id) => sql`select from erase_event(${id}, null, '{}')`));
  const [first = "", second = ""] = await post(["moat", "moat"]);
  await index();
  await erase([first]);
  assert.deepEqual((await counted()).kept, { moat: 1 });
  await erase([second, ...await post(["moat", "tower"])]);
  await index();
  assert.deepEqual([...await sql`select term, count from unknown_area`], []);
});

test("indexing one lead reads a bounded number of known terms", async () => {
  await sql`
    insert into unknown_area (tenant_id, key_id, term, count, first_at, last_at, counted_on)
    select ${acme.id}, ${web.id}, 'old ' || n, 1, '2026-01-01', '2026-01-01', '2026-01-01' from generate_series(1, 50000) as n`;
  await post(["moat"]);
  const read = await rowsRead(sql, "unknown_area", (session) => session`select fill_search_entry(256)`);
  assert.ok(read <= perDay, `${read} rows were read`);
  assert.equal((await sql`select from unknown_area where term = 'moat'`).length, 1);
});
