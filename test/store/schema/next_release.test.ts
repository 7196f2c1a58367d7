/**
 * Upgrade and rollback: a newer release migrates the database under running processes of this one, which then start
 * on it again.
 */

import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { migrate } from "../../../src/store/schema/migrate.ts";
import { readRelease, type Release } from "../../../src/store/schema/release.ts";
import { atEnd } from "../../support/at_end.ts";
import { createDatabase } from "../../support/database.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { runToEnd } from "../../support/server.ts";
import { until } from "../../support/until.ts";
import { freshKey, lead, TestEnv } from "../../support/test_env.ts";

const ours = await readRelease();

/** Returns a later release: new columns with defaults, a changed function, an overload of another. */
async function nextRelease({ serves }: { readonly serves: boolean }): Promise<Release> {
  const folder = `${join(temporaryFolder(), "sql")}/`;
  cpSync(fileURLToPath(new URL("../../../sql/", import.meta.url)), folder, { recursive: true });
  writeFileSync(
    `${folder}9000_next.sql`,
    `alter table event add column next_note text not null default 'none';
     alter table outbox add column next_note text not null default 'none';
     alter table api_key add column next_note text;
     create table next_thing (id int primary key);`,
  );
  const changed = readFileSync(`${folder}functions/accept.sql`, "utf8").replace(
    /^begin$/m,
    "begin\n  insert into next_thing values (1) on conflict do nothing;",
  );
  writeFileSync(`${folder}functions/accept.sql`, changed);
  writeFileSync(
    `${folder}functions/next_beat.sql`,
    `create or replace function beat(p_slot int, p_note text) returns int language sql as 'select p_slot';`,
  );
  const grants = readFileSync(`${folder}grants.sql`, "utf8").replace(
    /\bbeat,/,
    "beat(int), beat(int, text),",
  );
  writeFileSync(`${folder}grants.sql`, grants);
  writeFileSync(`${folder}serves.txt`, serves ? `${ours.version} ${ours.fingerprint}\n` : "# nobody\n");
  return await readRelease({ version: "99.0.0", folder });
}

/** A test environment on a database that a newer release may change. */
async function openTestEnv(): Promise<TestEnv> {
  const { url } = await createDatabase();
  await migrate(url);
  return await TestEnv.open(url);
}

test("a newer release migrates under load: old processes, running or restarted, accept every post", async () => {
  const testEnv = await openTestEnv();
  const server = await testEnv.start();
  const { text: key } = await testEnv.issue();
  const statuses: number[] = [];
  let isOver = false;
  atEnd(() => isOver = true);
  const post = async (one = server) => {
    const headers = { "Idempotency-Key": freshKey() };
    statuses.push((await testEnv.intake({ key, body: lead(), headers }, one)).status);
  };
  const loads = Array.from({ length: 8 }, async () => {
    while (!isOver) await post();
  });
  await until(() => statuses.length > 50, { what: "posts are accepted" });
  const applied = await migrate(testEnv.database.url, { release: await nextRelease({ serves: true }) });
  assert.deepEqual(applied, [
    "9000_next.sql",
    "functions/accept.sql",
    "functions/next_beat.sql",
    "grants.sql",
  ]);
  const migratedAt = statuses.length;
  await until(() => statuses.length > migratedAt + 100, {
    what: "posts are accepted by the changed function",
  });
  isOver = true;
  await Promise.all(loads);
  assert.deepEqual([...new Set(statuses)], [202]);
  const [row] = await testEnv
    .sql`select count(*)::int as n, (select count(*)::int from next_thing) as things from event`;
  assert.deepEqual({ ...row }, { n: statuses.length, things: 1 });

  await server.stop();
  const again = await testEnv.start();
  statuses.length = 0;
  await post(again);
  assert.deepEqual(statuses, [202]);
});

test("the older release's migration leaves a compatible newer database unchanged", async () => {
  const testEnv = await openTestEnv();
  await migrate(testEnv.database.url, { release: await nextRelease({ serves: true }) });
  const { code, stdout } = await runToEnd("scripts/migrate.ts", [], { databaseUrl: testEnv.database.url });
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^The database is current/);
  const [row] = await testEnv
    .sql`select prosrc like '%next_thing%' as kept from pg_proc where proname = 'accept'`;
  assert.equal(row?.kept, true);
});

test("a newer, incompatible database is refused in one sentence, by the process and the migration", async () => {
  const testEnv = await openTestEnv();
  await migrate(testEnv.database.url, { release: await nextRelease({ serves: false }) });
  const sentence = new RegExp(
    `release 99\\.0\\.0 has migrated the database, and this one \\(${ours.version}\\) is too old for it; start one of 99\\.0\\.0`,
  );
  for (const script of ["src/main.ts", "scripts/migrate.ts"]) {
    const { code, stderr } = await runToEnd(script, [], { databaseUrl: testEnv.database.url });
    assert.notEqual(code, 0);
    assert.match(stderr, sentence, script);
  }
});
