/**
 * `node scripts/dump_baseline.ts`: writes a database as this version makes it, with a little data in every table, as plain
 * SQL to standard output. Run it when a version is released, and keep what it writes as
 * `test/store/schema/baseline_VERSION.sql`: every later version has to bring that database to its own shape.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { migrate } from "../src/store/schema/migrate.ts";
import { readRelease } from "../src/store/schema/release.ts";
import { startPostgres } from "./embedded_postgres.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

/** Something in every table, made by the functions that make it in use. */
const data = `
insert into tenant (slug, name) values ('acme', 'Acme'), ('globex', 'Globex');
insert into tenant (slug, name, sandbox, retention_days) values ('trial', 'Trial', true, 30);
insert into campaign (tenant_id, slug) values (1, 'spring');
insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
values (1, 1, 'intake', 'partner', sha256('partner'), 'aaaa'), (1, null, 'forms', 'web', sha256('web'), 'bbbb'),
  (3, null, 'intake', 'trial', sha256('trial'), 'cccc');
insert into ip_limit values ('192.0.2.0/24', 6000, 600, now() + interval '1 day');
insert into form (tenant_id, form_key, required) values (1, 'contact', '{name}');
select actions.set_route(1, '', '', '[{"kind": "email", "addresses": ["leads@acme.example"]}]', interval '1 day', 10);
update tenant set digest_at = '07:00' where id = 1;
select actions.begin_digest(gen_random_uuid(), 1);

select accept(
  p_separator => '|0', p_key_id => '1|01|01|01|03|03', p_space => 'k|0k|0k|0k|0k|0k',
  p_digest => (select string_agg(md5(n::text), '|0') from generate_series(1, 6) as n),
  p_content => (select string_agg(md5('content' || n), '|0') from generate_series(1, 6) as n),
  p_idempotency_key => (select string_agg('acme:lead:' || n, '|0') from generate_series(1, 6) as n),
  p_flags => 'project_area_unknown|0|0|0|0|0',
  p_lead => (select string_agg('{"first_name":"Ada","last_name":"Lovelace","phone":"+15555550123","project_area":"moat","cost_cents":1250}', '|0')
    from generate_series(1, 6)),
  p_extra => '', p_raw => (select string_agg('{"last_name":"Lovelace"}', '|0') from generate_series(1, 6)),
  p_cost_cents => '1250|00||00||00||00||00|', p_unknown_area => 'moat|00||00||00||00||00|', p_window_hours => 24);
-- Another lead under a used Idempotency-Key.
select accept(
  p_separator => '|0', p_key_id => '1', p_space => 'k', p_digest => md5('1'), p_content => md5('other'),
  p_idempotency_key => 'acme:lead:1', p_flags => '', p_lead => '{"last_name":"Hopper"}', p_extra => '', p_raw => '{}',
  p_cost_cents => '', p_unknown_area => '', p_window_hours => 24);
select accept(
  p_separator => '|0', p_key_id => '2|02', p_space => 'C|0C', p_digest => md5('f') || '|0' || md5('g'),
  p_content => md5('f') || '|0' || md5('g'), p_idempotency_key => '', p_flags => '|0', p_lead => '{}|0{}',
  p_extra => '', p_raw => 'a=1|0a=2', p_cost_cents => '', p_unknown_area => '',
  p_window_hours => 24, p_form_id => '1|01', p_verdict => 'clean|0spam', p_score => '0|09', p_reasons => '|0links',
  p_phone => '+15555550123|00|', p_email => 'ada@example.com|00|', p_last_name => 'lovelace|00|',
  p_form_window_minutes => 10);
select fill_lead_contact(1);

create temp table claimed as
select row_number() over (order by event_id) as place, *
from claim_outbox('00000000-0000-4000-8000-000000000000', 60000, 30, '{1}', '{-infinity}', '{3}');
select settle_outbox(
  array_agg('00000000-0000-4000-8000-000000000000'::text), array_agg(event_id), array_agg(number),
  array_agg((array['delivered', 'dead', 'retry'])[place]), array_agg((array['delivered', 'refused', 'unreachable'])[place]),
  array_agg((array[200, 400, null])[place]), array_agg(null::text), array_agg(12), array_agg('t'::text), array_agg(1000::float8)
) from claimed;
drop table claimed;
select actions.begin_effects(min(event_id), 'acme', 'partner', '', gen_random_uuid(), 1000) from event;

update event set event_id = event_id_at(now() - interval '60 days') || right(event_id, 24), received_at = now() - interval '60 days'
where key_id = 3 and idempotency_key = 'acme:lead:5';
update outbox set event_id = (select min(event_id) from event) where event_id not in (select event_id from event);
select expire_content(100);
select roll_up_hours(1);
insert into hour_total select * from hour_figures(now() - interval '61 days', now() - interval '59 days');
select add_refusals('{1}', '{required}', '{phone}', '{7}', '{1}', array[now()::text]), add_duplicates('{1}', '{3}');
select add_minute_sample('node', 8, 7, 1, 2, 1, '{"rate_limited": 7}', 5, 1, 1.5, 'closed');
select beat(1, gen_random_uuid(), '{intake}'), note_audit('tenant.add', 'acme');
select lease_limits(gen_random_uuid(), '{1}', '{600}', '{101}', '{2}', '{1}', '{3}', '{0}', '{0}', '{3}', '{f}', null);
select lay_tombstone(gen_random_uuid(), '{ada@example.com}', 0, 60000);
select put_plans('{basic}', '{Basic}', '{acme}', '{1500}', '{month}', '{"{\\"slug\\":\\"basic\\"}"}');
select begin_checkout('basic', gen_random_uuid(), gen_random_uuid(), 24);
select apply_provider_event('evt_1', 'checkout.session.completed', now(), id, 'cs_1', 'sub_1', 'cus_1', 'active') from subscription;
`;

interface Table {
  readonly name: string;
  readonly columns: string[];
}

async function dump(sql: postgres.Sql): Promise<string> {
  const files = await sql<{ name: string }[]>`select name from schema_file order by name collate "C"`;
  const texts = await Promise.all(
    files.map(async ({ name }) => `-- sql/${name}\n${await readFile(`${root}sql/${name}`, "utf8")}`),
  );
  const tables = await sql<Table[]>`
    select c.oid::regclass::text as name, array_agg(quote_ident(a.attname) order by a.attnum) as columns
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relkind = 'r' and c.relnamespace in ('public'::regnamespace, 'actions'::regnamespace)
    group by c.oid order by 1`;
  const inserts: string[] = [];
  for (const { name, columns } of tables) {
    const values = columns.map((column) => `quote_nullable(${column}::text)`).join(", ");
    const rows = await sql.unsafe<{ row: string }[]>(
      `select concat_ws(', ', ${values}) as row from ${name} order by 1`,
    );
    if (rows.length === 0) throw new Error(`${name} has no rows`);
    inserts.push(
      `insert into ${name} (${columns.join(", ")}) overriding system value values\n  (${
        rows.map(({ row }) => row).join("),\n  (")
      });`,
    );
  }
  const sequences = await sql<{ name: string; last: string }[]>`
    select format('%I.%I', schemaname, sequencename) as name, last_value::text as last from pg_sequences where last_value is not null`;
  return [
    "-- A database as version VERSION made it, with a little data in every table; written by scripts/dump_baseline.ts.",
    "set check_function_bodies = off;",
    "create table schema_file (name text primary key, digest text not null, applied_at timestamptz not null default now());",
    "create table schema_release (fingerprint text primary key, version text not null, is_current boolean not null);",
    ...texts,
    "-- The data. Neither triggers nor foreign keys look at it.",
    "set session_replication_role = replica;",
    `truncate ${tables.map(({ name }) => name).join(", ")};`,
    ...inserts,
    ...sequences.map(({ name, last }) => `select setval('${name}', ${last});`),
    "set session_replication_role = origin;",
    "",
  ].join("\n");
}

const server = await startPostgres();
try {
  await migrate(server.url);
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  await sql.unsafe(data);
  const { version } = JSON.parse(await readFile(`${root}package.json`, "utf8"));
  process.stdout.write((await dump(sql)).replace("VERSION", version));
  const { fingerprint } = await readRelease();
  process.stderr.write(
    `When this is released, sql/serves.txt of the next version has: ${version} ${fingerprint}\n`,
  );
  await sql.end();
} finally {
  await server.stop();
}
