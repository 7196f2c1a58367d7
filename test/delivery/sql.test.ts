/** Tests the outbox's SQL functions: claims, settlements, replays, and their cost. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { beforeEach, test } from "node:test";
import postgres from "postgres";
import { OutboxStore } from "../../src/store/delivery/outbox.ts";
import { accept } from "../support/ctl/event.ts";
import { openPool } from "../support/pool.ts";
import { openStore } from "../support/store.ts";
import { atEnd } from "../support/at_end.ts";

const startMs = Date.UTC(2030, 0, 1);
const leaseMs = 30_000;
const attemptsMax = 3;

const { databaseUrl, sql } = await openStore();
/** A second session. */
const other = postgres(databaseUrl, { max: 1, onnotice: () => {} });
atEnd(() => other.end({ timeout: 5 }));
let nowMs = startMs;

beforeEach(async () => {
  await sql`truncate event, outbox, attempt, dead_letter, outbox_tally, collision`;
  await moveClock(startMs);
});

/** Stops the service's clock at a time. */
async function moveClock(toMs: number): Promise<void> {
  nowMs = toMs;
  await sql.unsafe(
    `create or replace function service_clock() returns timestamptz language sql volatile
     as $$ select to_timestamp(${toMs / 1000}) $$`,
  );
}

interface Tenant {
  readonly id: number;
  readonly keyId: string;
}

/** Adds a tenant, by default a sandbox, whose events are claimed without a route. */
async function addTenant(kind: "sandbox" | "live" = "sandbox"): Promise<Tenant> {
  const slug = `t${randomUUID()}`;
  const [tenant] = await sql`
    insert into tenant (slug, name, sandbox) values (${slug}, ${slug}, ${kind === "sandbox"}) returning id`;
  const [key] = await sql`
    insert into api_key (tenant_id, surface, label, digest, last4)
    values (${tenant?.id}, 'intake', 'web', sha256(${slug}::text::bytea), '0000') returning id`;
  return { id: tenant?.id, keyId: String(key?.id) };
}

const pause = ({ id }: Tenant) =>
  sql`select from pause_tenant((select slug from tenant where id = ${id}), '{""}', null)`;

async function post(tenant: Tenant, count = 1): Promise<string[]> {
  const ids: string[] = [];
  for (let posted = 0; posted < count; posted++) ids.push((await accept(sql, tenant.keyId)).event_id);
  return ids.sort();
}

/** Stores events that are due one microsecond apart, up to now. */
async function postMany(tenant: Tenant, count: number): Promise<void> {
  await sql`
    with made as (
      insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, dedupe_digest, flags, lead, raw)
      select
        new_event_id(event_id_at(to_timestamp(${nowMs} / 1000.0) + (n - ${count}) * interval '1 microsecond'), 1),
        'lead', ${tenant.id}, ${tenant.keyId}::int, service_clock(), 'k', gen_random_uuid(), '{}', '{}', '{}'
      from generate_series(1, ${count}::int) as n
      returning event_id, tenant_id
    ),
    queued as (
      insert into outbox (event_id, tenant_id, due_at)
      select event_id, tenant_id, event_id_time(event_id) from made
    )
    insert into outbox_tally (state, delta) select 'pending', count(*) from made`;
}

interface Claimed {
  readonly event_id: string;
  readonly tenant_id: number;
  readonly due_at_ms: number;
  readonly number: number;
  readonly spent: number;
  readonly is_replay: boolean;
}

interface ClaimOptions {
  readonly limit?: number;
  readonly floor?: string;
  readonly by?: postgres.Sql;
}

async function claim(lease: string, tenants: readonly Tenant[], options: ClaimOptions = {}) {
  const { limit = 100, floor = "-infinity", by = sql } = options;
  return [
    ...await by<Claimed[]>`select * from claim_outbox(
      ${lease}, ${leaseMs}, ${attemptsMax}, ${tenants.map(({ id }) => id)}, ${tenants.map(() => floor)},
      ${tenants.map(() => limit)})`,
  ];
}

interface Settlement {
  readonly number?: number;
  readonly outcome?: string;
  readonly status?: number | null;
  readonly reason?: string | null;
  readonly durationMs?: number;
  readonly countsTowardsMax?: boolean;
  readonly retryMs?: number;
}

const outcomes = { delivered: "delivered", retry: "refused", dead: "refused", released: "unreachable" };

/** Settles all rows with one verdict. */
async function settle(
  lease: string,
  ids: readonly string[],
  verdict: keyof typeof outcomes,
  settlement: Settlement = {},
): Promise<void> {
  const status = settlement.status === undefined ? (verdict === "delivered" ? 200 : 500) : settlement.status;
  const each = <T>(value: T) => ids.map(() => value);
  const eachOther = <T>(value: T) => verdict === "delivered" ? [] : each(value);
  await sql`select settle_outbox(
    ${each(lease)}, ${[...ids]}, ${each(settlement.number ?? 1)}, ${eachOther(verdict)},
    ${eachOther(settlement.outcome ?? outcomes[verdict])}, ${each(status)}, ${
    eachOther(settlement.reason ?? null)
  }, ${each(settlement.durationMs ?? 5)}, ${eachOther(settlement.countsTowardsMax === false ? "f" : "t")},
    ${eachOther(settlement.retryMs ?? 0)})`;
}

async function replay(ids: readonly string[]): Promise<string[]> {
  return (await sql`select event_id from replay_dead(${[...ids]})`).map((row) => row.event_id);
}

async function dueTenants(): Promise<number[]> {
  return (await sql`select tenant_id from due_tenants('{}', '{}', ${leaseMs})`).map((row) => row.tenant_id);
}

/** Returns the counts of GET /healthz after comparing them with the tables. */
async function figures(): Promise<{ pending: number; dead: number }> {
  const [counted] = await sql`select pending::int, dead::int from beat(0)`;
  const [held] = await sql`
    select (select count(*) from outbox)::int as pending, (select count(*) from dead_letter)::int as dead`;
  assert.deepEqual(counted, held);
  return { pending: held?.pending, dead: held?.dead };
}

async function row(id: string) {
  const [found] = await sql`
    select made, spent, lease, reason, is_replay, (extract(epoch from due_at) * 1000)::float8 as due_at_ms,
      (extract(epoch from lease_until) * 1000)::float8 as lease_until_ms
    from outbox where event_id = ${id}`;
  return found;
}

async function attempts(id: string) {
  return [
    ...await sql`
      select number, outcome, status, reason, duration_ms, spent, (extract(epoch from at) * 1000)::float8 as at_ms
      from attempt where event_id = ${id} order by number`,
  ];
}

const idsOf = (rows: readonly Claimed[]) => rows.map((claimed) => claimed.event_id);

test("a claim returns due events in their order, up to the limit", async () => {
  const tenant = await addTenant();
  const [first] = await post(tenant);
  await moveClock(startMs + 1_000);
  const [second, third] = await post(tenant, 2);
  await moveClock(startMs + 500);
  assert.deepEqual(idsOf(await claim(randomUUID(), [tenant])), [first]);
  await moveClock(startMs + 1_000);
  const rows = await claim(randomUUID(), [tenant], { limit: 1 });
  assert.deepEqual(idsOf(rows), [second]);
  assert.deepEqual(
    { ...rows[0], event_id: "" },
    {
      ...rows[0],
      event_id: "",
      tenant_id: tenant.id,
      due_at_ms: startMs + 1_000,
      number: 1,
      spent: 1,
      is_replay: false,
      kind: "lead",
      source: "web",
      received_at_ms: startMs + 1_000,
      flags: "",
      extra: null,
    },
  );
  assert.deepEqual(idsOf(await claim(randomUUID(), [tenant])), [third]);
  assert.deepEqual(await claim(randomUUID(), [tenant]), []);
  assert.deepEqual(await figures(), { pending: 3, dead: 0 });
});

test("an event whose last attempt is lost is dead", async () => {
  const tenant = await addTenant();
  const [id] = await post(tenant) as [string];
  for (let made = 1; made <= attemptsMax; made++) {
    assert.equal((await claim(randomUUID(), [tenant])).length, 1);
    await moveClock(nowMs + leaseMs);
  }
  assert.deepEqual(await claim(randomUUID(), [tenant]), []);
  assert.equal(await row(id), undefined);
  assert.deepEqual((await attempts(id)).map(({ outcome }) => outcome), ["lost", "lost", "lost"]);
  assert.deepEqual([...await sql`select event_id, tenant_id, reason from dead_letter`], [
    { event_id: id, tenant_id: tenant.id, reason: "lost" },
  ]);
  assert.deepEqual(await figures(), { pending: 0, dead: 1 });
});

for (const verdict of ["retry", "dead", "released"] as const) {
  test(`${verdict} from a previous lease owner does not change the row`, async () => {
    const tenant = await addTenant();
    const [id] = await post(tenant) as [string];
    const [former, present] = [randomUUID(), randomUUID()];
    await claim(former, [tenant]);
    await moveClock(startMs + leaseMs);
    await claim(present, [tenant]);
    const held = await row(id);
    await settle(former, [id], verdict, { status: 500, countsTowardsMax: false, durationMs: 40_000 });
    assert.deepEqual(await row(id), held);
    const [first] = await attempts(id);
    // The late outcome replaces "lost"; the attempt stays spent.
    assert.deepEqual(
      [first?.outcome, first?.status, first?.spent],
      verdict === "released" ? ["lost", null, true] : ["refused", 500, true],
    );
    await settle(present, [id], "delivered", { number: 2 });
    assert.deepEqual((await attempts(id)).map(({ number }) => number), [1, 2]);
    assert.deepEqual(await figures(), { pending: 0, dead: 0 });
  });
}

test("delivered settles the event for any lease owner", async () => {
  const tenant = await addTenant();
  const [id] = await post(tenant) as [string];
  const [former, present] = [randomUUID(), randomUUID()];
  await claim(former, [tenant]);
  await moveClock(startMs + leaseMs);
  await claim(present, [tenant]);
  await settle(former, [id], "delivered", { durationMs: 29_000 });
  assert.equal(await row(id), undefined);
  assert.deepEqual(await figures(), { pending: 0, dead: 0 });
  for (const verdict of ["delivered", "dead", "retry", "released"] as const) {
    await settle(present, [id], verdict, { number: 2 });
    assert.deepEqual(await figures(), { pending: 0, dead: 0 });
  }
  assert.deepEqual((await attempts(id)).map(({ outcome }) => outcome), ["delivered", "delivered"]);
});

test("a batch settled twice and an attempt twice in a batch count once", async () => {
  const tenant = await addTenant();
  const ids = await post(tenant, 2) as [string, string];
  const lease = randomUUID();
  await claim(lease, [tenant]);
  await settle(lease, [ids[0], ids[0]], "retry", { retryMs: 1_000 });
  const [before, history] = [await row(ids[0]), await attempts(ids[0])];
  await moveClock(startMs + 500);
  await settle(lease, [ids[0]], "retry", { retryMs: 1_000 });
  assert.deepEqual(await row(ids[0]), before);
  assert.deepEqual(await attempts(ids[0]), history);
  for (let times = 0; times < 2; times++) await settle(lease, [ids[1]], "dead");
  assert.deepEqual(await figures(), { pending: 1, dead: 1 });
});

test("one statement settles a batch and claims what it made due", async () => {
  const tenant = await addTenant();
  const ids = await post(tenant, 2) as [string, string];
  const store = new OutboxStore(openPool(databaseUrl), { newLease: randomUUID, leaseMs, attemptsMax });
  const requests = [{ tenantId: tenant.id, floor: "-infinity", limit: 10 }];
  const rows = await store.claim(requests);
  const common = { tenantId: tenant.id, number: 1, durationMs: 5, isRepeat: false, retryMs: 0, reason: null };
  const ofRow = (eventId: string) => ({ ...common, eventId, lease: rows[0]?.lease as string });
  const again = await store.claim(requests, [
    { ...ofRow(ids[0]), kind: "delivered", outcome: "delivered", status: 200, countsTowardsMax: true },
    { ...ofRow(ids[1]), kind: "released", outcome: "unreachable", status: null, countsTowardsMax: false },
  ]);
  assert.deepEqual(again.map(({ event_id, number }) => [event_id, number]), [[ids[1], 1]]);
  assert.notEqual(again[0]?.lease, rows[0]?.lease);
  assert.deepEqual((await attempts(ids[0])).map(({ outcome }) => outcome), ["delivered"]);
  assert.deepEqual(await attempts(ids[1]), []);
});

test("after the clock was set back by hours, only waits that began before are ended", async () => {
  const tenant = await addTenant();
  const hourMs = 3_600_000;
  const [old] = await post(tenant) as [string];
  await moveClock(startMs + 5 * hourMs);
  const [ahead, fresh] = await post(tenant, 2) as [string, string];
  const sent = await post(tenant);
  await sql`update outbox set due_at = due_at - interval '1 second' where event_id = ${sent[0] ?? ""}`;
  await claim(randomUUID(), [tenant], { limit: 1, floor: new Date(startMs + hourMs).toISOString() });
  const refuse = async () => {
    const lease = randomUUID();
    const rows = await claim(lease, [tenant]);
    for (const { event_id: id, number } of rows) {
      await settle(lease, [id], "retry", { number, retryMs: hourMs });
    }
    return idsOf(rows).sort();
  };
  // The last one is not tried.
  await sql`update outbox set due_at = due_at + interval '1 second' where event_id = ${fresh}`;
  assert.deepEqual(await refuse(), [old, ahead]);
  await moveClock(startMs + 1_000);
  const limitWaits = async () => (await sql`select limit_waits(${24 * hourMs}, 10) as count`)[0]?.count;
  assert.equal(await limitWaits(), 4);
  assert.deepEqual(await refuse(), [old, ahead, fresh]);
  assert.equal(await limitWaits(), 0);
});

test("after the clock was set back, waits and leases end as if they began then", async () => {
  const tenant = await addTenant();
  const [waits, leased] = await post(tenant, 2) as [string, string];
  const dayMs = 86_400_000;
  await moveClock(startMs + 30 * dayMs);
  const lease = randomUUID();
  await claim(lease, [tenant]);
  await settle(lease, [waits], "retry", { retryMs: 3_600_000 });
  await moveClock(startMs);
  const limitWaits = async () => (await sql`select limit_waits(${dayMs}, 10) as count`)[0]?.count;
  assert.equal(await limitWaits(), 1);
  assert.equal((await row(waits))?.due_at_ms, startMs);
  assert.deepEqual(await dueTenants(), [tenant.id]);
  // The floor that the former clock left does not hide them.
  const floor = new Date(startMs + 30 * dayMs).toISOString();
  assert.deepEqual(idsOf(await claim(randomUUID(), [tenant], { floor })), [waits]);
  assert.equal((await row(leased))?.lease_until_ms, startMs + leaseMs);
  assert.deepEqual([await claim(randomUUID(), [tenant]), await dueTenants(), await limitWaits()], [
    [],
    [],
    0,
  ]);
  await moveClock(startMs + leaseMs);
  assert.deepEqual(idsOf(await claim(randomUUID(), [tenant])).sort(), [waits, leased].sort());
  assert.deepEqual((await attempts(leased)).map(({ outcome }) => outcome), ["lost"]);
});

/** Returns the rows and index entries that statements have read so far. */
async function reads(of: postgres.Sql = sql) {
  await of`select pg_stat_force_next_flush()`;
  const [found] = await of`
    select
      (select sum(seq_tup_read)::int from pg_stat_user_tables
        where relname in ('outbox', 'event', 'attempt', 'dead_letter')) as scanned,
      (select idx_tup_read::int from pg_stat_user_indexes where indexrelname = 'outbox_due') as due`;
  return { scanned: found?.scanned as number, due: found?.due as number };
}

async function readsOf(work: () => Promise<unknown>) {
  const earlier = await reads();
  await work();
  const later = await reads();
  return { scanned: later.scanned - earlier.scanned, due: later.due - earlier.due };
}

/** Runs each of the delivery's store calls once. */
async function cycle(tenant: Tenant, floor = "-infinity"): Promise<void> {
  const lease = randomUUID();
  await sql`select limit_waits(86400000, 40)`;
  await dueTenants();
  const rows = await claim(lease, [tenant], { limit: 40, floor });
  const byNumber = Map.groupBy(rows, ({ number }) => number);
  for (const [number, group] of byNumber) {
    const ids = idsOf(group);
    const quarter = Math.ceil(ids.length / 4);
    await settle(lease, ids.slice(0, quarter), "delivered", { number });
    await settle(lease, ids.slice(quarter, 2 * quarter), "retry", { number, retryMs: 60_000 });
    await settle(lease, ids.slice(2 * quarter, 3 * quarter), "dead", { number });
    await settle(lease, ids.slice(3 * quarter), "released", { number, countsTowardsMax: false });
    await replay(ids.slice(2 * quarter, 3 * quarter));
  }
}

test("functions planned on empty tables scan no table and read about as much as they claim", async () => {
  const [tenant, waiting, paused] = [await addTenant(), await addTenant("live"), await addTenant()];
  await pause(paused);
  // The sixth call in a session makes a generic plan.
  await post(tenant, 1);
  for (let calls = 0; calls < 8; calls++) await cycle(tenant);
  await postMany(tenant, 150_000);
  await postMany(waiting, 50_000);
  await postMany(paused, 100_000);
  await figures();
  for (const analyzed of [false, true]) {
    if (analyzed) await sql`analyze`;
    for (const work of [dueTenants, () => cycle(tenant), () => claim(randomUUID(), [paused, waiting])]) {
      const { scanned, due } = await readsOf(work);
      assert.equal(scanned, 0);
      assert.ok(due < 500, `${due} entries of outbox_due read`);
    }
  }
});

test("a paused tenant's events are neither due nor claimed until it is resumed", async () => {
  const [paused, other] = [await addTenant(), await addTenant()];
  const [waiting] = await post(paused);
  const [sent] = await post(other);
  await pause(paused);
  assert.deepEqual(await dueTenants(), [other.id]);
  assert.deepEqual(idsOf(await claim(randomUUID(), [paused, other])), [sent]);
  await sql`select from resume_tenant((select slug from tenant where id = ${paused.id}), '{""}')`;
  assert.deepEqual(await dueTenants(), [paused.id]);
  assert.deepEqual(idsOf(await claim(randomUUID(), [paused, other])), [waiting]);
});

test("while another transaction holds xmin, the floor keeps a claim from reading delivered events", async () => {
  const tenant = await addTenant();
  await postMany(tenant, 20_000);
  await other.unsafe("begin isolation level repeatable read; select count(*) from tenant");
  try {
    const lease = randomUUID();
    let newestMs = 0;
    for (let left = 19_000; left > 0; left -= 1_000) {
      const rows = await claim(lease, [tenant], {
        limit: 1_000,
        floor: new Date(newestMs).toISOString(),
      });
      newestMs = Math.floor(rows.at(-1)?.due_at_ms ?? 0);
      await settle(lease, idsOf(rows), "delivered");
    }
    assert.deepEqual(await figures(), { pending: 1_000, dead: 0 });
    const floored = await readsOf(() =>
      claim(lease, [tenant], { limit: 10, floor: new Date(newestMs).toISOString() })
    );
    const unfloored = await readsOf(() => claim(lease, [tenant], { limit: 10 }));
    assert.ok(floored.due < 2_000, `${floored.due} entries read above the floor`);
    assert.ok(unfloored.due > 19_000, `${unfloored.due} entries read: the floor is no longer needed`);
  } finally {
    await other.unsafe("rollback");
  }
});
