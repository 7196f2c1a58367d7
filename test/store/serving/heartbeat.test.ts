import assert from "node:assert/strict";
import { test } from "node:test";
import postgres from "postgres";
import { Heartbeat } from "../../../src/store/serving/heartbeat.ts";
import { Maintenance } from "../../../src/store/jobs/maintenance.ts";
import { every } from "../../support/every.ts";
import { openProxy } from "../../support/faults/postgres_proxy.ts";
import { pools } from "../../../src/service/pools.ts";
import { repeat } from "../../../src/service/repeat.ts";
import { openPool } from "../../support/pool.ts";
import { ownPostgres } from "../../support/database.ts";
import { until } from "../../support/until.ts";
import { atEnd } from "../../support/at_end.ts";

// The tests change its settings.
const own = await ownPostgres();
const sql = postgres(own.url, { max: 3, onnotice: () => {} });
const proxy = await openProxy(own.server.port);
atEnd(() => sql.end({ timeout: 5 }));

const slot = 5;
const mebibyte = 1024 * 1024;

/** Starts a heartbeat, waits for the first one, and records its changes. */
async function beating(databaseUrl = own.url) {
  const changes: boolean[] = [];
  const pool = openPool(databaseUrl, {
    name: "heartbeat",
    statementTimeoutMs: pools.heartbeat.statementTimeoutMs,
  });
  const heartbeat = new Heartbeat({ pool, nowMs: () => performance.now(), slot });
  heartbeat.onChange((writable) => changes.push(writable));
  const job = repeat(heartbeat, { onFailure: (error) => assert.fail(String(error)) });
  // A failed test must not keep the process running.
  atEnd(() => job.stop());
  // On a busy machine, the first heartbeat may be late.
  await until(() => heartbeat.writable, { what: "the first heartbeat" });
  const close = async () => {
    await job.stop();
    await pool.close();
  };
  return { heartbeat, changes, close };
}

async function beats(): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from heartbeat where slot = ${slot}`;
  return row?.n ?? 0;
}

async function tableBytes(): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select pg_relation_size('heartbeat')::int as n`;
  return row?.n ?? 0;
}

/** Writes heartbeats on one connection, without waiting for the disk. */
async function beatTimes(times: number): Promise<void> {
  const holder = await sql.reserve();
  await holder`set synchronous_commit = off`;
  for (let n = 0; n < times; n += 1) await holder`select * from beat(${slot})`;
  await holder`reset synchronous_commit`;
  holder.release();
}

/** Returns the server's error for a statement. */
async function refusal(statement: string): Promise<unknown> {
  const pool = openPool(own.url);
  const error = await pool.run(5_000, (sql) => sql.unsafe(statement)).then(() => null, (error) => error);
  await pool.close();
  assert.ok(error !== null);
  return error;
}

const noTable = await refusal("select from nowhere");
const badData = await refusal("select 'x'::int");

test("each heartbeat needs its own page on the disk", async () => {
  for (let n = 0; n < 20; n += 1) {
    const before = await tableBytes();
    await sql`select * from beat(${slot})`;
    assert.equal(await tableBytes(), before + 8192);
  }
});

test("under a long read the heartbeat table grows to at most 16 MiB, and heartbeats stay commits", async () => {
  const pool = openPool(own.url);
  const maintenance = new Maintenance(pool, () => performance.now());
  const dump = await sql.reserve();
  await dump.unsafe("begin; lock table heartbeat in access share mode");
  await beatTimes(16 * mebibyte / 8192);
  await maintenance.runOnce();
  assert.equal(await tableBytes(), 16 * mebibyte, "nobody waits for the dump");
  const position = async () => (await sql`select pg_current_wal_lsn() as lsn`)[0]?.lsn;
  const before = await position();
  await sql`select * from beat(${slot})`;
  assert.notEqual(await position(), before);
  assert.equal(await tableBytes(), 16 * mebibyte);
  await dump`rollback`;
  dump.release();
  await maintenance.runOnce();
  assert.equal(await tableBytes(), 0);
  await pool.close();
});

test("a busy process does not consider the store unwritable", async () => {
  const { heartbeat, changes, close } = await beating();
  const before = await beats();
  for (const startMs = performance.now(); performance.now() - startMs < 3_000;);
  assert.equal(heartbeat.writable, true);
  await until(async () => await beats() >= before + 2, { what: "the heart beats on" });
  await close();
  assert.deepEqual(changes, [true]);
});

test("one heartbeat lost with its connection does not close the gate", async () => {
  proxy.watched = /\bbeat\(/;
  const { changes, close } = await beating(proxy.databaseUrl(own.url));
  for (const place of ["before_execute", "before_commit", "after_commit"] as const) {
    const before = await beats();
    await proxy.injectFault({ place, how: "reset" });
    await until(async () => await beats() >= before + 2, { what: "the heart beats on" });
  }
  await close();
  assert.deepEqual(changes, [true]);
});

test("unanswered heartbeats close the gate unless commits are confirmed meanwhile", async (t) => {
  const { heartbeat, changes, close } = await beating();
  const holder = await sql.reserve();
  await holder.unsafe("begin; lock table heartbeat in access exclusive mode");
  const pids = new Set<number>();
  const stop = every(t, 100, () => heartbeat.recordCommit());
  await until(async () => {
    const rows = await sql`
      select extract(epoch from query_start) as began from pg_stat_activity
      where application_name = 'lead-intake heartbeat' and wait_event_type = 'Lock'`;
    for (const { began } of rows) pids.add(Number(began));
    return pids.size >= 3;
  }, { what: "two beats were missed" });
  assert.deepEqual(changes, [true], "commits are the best beats");
  stop();
  await until(() => !heartbeat.writable, { what: "nothing is confirmed any more" });
  await holder`rollback`;
  holder.release();
  await until(() => heartbeat.writable, { what: "the heart beats on" });
  await close();
  assert.deepEqual(changes, [true, false, true]);
});

test("three refused commits in a row close the gate; two do not, nor do faulty entries", async () => {
  const { heartbeat, changes, close } = await beating();
  for (let n = 0; n < 10; n += 1) heartbeat.recordFailedCommit(badData);
  for (let round = 0; round < 3; round += 1) {
    heartbeat.recordFailedCommit(noTable);
    heartbeat.recordFailedCommit(noTable);
    heartbeat.recordCommit();
  }
  assert.deepEqual(changes, [true]);
  for (let n = 0; n < 3; n += 1) heartbeat.recordFailedCommit(noTable);
  assert.equal(heartbeat.writable, false);
  await close();
});

test("without a synchronous standby, heartbeats occupy one backend in total", async () => {
  const { heartbeat, close } = await beating();
  await sql.unsafe("alter system set synchronous_standby_names = 'missing'");
  await sql`select pg_reload_conf()`;
  const pids = new Set<number>();
  let most = 0;
  await until(async () => {
    const rows = await sql<{ pid: number; wait_event: string | null }[]>`
      select pid, wait_event from pg_stat_activity where application_name = 'lead-intake heartbeat'`;
    for (const { pid } of rows) pids.add(pid);
    most = Math.max(most, rows.filter(({ wait_event }) => wait_event === "SyncRep").length);
    return pids.size >= 6;
  }, { deadlineMs: 30_000, what: "five beats were given up" });
  assert.equal(heartbeat.writable, false);
  // A cancelled one may still be ending.
  assert.ok(most <= 2, `${most} at once`);
  await sql.unsafe("alter system set synchronous_standby_names = ''");
  await sql`select pg_reload_conf()`;
  await until(() => heartbeat.writable, { what: "the standby is no longer missed" });
  await close();
});
