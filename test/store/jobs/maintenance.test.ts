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
const maintenance = new Maintenance(pool, () => performance.now());

const state = async () =>
  [
    ...await sql`select ctid, state, delta::int from outbox_tally order by state`,
    ...await sql`select ctid, campaign_id, cents::int, credit_cents::int from campaign_charge order by 2`,
  ].map(({ ctid, ...row }) => [ctid, row] as const);

test("single counts are folded into sums without loss, and sums are not written again", async () => {
  await sql`insert into outbox_tally (state, delta)
    values ('pending', 3), ('pending', -1), ('dead', 1), ('pending', 2)`;
  await sql`insert into campaign_charge (campaign_id, cents, credit_cents) values (1, 125, 0), (2, 5, 0), (1, 75, 30)`;
  await maintenance.runOnce();
  const folded = await state();
  assert.deepEqual(folded.map(([, row]) => row), [
    { state: "dead", delta: 1 },
    { state: "pending", delta: 4 },
    { campaign_id: 1, cents: 200, credit_cents: 30 },
    { campaign_id: 2, cents: 5, credit_cents: 0 },
  ]);
  await sql`insert into campaign_charge (campaign_id, cents) values (2, 1)`;
  await maintenance.runOnce();
  const again = await state();
  assert.deepEqual(again.slice(0, 3), folded.slice(0, 3));
  assert.deepEqual(again[3]?.[1], { campaign_id: 2, cents: 6, credit_cents: 0 });
});

test("a task that fails stops no other, and the run reports it", async () => {
  await sql`insert into outbox_tally (state, delta) values ('pending', -4), ('dead', -1)`;
  await sql`insert into tombstone (run, digest, posted_until, expires_at) values
    (gen_random_uuid(), '', now() - interval '1 hour', now() - interval '1 hour')`;
  await sql`alter function fold_counts() rename to fold_counts_later`;
  await assert.rejects(maintenance.runOnce());
  assert.deepEqual([...await sql`select from tombstone`], []);
  await sql`alter function fold_counts_later() rename to fold_counts`;
  await maintenance.runOnce();
});

test("the oldest waiting event is not one of a pause or of a tenant without a route", async () => {
  await sql`insert into tenant (slug, name, sandbox) values ('paused', '', true), ('unrouted', '', false), ('busy', '', true)`;
  await sql`select from pause_tenant('paused', '{""}', null)`;
  const queue = (slug: string, count: number, from: string, reason: string | null = null) =>
    sql`
      insert into outbox (event_id, tenant_id, due_at, reason)
      select event_id_at(${from}::timestamptz + n * interval '1 second'), t.id, now(), ${reason}
      from tenant as t, generate_series(1, ${count}) as n where t.slug = ${slug}`;
  /** The time at which the oldest event was accepted, to a minute. */
  const oldest = async () => {
    await maintenance.runOnce();
    const { oldestPendingS } = maintenance;
    return oldestPendingS === 0
      ? null
      : new Date(Math.round(Date.now() / 60_000 - oldestPendingS / 60) * 60_000).toISOString();
  };
  await queue("unrouted", 1, "2026-01-01T00:00:00Z");
  await queue("busy", 1, "2026-01-02T00:00:00Z", "paused");
  assert.equal(await oldest(), null);
  await queue("busy", 2, "2026-01-04T00:00:00Z");
  assert.equal(await oldest(), "2026-01-04T00:00:00.000Z");
  // More than are looked at in the order of acceptance.
  await queue("paused", 2_100, "2026-01-03T00:00:00Z");
  assert.equal(await oldest(), "2026-01-04T00:00:00.000Z");
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
