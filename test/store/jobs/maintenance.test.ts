import assert from "node:assert/strict";
import test from "node:test";
import { Heartbeat } from "../../../src/store/serving/heartbeat.ts";
import { Maintenance } from "../../../src/store/jobs/maintenance.ts";
import { repeat } from "../../../src/service/repeat.ts";
import { openStore } from "../../support/store.ts";
import { openPool } from "../../support/pool.ts";
import { until } from "../../support/until.ts";

const { databaseUrl, sql } = await openStore();
const pool = openPool(databaseUrl);
const maintenance = new Maintenance(pool);

test("single counts are folded into sums without loss", async () => {
  await sql`insert into outbox_tally (state, delta)
    values ('pending', 3), ('pending', -1), ('dead', 1), ('pending', 2)`;
  await sql`insert into campaign_charge (campaign_id, cents) values (1, 125), (2, 5), (1, 75)`;
  await sql`insert into unknown_area_seen (tenant_id, term, count, first_at, last_at) values
    (1, 'sauna', 1, '2026-01-02', '2026-01-02'), (1, 'sauna', 2, '2026-01-01', '2026-01-03'),
    (2, 'sauna', 1, '2026-01-01', '2026-01-01')`;
  await maintenance.runOnce();
  assert.deepEqual([...await sql`select state, delta::int from outbox_tally order by state`], [
    { state: "dead", delta: 1 },
    { state: "pending", delta: 4 },
  ]);
  assert.deepEqual([...await sql`select campaign_id, cents::int from campaign_charge order by 1`], [
    { campaign_id: 1, cents: 200 },
    { campaign_id: 2, cents: 5 },
  ]);
  const seen = await sql`
    select tenant_id, count::int, first_at::date::text as first, last_at::date::text as last
    from unknown_area_seen order by tenant_id`;
  assert.deepEqual([...seen], [
    { tenant_id: 1, count: 3, first: "2026-01-01", last: "2026-01-03" },
    { tenant_id: 2, count: 1, first: "2026-01-01", last: "2026-01-01" },
  ]);
});

test("the oldest waiting event is not one of a pause or of a tenant without a route", async () => {
  await sql`insert into tenant (slug, name, sandbox) values ('paused', '', true), ('unrouted', '', false), ('busy', '', true)`;
  await sql`select from pause_tenant('paused', '{""}', null)`;
  const queue = (slug: string, count: number, from: string, reason: string | null = null) =>
    sql`
      insert into outbox (event_id, tenant_id, due_at, reason)
      select event_id_at(${from}::timestamptz + n * interval '1 second'), t.id, now(), ${reason}
      from tenant as t, generate_series(1, ${count}) as n where t.slug = ${slug}`;
  const oldest = async () => {
    await maintenance.runOnce();
    return maintenance.oldestPendingAt;
  };
  await queue("unrouted", 1, "2026-01-01T00:00:00Z");
  await queue("busy", 1, "2026-01-02T00:00:00Z", "paused");
  assert.equal(await oldest(), null);
  await queue("busy", 2, "2026-01-04T00:00:00Z");
  assert.equal(await oldest(), "2026-01-04T00:00:01.000Z");
  // More than are looked at in the order of acceptance.
  await queue("paused", 2_100, "2026-01-03T00:00:00Z");
  assert.equal(await oldest(), "2026-01-04T00:00:01.000Z");
  await sql`delete from outbox`;
});

test("a fold that waits for a lock does not make the store unwritable", async () => {
  const changes: boolean[] = [];
  const beats = openPool(databaseUrl);
  const heartbeat = new Heartbeat({ pool: beats, nowMs: () => performance.now(), slot: 5 });
  heartbeat.onChange((writable) => changes.push(writable));
  const beating = repeat(heartbeat, { onFailure: (error) => assert.fail(String(error)) });
  await beating.soon();
  const holder = await sql.reserve();
  await holder.unsafe("begin; lock table campaign_charge in access exclusive mode");
  const folding = maintenance.runOnce();
  const beaten = async () => Number((await sql`select count(*) as n from heartbeat where slot = 5`)[0]?.n);
  const before = await beaten();
  await until(async () => await beaten() >= before + 3, { what: "the heart beats on" });
  assert.equal(heartbeat.writable, true);
  await holder`rollback`;
  holder.release();
  await folding;
  await beating.stop();
  await beats.close();
  assert.deepEqual(changes, [true]);
});
