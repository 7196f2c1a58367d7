import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { migrate } from "../../../src/store/schema/migrate.ts";
import { openStore } from "../../support/store.ts";
import { until } from "../../support/until.ts";
import { atEnd } from "../../support/at_end.ts";

const { databaseUrl, sql: admin } = await openStore();
const names: string[] = [];
atEnd(async () => {
  for (const name of names) await admin.unsafe(`drop database if exists ${name} with (force)`);
});

const folder = fileURLToPath(new URL("../../../sql/", import.meta.url));
const files = readdirSync(folder).filter((name) => /^\d/.test(name)).sort();
const functions = readdirSync(`${folder}functions`).sort().map((name) => `functions/${name}`);
const all = [...files, ...functions, "builtins.sql", "grants.sql"];

/** Creates an empty database and a connection to it. */
async function emptyDatabase() {
  const name = `test_migrate_${randomBytes(6).toString("hex")}`;
  names.push(name);
  await admin.unsafe(`create database ${name} template template0 encoding 'UTF8'`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  return { url: url.href, sql };
}

test("an empty database gets every file in order and is then current", async () => {
  const { url, sql } = await emptyDatabase();
  assert.deepEqual(await migrate(url), all);
  assert.deepEqual(await migrate(url), []);
  const [row] = await sql`select count(*)::int as count from area`;
  assert.equal(row?.count, 37);
  await sql.end();
});

test("concurrent migrations wait for each other and apply each file once", async () => {
  const { url, sql } = await emptyDatabase();
  const applied = (await Promise.all([migrate(url), migrate(url), migrate(url)])).flat();
  assert.deepEqual(applied.toSorted(), all.toSorted());
  await sql.end();
});

test("a numbered file edited after it was applied is refused, and nothing is applied", async () => {
  const { url, sql } = await emptyDatabase();
  await migrate(url);
  await sql`update schema_file set digest = 'other' where name = ${files[1] as string}`;
  await sql`delete from schema_file where name = 'functions/accept.sql'`;
  await assert.rejects(
    migrate(url),
    new RegExp(
      `created by another version .* sql/${files[1]}\\.\n.*delete the folder \\.data.*\n.*add a new file`,
    ),
  );
  const [row] = await sql`select count(*)::int as count from schema_file where name = 'functions/accept.sql'`;
  assert.equal(row?.count, 0);
  await sql.end();
});

test("a changed function file is applied again", async () => {
  const { url, sql } = await emptyDatabase();
  await migrate(url);
  await sql`update schema_file set digest = 'older' where name = 'functions/service_clock.sql'`;
  await sql.unsafe(`create or replace function service_clock() returns timestamptz
    language sql volatile parallel safe as $$ select timestamptz 'epoch' $$`);
  assert.deepEqual(await migrate(url), ["functions/service_clock.sql"]);
  const [row] = await sql`select service_clock() > '2020-01-01' as real`;
  assert.equal(row?.real, true);
  await sql.end();
});

/** Returns a migrated database without one file's indexes, and a session that locks their table. */
async function missingIndexes() {
  const { url, sql } = await emptyDatabase();
  await migrate(url);
  const name = files.find((file) => file.endsWith("_search.sql")) as string;
  const made = readFileSync(folder + name, "utf8").matchAll(/^create index (\w+)/gm).map(([, index]) =>
    index
  );
  await sql.unsafe(`drop index ${[...made].join(", ")}`);
  await sql`delete from schema_file where name = ${name}`;
  const writer = postgres(url, {
    max: 1,
    onnotice: () => {},
    connection: { application_name: "a forgotten psql" },
  });
  await writer.unsafe("begin; lock table event in row exclusive mode");
  const end = () => Promise.all([writer.end(), sql.end()]);
  return { url, sql, name, writer, end };
}

test("a file that waits for a table lets posts pass and is applied when the table is free", async () => {
  const { url, sql, name, writer, end } = await missingIndexes();
  const migrating = migrate(url, { lockMs: 100 });
  for (let round = 0; round < 2; round += 1) {
    await until(() => isWaiting(sql), { what: "the migration waits" });
    // This update waits behind the migration and succeeds before the table is free.
    await sql`update event set flags = '{}' where false`;
  }
  await writer`commit`;
  assert.deepEqual(await migrating, [name]);
  await end();
});

test("a table that stays locked ends the migration, names the session and applies nothing of the file", async () => {
  const { url, name, writer, end } = await missingIndexes();
  await assert.rejects(
    migrate(url, { lockMs: 20, attemptsMax: 2 }),
    new RegExp(
      `sql/${name} needs a table .*55P03.* a forgotten psql .*idle in transaction.*run the migration again`,
    ),
  );
  await writer`commit`;
  assert.deepEqual(await migrate(url), [name]);
  await end();
});

async function isWaiting(sql: postgres.Sql): Promise<boolean> {
  const [row] = await sql`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name = 'lead-intake migrate' and wait_event_type = 'Lock'`;
  return row?.n > 0;
}
