import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { migrate, missingFiles } from "../../src/store/migrate.ts";
import { createDatabase } from "../support/database.ts";

const shared = await createDatabase();
const admin = postgres(shared.url, { max: 1, onnotice: () => {} });
const names: string[] = [];
after(async () => {
  for (const name of names) await admin.unsafe(`drop database if exists ${name} with (force)`);
  await admin.end();
  await shared.drop();
});

const folder = fileURLToPath(new URL("../../sql/", import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith(".sql")).sort();
const functions = readdirSync(`${folder}functions`).sort().map((name) => `functions/${name}`);

/** An empty database, and a connection to it. */
async function emptyDatabase() {
  const name = `test_migrate_${randomBytes(6).toString("hex")}`;
  names.push(name);
  await admin.unsafe(`create database ${name} template template0 encoding 'UTF8'`);
  const url = new URL(shared.url);
  url.pathname = `/${name}`;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  return { url: url.href, sql };
}

test("an empty database gets every file in order, and then is current", async () => {
  const { url, sql } = await emptyDatabase();
  assert.deepEqual(await missingFiles(sql), [...files, ...functions]);
  assert.deepEqual(await migrate(url), [...files, ...functions]);
  assert.deepEqual(await missingFiles(sql), []);
  assert.deepEqual(await migrate(url), []);
  const [row] = await sql`select count(*)::int as count from area`;
  assert.equal(row?.count, 37);
  await sql.end();
});

test("two migrations at once wait for each other: each file is applied once", async () => {
  const { url, sql } = await emptyDatabase();
  const applied = (await Promise.all([migrate(url), migrate(url), migrate(url)])).flat();
  assert.deepEqual(applied.toSorted(), [...files, ...functions].toSorted());
  await sql.end();
});

test("a numbered file that was edited after it was applied is refused, and nothing is applied", async () => {
  const { url, sql } = await emptyDatabase();
  await migrate(url);
  await sql`update schema_file set digest = 'other' where name = ${files[1] as string}`;
  await sql`delete from schema_file where name = 'functions/accept.sql'`;
  await assert.rejects(
    migrate(url),
    new RegExp(
      `made by another version .* sql/${files[1]}\\.\n.*\\.data is moved away.*\n.*add a new file`,
    ),
  );
  const [row] = await sql`select count(*)::int as count from schema_file where name = 'functions/accept.sql'`;
  assert.equal(row?.count, 0);
  assert.deepEqual(await missingFiles(sql), [files[1], "functions/accept.sql"]);
  await sql.end();
});

test("a changed function is applied again, over the one that is there", async () => {
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

test("files that only the database knows are a newer program's and do no harm", async () => {
  const { url, sql } = await emptyDatabase();
  await migrate(url);
  await sql`insert into schema_file (name, digest) values ('9999_future.sql', 'x')`;
  assert.deepEqual(await missingFiles(sql), []);
  assert.deepEqual(await migrate(url), []);
  await sql.end();
});
