/**
 * The databases of released versions, as `scripts/dump_baseline.ts` has written them, brought to the shape of this one.
 * Before the first release: whoever changes a numbered file of `sql/` writes its baseline anew.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { migrate, missingFiles } from "../../../src/store/schema/migrate.ts";
import { describeCatalog } from "../../support/catalog.ts";
import { createDatabase } from "../../support/database.ts";
import { openStore } from "../../support/store.ts";
import { lead, World } from "../../support/world.ts";

const folder = fileURLToPath(new URL("./", import.meta.url));
const baselines = readdirSync(folder).filter((name) => /^baseline_.*\.sql$/.test(name));

const fresh = await openStore();
// The rights of a database are not its template's.
await migrate(fresh.databaseUrl);

interface Table {
  readonly name: string;
  readonly columns: string[];
  readonly rows: string[];
}

/** What the tables have, but for the notes of the migration itself; of those given, what they have in these columns. */
async function read(sql: postgres.Sql, known?: readonly Table[]): Promise<Table[]> {
  const tables = known ?? await sql<Omit<Table, "rows">[]>`
    select c.oid::regclass::text as name, array_agg(quote_ident(a.attname) order by a.attname) as columns
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind = 'r' and c.relnamespace in ('public'::regnamespace, 'actions'::regnamespace)
      and c.relname not in ('schema_file', 'schema_release')
    group by c.oid order by 1`;
  return await Promise.all(tables.map(async ({ name, columns }) => {
    const rows = await sql.unsafe<{ row: string }[]>(
      `select row(${columns.join(", ")})::text as row from ${name} order by 1`,
    );
    return { name, columns, rows: rows.map(({ row }) => row) };
  }));
}

/** The lines of a catalog that may not differ: a column that came later is the last one. */
async function shapeOf(sql: postgres.Sql): Promise<string[]> {
  return (await describeCatalog(sql)).filter((line) => !line.startsWith("order of columns"));
}

test("there is a baseline of a released version", () => assert.notDeepEqual(baselines, []));

for (const baseline of baselines) {
  test(`${baseline} keeps its data, takes the present shape, and leads are accepted on it`, async () => {
    const { url } = await createDatabase({ migrated: false });
    const world = await World.open(url);
    await world.sql.unsafe(readFileSync(folder + baseline, "utf8"));
    const before = await read(world.sql);
    assert.deepEqual(before.filter(({ rows }) => rows.length === 0), []);
    await migrate(url);
    assert.deepEqual(await missingFiles(world.sql), []);
    assert.deepEqual(await read(world.sql, before), before);
    assert.deepEqual(await shapeOf(world.sql), await shapeOf(fresh.sql));

    await world.start();
    const key = await world.issue({ tenant: { id: 1, slug: "acme" } });
    assert.equal((await world.intake({ key: key.text, body: lead() })).status, 202);
  });
}
