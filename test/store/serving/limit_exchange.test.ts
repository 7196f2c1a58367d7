import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import type postgres from "postgres";
import { limits } from "../../../src/contract/limits.ts";
import type { Ask } from "../../../src/limiter/lease.ts";
import { Leases } from "../../../src/limiter/leases.ts";
import { LimitExchange } from "../../../src/store/serving/limit_exchange.ts";
import { LeaseStore } from "../../support/limiter/lease_store.ts";
import { openProxy } from "../../support/faults/postgres_proxy.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const { databaseUrl, sql } = await openStore();

/** A process that shares the limit of keys with `nodes - 1` others, on a clock of the test's. */
function process(options: { url?: string; nodes?: number } = {}) {
  const node = randomUUID();
  const clock = { nowMs: 1_000_000 };
  const leases = new Leases(() => [1, 2]);
  const limiter = leases.limiter("intake", "key");
  leases.met({ intake: options.nodes ?? 2 }, [3, 4]);
  const pool = openPool(options.url ?? databaseUrl);
  const exchange = new LimitExchange({ pool, leases, node, nowMs: () => clock.nowMs });
  const post = (key: string, times: number) =>
    Array.from({ length: times }, () => limiter.allow(key, limits.keyRate, clock.nowMs))
      .filter(({ allowed }) => allowed).length;
  const ask = async (afterMs = 300) => {
    clock.nowMs += afterMs;
    return await exchange.runOnce();
  };
  return { node, leases, pool, exchange, clock, post, ask };
}

async function bucketsOf(): Promise<{ owed: number }[]> {
  return await sql<{ owed: number }[]>`select owed from limit_bucket order by hash`;
}

/** Moves the service's clock to so many milliseconds after a fixed time. */
async function setClock(ms: number | null): Promise<void> {
  const time = ms === null
    ? "clock_timestamp()"
    : `timestamptz '2026-01-01' + ${ms} * interval '1 millisecond'`;
  await sql.unsafe(
    `create or replace function service_clock() returns timestamptz
     language sql volatile parallel safe as $$ select ${time} $$`,
  );
}

/** One node's question, straight to the function. */
async function lease(sql: postgres.Sql, node: string, asks: readonly Ask[], toldMs: number | null) {
  const rows = await sql<{ hash: string; held: number | null; remaining: number }[]>`
    select * from lease_limits(
      ${node}, ${asks.map(({ hash }) => hash)}, ${asks.map(({ rate }) => rate.perMinute)},
      ${asks.map(({ rate }) => rate.burst)}, ${asks.map(({ nodes }) => nodes)},
      ${asks.map(({ unleased }) => unleased)}, ${asks.map(({ spent }) => spent)},
      ${asks.map(({ confirmed }) => confirmed)}, ${asks.map(({ owed }) => owed)},
      ${asks.map(({ wanted }) => wanted)}, ${
    asks.map(({ isCutOff }) => Number(isCutOff))
  }::int[]::boolean[], ${toldMs})`;
  const byHash = (one: { hash: number }, other: { hash: number }) => one.hash - other.hash;
  return {
    grants: rows.filter(({ held }) => held !== null)
      .map(({ hash, held, remaining }) => ({ hash: Number(hash), held: Number(held), left: remaining }))
      .sort(byHash),
    told: rows.filter(({ held }) => held === null).map(({ hash }) => Number(hash)).sort(),
  };
}

test("the store's arithmetic is that of the simulation, whatever nodes tell, in whatever order and after whatever pause", async () => {
  const rates = [limits.keyRate, limits.ipRate, limits.formsTenantRate];
  const call = fc.record({
    node: fc.nat({ max: 2 }),
    afterMs: fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 30_000 })),
    keys: fc.uniqueArray(fc.nat({ max: 2 }), { maxLength: 3 }),
    spent: fc.nat({ max: 60 }),
    wanted: fc.nat({ max: 80 }),
    isLost: fc.boolean(),
    isCutOff: fc.boolean(),
    isToTell: fc.boolean(),
  });
  let case_ = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 25 }), async (calls) => {
      await sql`truncate limit_bucket, limit_lease`;
      case_ += 1;
      const nodes = [randomUUID(), randomUUID(), randomUUID()];
      const model = new LeaseStore();
      const told = new Map<string, { spent: number; confirmed: number }>();
      let nowMs = 0;
      for (const { node, afterMs, keys, spent, wanted, isLost, isCutOff, isToTell } of calls) {
        nowMs += afterMs;
        await setClock(nowMs);
        const name = nodes[node] as string;
        const asks = keys.map((key): Ask => {
          const id = `${node} ${key}`;
          const before = told.get(id) ?? { spent: 0, confirmed: 0 };
          const now = { spent: before.spent + spent / (key + 1), confirmed: before.confirmed };
          told.set(id, { spent: now.spent, confirmed: isLost ? now.confirmed : now.spent });
          const rate = rates[key] as (typeof rates)[number];
          return { hash: 1_000 + key, rate, nodes: 3, unleased: key + 1, ...now, owed: 3, wanted, isCutOff };
        });
        const sinceMs = isToTell ? 2_000 : null;
        const real = await lease(sql, name, asks, sinceMs);
        const [grants, hashes] = model.lease(name, asks, nowMs, sinceMs);
        grants.sort((one, other) => one.hash - other.hash);
        assert.deepEqual(real.told, hashes.sort());
        assert.equal(real.grants.length, grants.length);
        for (const [index, grant] of grants.entries()) {
          const found = real.grants[index];
          assert.equal(found?.hash, grant.hash);
          assert.equal(found?.held, grant.held);
          assert.ok(Math.abs(Number(found?.left) - grant.left) < 1e-6);
        }
      }
    }),
    { numRuns: 40 },
  );
  assert.ok(case_ >= 40);
  await setClock(null);
  await sql`truncate limit_bucket, limit_lease`;
});

test("alone, a process asks the store for nothing, and opens no connection for it", async () => {
  const one = process({ nodes: 1, url: "postgres://nobody@127.0.0.1:1/none" });
  assert.equal(one.post("a", 300), 101);
  for (let n = 0; n < 10; n += 1) assert.equal(await one.ask(), true);
  assert.deepEqual([one.exchange.answered, one.exchange.failed], [0, 0]);
});

test("two processes that lease one key spend its burst together, and the names of keys are nowhere in the store", async () => {
  await setClock(0);
  const [one, other] = [process(), process()];
  one.post("sesame", 50);
  await one.ask();
  other.post("sesame", 2);
  await other.ask();
  const spent = 52 + one.post("sesame", 200);
  await setClock(300);
  await one.ask(300);
  await other.ask(300);
  const all = spent + other.post("sesame", 200);
  // A few have been earned meanwhile, and four may be had without a lease.
  assert.ok(all >= 97 && all <= 115, String(all));
  const [row] = await sql`
    select count(*)::int as rows, string_agg(b::text || l::text, '') as text
    from limit_bucket as b join limit_lease as l using (hash)`;
  assert.equal(row?.rows, 2);
  assert.doesNotMatch(row?.text, /sesame/);
  await setClock(null);
  await sql`truncate limit_bucket, limit_lease`;
});

test("what a lost answer was about is told again and counted once, whether the store has heard of it or not", async () => {
  // The key earns nothing meanwhile.
  await setClock(0);
  const proxy = await openProxy(Number(new URL(databaseUrl).port));
  proxy.watched = /lease_limits\(/;
  for (const place of ["after_commit", "before_execute"] as const) {
    const one = process({ url: proxy.databaseUrl(databaseUrl) });
    assert.equal(one.post(place, 40), 40);
    assert.equal(await one.ask(), true);
    assert.equal(one.post(place, 20), 20);
    let faults = 0;
    proxy.chooseFault = () => faults++ === 0 ? { place, how: "close" } : null;
    assert.equal(await one.ask(300), false);
    await until(() => one.ask(300), { what: "the store answers again" });
    assert.equal(one.exchange.failed >= 1, true);
    const [{ spent } = { spent: 0 }] = await sql<{ spent: number }[]>`select spent from limit_lease`;
    assert.equal(spent, 60);
    const [bucket] = await bucketsOf();
    assert.equal(bucket?.owed, 60);
    await sql`truncate limit_bucket, limit_lease`;
  }
  await setClock(null);
});

test("what has not been asked for in three minutes is cleared away, and what is in use stays", async () => {
  const [one, other] = [randomUUID(), randomUUID()];
  const ask = (hash: number): Ask => ({
    ...{
      hash,
      rate: limits.keyRate,
      nodes: 2,
      unleased: 1,
      spent: 5,
      confirmed: 0,
      owed: 0,
      wanted: 5,
      isCutOff: false,
    },
  });
  await setClock(0);
  await lease(sql, one, [ask(1), ask(2)], null);
  await setClock(170_000);
  await lease(sql, one, [ask(2)], null);
  await setClock(190_000);
  await lease(sql, other, [], 500);
  const rows = await sql<{ hash: string }[]>`
    select b.hash from limit_bucket as b join limit_lease as l using (hash)`;
  assert.deepEqual(rows.map(({ hash }) => hash), ["2"]);
  await setClock(null);
  await sql`truncate limit_bucket, limit_lease`;
});

test("many processes that lease the same keys in different orders do not wait for one another for ever", async () => {
  const nodes = Array.from({ length: 6 }, () => process({ nodes: 6 }));
  const keys = Array.from({ length: 100 }, (_, n) => `key ${n}`);
  for (const [index, node] of nodes.entries()) {
    const rotated = [...keys.slice(index * 17), ...keys.slice(0, index * 17)];
    for (const key of rotated) node.post(key, 3);
  }
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(nodes.map(async ({ node, leases, pool, clock, post }) => {
      for (const key of keys) post(key, 1);
      clock.nowMs += 300;
      const asked = leases.ask(clock.nowMs);
      // However long it takes on a busy machine: of those that wait for one another the server refuses one.
      const { grants } = await pool.run(60_000, (sql) => lease(sql, node, asked.asks, 500));
      assert.deepEqual([asked.asks.length, grants.length], [keys.length, keys.length]);
      leases.answered(asked, grants, clock.nowMs);
    }));
  }
  await sql`truncate limit_bucket, limit_lease`;
});

test("while a transaction is held open the tables stay small, and while somebody reads them a process has an equal share and asks seldom", async () => {
  await sql`truncate limit_bucket, limit_lease`;
  const bytes = async () =>
    Number((await sql`select pg_relation_size('limit_lease') + pg_relation_size('limit_bucket') as n`)[0]?.n);
  const one = process();
  const fill = async () => {
    await sql`
      insert into limit_lease (hash, node, spent, held, spilled, demand, at)
      select n, ${one.node}, 0, 0, 0, 0, now() from generate_series(1, 1000) as n`;
    for (let times = 0; times < 8; times += 1) {
      await sql.begin(async (tx) => {
        await tx`update limit_lease set spent = spent + 1 where hash <= 1000`;
        await tx`select pg_stat_force_next_flush()`;
      });
    }
    assert.ok(await bytes() >= 512 * 1024);
  };
  const holder = await sql.reserve();
  try {
    await holder.unsafe("begin isolation level repeatable read; select count(*) from event");
    await fill();
    one.post("a", 50);
    await until(async () => {
      assert.equal(await one.ask(), true);
      return await bytes() < 100_000;
    }, { what: "the tables to be small, whoever holds a transaction open" });
    await holder.unsafe("select from limit_lease limit 1");
    await fill();
    one.post("a", 1);
    assert.equal(await one.ask(1_000), false);
    assert.ok(one.post("a", 200) <= 51);
    assert.deepEqual([one.leases.figures.alone, one.exchange.pauseMs(false)], [1, 250]);
  } finally {
    await holder`rollback`;
    holder.release();
  }
  assert.equal(await one.ask(), true);
  assert.equal(one.leases.figures.alone, 0);
  await sql`truncate limit_bucket, limit_lease`;
});
