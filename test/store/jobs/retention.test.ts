import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test, { beforeEach } from "node:test";
import { Retention } from "../../../src/store/jobs/retention.ts";
import { acceptPosts } from "../../support/accept.ts";
import type { Pool } from "../../../src/store/pool.ts";
import { openPool } from "../../support/pool.ts";
import { rowsRead } from "../../support/rows_read.ts";
import { TestEnv } from "../../support/test_env.ts";
import { rowsWith } from "../../support/every_value.ts";

const start = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;
const testEnv = await TestEnv.open();
const { sql } = testEnv;
const acme = await testEnv.tenant({ sandbox: true });
/** The ids of two keys of one tenant, and of one of another. */
const web = (await testEnv.issue({ tenant: acme })).id;
const shop = (await testEnv.issue({ tenant: acme })).id;
const others = (await testEnv.issue()).id;
const reported: number[] = [];
const retention = open(openPool(testEnv.database.url));

beforeEach(async () => {
  await sql`truncate event, outbox, attempt, dead_letter, outbox_tally, collision, submission, retention_cursor,
    retention_deferred, unknown_area, search_entry, search_todo, post_log, post_log_day`;
  await setRetention(null);
});

function open(pool: Pool): Retention {
  return new Retention(pool, (observation) => {
    assert.equal(observation.kind, "retention");
    reported.push(observation.events);
  });
}

/** Sets the service's clock to a number of days after the start. */
const setDay = (day: number) => testEnv.setClock(new Date(start + day * dayMs).toISOString());

async function setRetention(days: number | null): Promise<void> {
  await sql`update tenant set retention_days = ${days} where id = ${acme.id}`;
}

interface Post {
  readonly by?: number;
  readonly kind?: "lead" | "form";
  readonly digest?: string;
  readonly note?: string;
}

async function post({ by = web, kind = "lead", digest = randomUUID(), note = "one" }: Post = {}) {
  const [row] = await acceptPosts(sql, [{
    keyId: by,
    space: kind === "lead" ? "k" : "K",
    digest,
    idempotencyKey: "key:jane",
    extra: "{}",
    flags: "project_area_unknown",
    costCents: 125,
    lead: JSON.stringify({ last_name: "Doe", note, project_area: "sauna", cost_cents: 125 }),
  }]);
  assert.ok(row);
  return row;
}

/** Accepts and delivers an event. */
async function delivered(day: number, options: Post = {}): Promise<string> {
  await setDay(day);
  const { event_id } = await post(options);
  await sql`delete from outbox where event_id = ${event_id}`;
  await sql`insert into attempt (event_id, number, at, outcome, spent, reason)
    values (${event_id}, 1, service_clock(), 'delivered', true, 'said')`;
  return event_id;
}

async function logPosts(posts: readonly object[]): Promise<void> {
  await sql`select add_posts(${JSON.stringify(posts.map((post) => ({ key_id: web, age_ms: 0, ...post })))})`;
}

test("logged posts are deleted after 30 days, at most 500 a run", async () => {
  const refused = { status: 400, error: "invalid_json" };
  await setDay(0);
  await logPosts(Array.from({ length: 501 }, () => refused));
  await setDay(1);
  await logPosts([refused]);
  await setDay(29.9);
  assert.deepEqual(await retention.runOnce(), { examined: 0, removed: 0, posts: 0 });
  await setDay(30.1);
  for (const posts of [500, 1, 0]) {
    const batch = await retention.runOnce();
    assert.deepEqual(batch, { examined: 0, removed: 0, posts });
    assert.equal(retention.pauseMs(batch) < 1_000, posts === 500);
  }
  assert.equal((await sql`select from post_log`).length, 1);
  assert.equal((await sql`select from post_log_day`).length, 0);
});

test("a run without old posts reads none of the log", async () => {
  await setDay(0);
  await sql`
    insert into post_log (id, key_id, at, status, error, is_collision)
    select new_event_id(event_id_at(service_clock()), n), ${web}, service_clock(), 400, 'invalid_json', false
    from generate_series(1, 20000) as n`;
  const read = await rowsRead(sql, "post_log", async (session) => {
    assert.equal((await session`select expire_posts(500) as n`)[0]?.n, 0);
  });
  assert.ok(read < 100, `${read} rows were read`);
});

/** Returns which of the events still have their content. */
async function haveContent(ids: readonly string[]): Promise<boolean[]> {
  const rows = await sql<{ event_id: string }[]>`
    select event_id from event
    where event_id = any (${[...ids]}) and lead is not null and extra is not null and raw is not null
      and idempotency_key is not null and content_digest is not null and removed_at is null`;
  return ids.map((id) => rows.some((row) => row.event_id === id));
}

test("content older than the tenant's retention is deleted, and younger or other tenants' content is not", async () => {
  await setRetention(30);
  const digest = randomUUID();
  const old = await delivered(0, { digest });
  const oldOfShop = await delivered(1, { by: shop });
  const young = await delivered(2);
  await logPosts([{ status: 200, event_id: old, request_id: "r", idempotency_key: "key:jane" }]);
  const others1 = await delivered(0, { by: others });
  const [was] = await sql`select * from event where event_id = ${old}`;
  const untouched = await rowsWith(sql, [young, others1]);

  await setDay(31.5);
  assert.deepEqual(await retention.runOnce(), { examined: 2, removed: 2, posts: 0 });
  assert.deepEqual(reported.splice(0), [2]);
  assert.deepEqual(await haveContent([old, oldOfShop, young, others1]), [false, false, true, true]);
  assert.deepEqual(await rowsWith(sql, [young, others1]), untouched);
  const [is] = await sql`select * from event where event_id = ${old}`;
  assert.deepEqual({ ...is }, {
    ...was,
    lead: null,
    extra: null,
    raw: null,
    idempotency_key: null,
    content_digest: null,
    cost_cents: 125,
    removed_at: new Date(start + 31.5 * dayMs),
    removed_by: "retention",
  });
  const [repeat] =
    await sql`select request_id, idempotency_key, status from post_log where event_id = ${old}`;
  assert.deepEqual({ ...repeat }, { request_id: null, idempotency_key: null, status: 200 });
  const [attempt] = await sql`select outcome, reason from attempt where event_id = ${old}`;
  assert.deepEqual({ ...attempt }, { outcome: "delivered", reason: null });
  assert.deepEqual(await retention.runOnce(), { examined: 0, removed: 0, posts: 0 });

  // A late retry is a duplicate even with other content, and stores nothing.
  const again = await post({ digest, note: "other" });
  assert.deepEqual([again.outcome, again.event_id], ["duplicate", old]);
  assert.equal((await sql`select from collision`).length, 0);
});

test("pending, sending and dead rows are kept and deleted within an hour after delivery", async () => {
  await setRetention(1);
  await setDay(0);
  const ids: string[] = [];
  for (let count = 0; count < 3; count++) ids.push((await post()).event_id);
  const [waits, sends, died] = ids as [string, string, string];
  await sql`update outbox set lease = gen_random_uuid() where event_id = ${sends}`;
  await sql`delete from outbox where event_id = ${died}`;
  await sql`insert into dead_letter (event_id, tenant_id, died_at) select event_id, tenant_id, received_at from event
    where event_id = ${died}`;
  const untouched = await rowsWith(sql, ids);

  await setDay(2);
  assert.deepEqual(await retention.runOnce(), { examined: 3, removed: 0, posts: 0 });
  assert.deepEqual(await retention.runOnce(), { examined: 0, removed: 0, posts: 0 });
  const isTheirs = (row: string) => !row.startsWith("public.retention_");
  assert.deepEqual((await rowsWith(sql, ids)).filter(isTheirs), untouched);

  await sql`delete from outbox where event_id = ${waits}`;
  await setDay(2 + 0.9 / 24);
  assert.deepEqual(await retention.runOnce(), { examined: 0, removed: 0, posts: 0 });
  await setDay(2 + 1.1 / 24);
  assert.deepEqual(await retention.runOnce(), { examined: 3, removed: 1, posts: 0 });
  assert.deepEqual(await haveContent([waits, sends, died]), [false, true, true]);

  await sql`select replay_dead(array[${died}])`;
  await sql`delete from outbox`;
  await setDay(3);
  assert.deepEqual(await retention.runOnce(), { examined: 2, removed: 2, posts: 0 });
  assert.equal((await sql`select from retention_deferred`).length, 0);
});

test("a held submission is deleted with its contacts and cannot be released; a collision is deleted with its event", async () => {
  await setRetention(10);
  const digest = randomUUID();
  const old = await delivered(0, { digest });
  assert.equal((await post({ digest, note: "another" })).outcome, "collision");
  await setDay(0);
  const held = (await post({ kind: "form" })).event_id;
  await sql`delete from outbox where event_id = ${held}`;
  await sql`insert into submission (event_id, tenant_id, form_id, verdict, score, reasons, phone, email, name)
    select event_id, tenant_id, 1, 'spam', 9, '{links}', '+15551234567', 'a@b.co', 'doe' from event
    where event_id = ${held}`;
  await setDay(11);
  assert.deepEqual(await retention.runOnce(), { examined: 2, removed: 2, posts: 0 });
  assert.deepEqual(await haveContent([old, held]), [false, false]);
  const [aside] = await sql`select count::int, lead, extra, raw, content_digest from collision`;
  assert.deepEqual({ ...aside }, { count: 1, lead: null, extra: null, raw: null, content_digest: null });
  const [found] = await sql`select verdict, score, phone, email, name from submission`;
  assert.deepEqual({ ...found }, { verdict: "spam", score: 9, phone: null, email: null, name: null });
  assert.equal((await sql`select release_submission(${held}) as said`)[0]?.said, "erased");
  assert.equal((await sql`select from outbox`).length, 0);
  reported.splice(0);
});

/** Stores delivered events of a key at the start, a microsecond apart. */
async function storeMany(count: number, by: number, prefix = "0"): Promise<void> {
  await sql`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead, extra, raw)
    select event_id_at(${new Date(start).toISOString()}::timestamptz + n * interval '1 microsecond')
        || ${prefix} || lpad(n::text, 23, '0'),
      'lead', k.tenant_id, k.id, ${
    new Date(start).toISOString()
  }::timestamptz, 'k', '{}', '{"last_name":"Doe"}', '{}',
      '{}'
    from generate_series(1, ${count}::int) as n, api_key as k where k.id = ${by}`;
}

async function content(by: number): Promise<number> {
  const [row] = await sql`select count(lead)::int as count from event where key_id = ${by}`;
  return row?.count;
}

test("after the clock was set back, newer events expire too, and deferred ones are examined within an hour", async () => {
  await setRetention(1);
  await setDay(30);
  const dead = (await post()).event_id;
  const ahead = await delivered(30);
  await setDay(32);
  assert.deepEqual(await retention.runOnce(), { examined: 2, removed: 1, posts: 0 });
  await sql`delete from outbox`;
  const real = await delivered(1);
  await setDay(3);
  assert.deepEqual(await retention.runOnce(), { examined: 2, removed: 1, posts: 0 });
  assert.deepEqual(await haveContent([real, ahead, dead]), [false, false, true]);
  await setDay(32);
  assert.deepEqual((await retention.runOnce())?.removed, 1);
  reported.splice(0);
});

test("events that were accepted while the clock was behind expire, and before 1970 nothing does", async () => {
  await setRetention(30);
  const old = await delivered(0);
  const young = await delivered(39);
  await setDay(40);
  assert.deepEqual(await retention.runOnce(), { examined: 1, removed: 1, posts: 0 });
  const behind = await delivered(-400);
  assert.deepEqual(await retention.runOnce(), { examined: 0, removed: 0, posts: 0 });
  await setDay(40);
  assert.deepEqual((await retention.runOnce())?.removed, 1);
  await testEnv.setClock("1970-01-01T00:05:00Z");
  assert.equal((await retention.runOnce())?.removed, 0);
  assert.deepEqual(await haveContent([old, young, behind]), [false, true, false]);
  reported.splice(0);
});

test("one run examines at most 500 events and no other content", async () => {
  await storeMany(20_000, others);
  await storeMany(1_200, web, "1");
  await storeMany(300, shop, "2");
  await setRetention(1);
  await setDay(2);
  const read = await sql.begin(async (transaction) => {
    const [{ examined, removed }] = await transaction<[{ examined: number; removed: number }]>`
      select * from expire_content(500)`;
    assert.deepEqual({ examined, removed }, { examined: 500, removed: 500 });
    const [row] = await transaction`
      select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'event'`;
    return row?.rows as number;
  });
  // Each of the 500 is found, locked, changed and checked.
  assert.ok(read <= 5 * 500, `${read} rows were read`);

  const runs: number[] = [];
  for (let left = true; left;) {
    const { examined } = await retention.runOnce() as { examined: number };
    runs.push(examined);
    left = examined === 500;
  }
  assert.deepEqual(runs, [500, 500, 0]);
  assert.deepEqual([await content(web), await content(shop), await content(others)], [0, 0, 20_000]);
  assert.equal(reported.splice(0).reduce((sum, count) => sum + count, 0), 1_000);
});

test("a run reads the collisions of expired events only", async () => {
  await storeMany(5_000, others);
  await storeMany(2, web, "1");
  await sql`
    insert into collision (event_id, content_digest, key_id, count, first_at, last_at, lead, flags, other_person)
    select event_id, gen_random_uuid(), key_id, 1, received_at, received_at, '{}', '{}', false from event`;
  await setRetention(1);
  await setDay(2);
  const read = await rowsRead(sql, "collision", (session) => session`select * from expire_content(500)`);
  assert.ok(read < 50, `${read} rows were read`);
  const kept = await sql`select count(lead)::int as count from collision`;
  assert.deepEqual([kept[0]?.count, await content(web)], [5_000, 0]);
});

test("only one process runs at a time, and a locked event is left for later", async () => {
  await storeMany(3, web);
  await setRetention(1);
  await setDay(2);
  const holder = await sql.reserve();
  await holder.unsafe("begin; select * from event order by event_id limit 1 for update");
  assert.deepEqual(await retention.runOnce(), { examined: 3, removed: 2, posts: 0 });
  await holder`rollback`;
  await holder.unsafe("begin; select expire_content(500)");
  const rival = openPool(testEnv.database.url);
  assert.equal(await open(rival).runOnce(), null);
  await rival.close();
  await holder`rollback`;
  holder.release();
  await setDay(2.1);
  assert.deepEqual(await retention.runOnce(), { examined: 1, removed: 1, posts: 0 });
  assert.equal(await content(web), 0);
  reported.splice(0);
});
