/**
 * A release keeps what the one before it relies on, so that both can run on one database, and the older one can be started
 * again. Source: docs/contributing.md, Change the schema.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { migrate } from "../../../src/store/schema/migrate.ts";
import { isNewer, readRelease } from "../../../src/store/schema/release.ts";
import { createDatabase } from "../../support/database.ts";
import { brokenPromises, marksOf, readPromises } from "../../support/schema/promises.ts";
import { atEnd } from "../../support/at_end.ts";

const folder = fileURLToPath(new URL("./", import.meta.url));
const baselines = readdirSync(folder).flatMap((name) => {
  const version = /^baseline_(.*)\.sql$/.exec(name)?.[1];
  return version === undefined ? [] : [{ name, version }];
}).sort((one, other) => isNewer(one.version, other.version) ? 1 : -1);

const ours = await readRelease();
/** The last release before this version; while there is none, what will be the first. */
const last = baselines.findLast(({ version }) => isNewer(ours.version, version)) ?? baselines.at(-1);

/** A database as the last release has left it. */
async function lastReleased() {
  assert.ok(last);
  const { url } = await createDatabase({ migrated: false });
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  atEnd(() => sql.end({ timeout: 5 }));
  await sql.unsafe(readFileSync(folder + last.name, "utf8"));
  const numbered = await sql<{ name: string }[]>`select name from schema_file`;
  await sql.unsafe("set search_path = public");
  return { url, sql, before: await readPromises(sql), had: new Set(numbered.map(({ name }) => name)) };
}

test(`a migration of ${last?.version} takes nothing away from that release's processes and ctl`, async () => {
  const { url, sql, before, had } = await lastReleased();
  assert.ok(before.lines.size > 500 && before.tables.size > 20);
  assert.ok([...before.lines].some((line) => /^lead_service may call accept\(/.test(line)));
  await migrate(url);
  const marks = marksOf(ours.files.filter(({ name }) => !had.has(name)).map(({ text }) => text));
  assert.deepEqual(brokenPromises(before, await readPromises(sql), marks), []);
});

test("the last release is served, by the fingerprint of its baseline", async () => {
  const { sql } = await lastReleased();
  const [row] = await sql`select version, fingerprint from schema_release where is_current`;
  if (last?.version === ours.version) {
    assert.deepEqual([row?.version, row?.fingerprint], [ours.version, ours.fingerprint]);
  } else {
    assert.ok(
      ours.serves.some(({ version, fingerprint }) =>
        version === row?.version && fingerprint === row?.fingerprint
      ),
      `sql/serves.txt needs the line: ${row?.version} ${row?.fingerprint}`,
    );
  }
});

const breaking: readonly (readonly [what: string, statement: string, found: readonly RegExp[]])[] = [
  ["a dropped column", "alter table event drop column raw cascade", [/no longer: column event\.raw text/]],
  ["a renamed column", "alter table form rename column required to needed", [
    /no longer: column form\.required /,
    /form\.needed has no default/,
  ]],
  ["a column of another type", "alter table campaign alter column slug type varchar(9)", [
    /no longer: column campaign\.slug text/,
  ]],
  ["a column that may be null no longer", "alter table api_key alter column campaign_id set not null", [
    /no longer: api_key\.campaign_id may be null/,
  ]],
  ["a new column that has to be given", "alter table plan add column weight int not null", [
    /plan\.weight has no default/,
  ]],
  ["a function with another result", "drop function service_clock() cascade", [
    /no longer: function public\.service_clock\(\)/,
    /lead_service may call service_clock/,
  ]],
  ["a right that was taken away", "revoke execute on function beat from lead_service", [
    /no longer: lead_service may call beat\(/,
  ]],
];

for (const [what, statement, found] of breaking) {
  test(`${what} is found, unless the file marks it`, async () => {
    const { sql, before } = await lastReleased();
    // What uses it would be in the way, and is not what is asked.
    await sql.unsafe("truncate api_key, plan cascade");
    await sql.unsafe(statement);
    const broken = brokenPromises(before, await readPromises(sql));
    for (const expected of found) {
      assert.ok(broken.some((line) => expected.test(line)), `${expected}: ${broken}`);
    }
    const marks = ["event", "form", "campaign", "api_key", "plan", "service_clock", "beat"];
    assert.deepEqual(brokenPromises(before, await readPromises(sql), marks), []);
  });
}

test("what only adds is nothing that is found", async () => {
  const { sql, before } = await lastReleased();
  await sql.unsafe(`
    alter table event add column next_note text not null default 'none', add column next_id bigint;
    create table next_thing (id int not null);
    create function beat(p_slot int, p_note text) returns int language sql as 'select p_slot';
  `);
  assert.deepEqual(brokenPromises(before, await readPromises(sql)), []);
});

test("a mark in a numbered file names what it gives up", () => {
  assert.deepEqual(marksOf(["-- contract: public.event.old_note\nalter table …", "-- nothing"]), [
    "public.event.old_note",
  ]);
});
