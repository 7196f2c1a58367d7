import assert from "node:assert/strict";
import test from "node:test";
import { StatusReader } from "../../../src/store/jobs/status.ts";
import { asService } from "../../support/database.ts";
import { openStore } from "../../support/store.ts";
import { openPool } from "../../support/pool.ts";

const { databaseUrl, sql } = await openStore();
const reader = new StatusReader(openPool(asService(databaseUrl)), () => Promise.resolve(3));

async function status() {
  await reader.runOnce();
  assert.ok(reader.current);
  return reader.current;
}

/** Advances the service's clock. */
const pass = (seconds: number) =>
  sql.unsafe(`create or replace function service_clock() returns timestamptz
    language sql volatile parallel safe as $$ select clock_timestamp() + interval '${seconds} seconds' $$`);

test("a delivery is overdue once it is due, but not while it waits for a retry or a route", async () => {
  await sql`insert into tenant (slug, name, sandbox, has_route) values
    ('routed', '', false, true), ('box', '', true, false), ('lost', '', false, false), ('idle', '', false, false)`;
  const wait = (slug: string, seconds: number) =>
    sql`insert into outbox (event_id, tenant_id, due_at)
      select ${`${slug}${seconds}`}, id, service_clock() + make_interval(secs => ${seconds}) from tenant where slug = ${slug}`;
  await wait("routed", 3_600);
  await wait("lost", 0);
  await pass(600);
  const waiting = await status();
  assert.equal(waiting.overdueS, 0);
  assert.equal(waiting.unroutedTenants, 1);
  await wait("box", 0);
  await pass(900);
  const due = await status();
  assert.ok(due.overdueS >= 300 && due.overdueS < 400, String(due.overdueS));
  await sql`delete from outbox`;
  const settled = await status();
  assert.deepEqual([settled.overdueS, settled.unroutedTenants], [0, 0]);
});

test("a paused tenant's deliveries are neither overdue nor unrouted, but are counted", async () => {
  await sql`insert into tenant (slug, name) values ('quiet', '')`;
  await sql`select from pause_tenant('quiet', '{""}', null)`;
  await sql`select from pause_tenant('routed', '{email}', null)`;
  await sql`
    insert into outbox (event_id, tenant_id, due_at, reason)
    select t.slug || n, t.id, service_clock() - interval '1 hour' + case t.slug when 'routed' then interval '2 hours' else '0' end, r.reason
    from tenant as t join (values
      ('quiet', 1, null), ('quiet', 2, null), ('routed', 3, 'paused'), ('routed', 4, 'crm failed: http_500; email waiting: paused'),
      ('routed', 5, 'crm failed: http_500')) as r (slug, n, reason) on r.slug = t.slug`;
  const { overdueS, unroutedTenants, pauses } = await status();
  assert.deepEqual([overdueS, unroutedTenants], [0, 0]);
  assert.deepEqual(pauses, [{ scope: "all", waiting: 2 }, { scope: "email", waiting: 2 }]);
  await sql`select from resume_tenant('quiet', '{""}')`;
  await sql`select from resume_tenant('routed', '{email}')`;
  assert.deepEqual((await status()).pauses, []);
  await sql`delete from outbox`;
});

test("with pg_read_all_settings, the disk of a local database is reported", async () => {
  const all = new StatusReader(openPool(databaseUrl), () => Promise.resolve(0));
  await all.runOnce();
  const { disk } = all.current ?? {};
  assert.ok(disk && disk.availableBytes > 0 && disk.availableBytes < disk.sizeBytes);
});

test("suspended CRM routes are counted with the events that wait for them", async () => {
  assert.deepEqual((await status()).suspendedRoutes, []);
  await sql`
    insert into actions.route (tenant_id, kind, address, settings, secrets, credential, recipe_version)
    select id, 'crm', 'pipedrive', '{}', '{}', 'c', 'v' from tenant where slug = 'routed'`;
  await sql`
    insert into actions.suspension (tenant_id, route_id, reason, since)
    select tenant_id, id, 'crm_unauthorized', now() from actions.route`;
  await sql`
    insert into outbox (event_id, tenant_id, due_at) select n, tenant_id, now() from actions.route, unnest('{a,b,c}'::text[]) as n`;
  await sql`
    insert into actions.effect (event_id, route_id, effect, is_done)
    select o.event_id, r.id, 'crm', o.event_id = 'c' from outbox as o, actions.route as r`;
  assert.deepEqual((await status()).suspendedRoutes, [{ reason: "crm_unauthorized", waiting: 2 }]);
});
