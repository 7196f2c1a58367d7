import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { accept } from "../support/ctl/event.ts";
import { ctl } from "../support/server.ts";
import { openStore } from "../support/store.ts";

const change = readFileSync(fileURLToPath(new URL("../../docs/scaling/citus.sql", import.meta.url)), "utf8");
/** The tables of a list of the file, as the server names them. */
const listed = (after: string) =>
  [...(change.split(after)[1]?.split("]")[0] ?? "").matchAll(/'([a-z_.]+)'/g)].map(([, name]) =>
    name as string
  );
const copied = listed("end if;\n  foreach v_table in array array[");
const spread = ["event", ...listed("$q$;\n  foreach v_table in array array[")];

test("the tables as Citus needs them are made of a database with leads: each unique key of a spread table has the tenant, and each foreign key of it too", async () => {
  const { databaseUrl, sql } = await openStore();
  const on = { databaseUrl };
  await ctl(["tenant", "add", "acme"], on);
  const key = (await ctl(["key", "issue", "acme", "--label", "web"], on)).id;
  const first = await accept(sql, key, { digest: "00000000-0000-0000-0000-000000000001" });
  await accept(sql, key, { digest: "00000000-0000-0000-0000-000000000001" });
  await sql`insert into attempt (event_id, number, at, outcome, spent) values (${first.event_id}, 1, now(), 'refused', true)`;
  await sql`
    insert into actions.effect (event_id, route_id, effect) values (${first.event_id}, 1, 'crm')`;
  await sql`insert into duplicate_total (day, key_id, count) values (current_date, ${key}, 1)`;
  const counts = () =>
    Promise.all(
      spread.map(async (table) => (await sql.unsafe(`select count(*)::int as n from ${table}`))[0]?.n),
    );
  const before = await counts();

  await sql.unsafe(change);
  assert.deepEqual(await counts(), before);
  assert.ok(before.reduce((sum, n) => sum + n, 0) >= 6, "there is something to move");
  assert.equal(spread.length, 14);

  const keys = await sql<{ table: string; index: string; columns: string[] }[]>`
    select i.indrelid::regclass::text as table, i.indexrelid::regclass::text as index,
      array(select a.attname::text from pg_attribute as a where a.attrelid = i.indrelid and a.attnum = any (i.indkey)) as columns
    from pg_index as i
    where i.indisunique and i.indrelid = any (${spread}::regclass[])`;
  assert.ok(keys.length >= 13);
  assert.deepEqual(keys.filter(({ columns }) => !columns.includes("tenant_id")), []);
  for (const table of spread) {
    const [column] = await sql`
      select attnotnull as is_required from pg_attribute
      where attrelid = ${table}::regclass and attname = 'tenant_id' and not attisdropped`;
    assert.equal(column?.is_required, true, `${table} has the tenant in every row`);
  }

  // To a table that is copied to every machine any key may point; to a spread one only with the tenant.
  const foreign = await sql<{ name: string; to: string; columns: string[] }[]>`
    select c.conrelid::regclass || ' ' || c.conname as name, c.confrelid::regclass::text as to,
      array(select a.attname::text from pg_attribute as a where a.attrelid = c.conrelid and a.attnum = any (c.conkey)) as columns
    from pg_constraint as c
    where c.contype = 'f' and (c.conrelid = any (${spread}::regclass[]) or c.confrelid = any (${spread}::regclass[]))`;
  const wrong = foreign.filter(({ to, columns }) =>
    !copied.includes(to) && !(spread.includes(to) && columns.includes("tenant_id"))
  );
  assert.deepEqual(wrong, []);

  // And accept() names the tenant in four places more; what it says of a duplicate rests on a key that had it before.
  let text = readFileSync(fileURLToPath(new URL("../../sql/functions/accept.sql", import.meta.url)), "utf8");
  for (
    const [from, to] of [
      [
        "insert into collision as c (\n    event_id,",
        "insert into collision as c (\n    tenant_id, event_id,",
      ],
      [
        "select distinct on (e.event_id, l.content)\n    e.event_id,",
        "select distinct on (e.event_id, l.content)\n    e.tenant_id, e.event_id,",
      ],
      ["on conflict (event_id, content_digest)", "on conflict (tenant_id, event_id, content_digest)"],
      [
        "insert into campaign_charge (campaign_id, cents)\n      select k.campaign_id,",
        "insert into campaign_charge (tenant_id, campaign_id, cents)\n      select min(k.tenant_id), k.campaign_id,",
      ],
    ] as const
  ) {
    assert.equal(text.split(from).length, 2, from);
    text = text.replace(from, to);
  }
  await sql.unsafe(text);
  const again = await accept(sql, key, { digest: "00000000-0000-0000-0000-000000000001" });
  assert.deepEqual([again.outcome, again.event_id], ["duplicate", first.event_id]);
  assert.equal((await accept(sql, key)).outcome, "accepted");
});
