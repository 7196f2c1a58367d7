import assert from "node:assert/strict";
import { test } from "node:test";
import { describeError, type Pool, type PoolOptions, Unavailable } from "../../src/store/pool.ts";
import { openPool } from "../support/pool.ts";
import { openStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const { databaseUrl, sql: admin } = await openStore();

const open = (options: Partial<PoolOptions> = {}) =>
  openPool(databaseUrl, { statementTimeoutMs: 5_000, ...options });

const one = (pool: Pool, deadlineMs = 5_000) =>
  pool.run(deadlineMs, (sql) => sql<{ n: number; pid: number }[]>`select 1 as n, pg_backend_pid() as pid`);

test("a connection sets synchronous_commit, a statement timeout and its name", async () => {
  const [row] = await open({ name: "probe" }).run(5_000, (sql) =>
    sql`
    select current_setting('synchronous_commit') as commit, current_setting('statement_timeout') as timeout,
      current_setting('application_name') as name`);
  assert.deepEqual({ ...row }, { commit: "on", timeout: "5s", name: "lead-intake probe" });
});

test("a statement past its deadline fails as Unavailable on time, and the next one gets a new connection", async () => {
  const pool = open();
  const [before] = await one(pool);
  const startMs = performance.now();
  await assert.rejects(pool.run(150, (sql) => sql`select pg_sleep(4)`), Unavailable);
  const elapsedMs = performance.now() - startMs;
  assert.ok(elapsedMs >= 149, `${elapsedMs} ms`);
  const [afterwards] = await one(pool);
  assert.notEqual(afterwards?.pid, before?.pid);
});

test("statements queued behind an abandoned one are never sent", async () => {
  await admin`create table if not exists sent_late (n int)`;
  const pool = open({ connectionsMax: 1 });
  const slow = pool.run(150, (sql) => sql`select pg_sleep(4)`);
  const late = [1, 2, 3].map((n) => pool.run(600_000, (sql) => sql`insert into sent_late values (${n})`));
  for (const lost of [slow, ...late]) await assert.rejects(lost, Unavailable);
  await until(async () => {
    const busy = await admin`
      select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query ~ 'pg_sleep|sent_late' and state = 'active'`;
    return busy.length === 0;
  });
  assert.equal((await admin`select from sent_late`).length, 0);
});

test("an abandoned statement is cancelled: it releases its locks and does not commit later", async () => {
  const pool = open({ name: "given-up", statementTimeoutMs: 60_000 });
  const holder = await admin.reserve();
  await holder.unsafe("begin; lock table area in share row exclusive mode");
  await assert.rejects(
    pool.run(300, (sql) => sql`insert into area (area, status) values ('late', 'proposed')`),
  );
  // Not the holder: within its transaction the list of backends does not change.
  const backends = () =>
    admin`select from pg_stat_activity where application_name = 'lead-intake given-up' and state = 'active'`;
  await until(async () => (await backends()).length === 0, { what: "its backend is free" });
  await holder`commit`;
  holder.release();
  assert.equal((await admin`select from area where area = 'late'`).length, 0);
});

test("a statement that waits for a lock reports the lock before its deadline and keeps its connection", async () => {
  const pool = open({ statementTimeoutMs: 500 });
  const [before] = await one(pool);
  const holder = await admin.reserve();
  await holder.unsafe("begin; lock table area in access exclusive mode");
  await assert.rejects(
    pool.run(5_000, (sql) => sql`select from area`),
    (error: unknown) => error instanceof Unavailable && /55P03/.test(error.message),
  );
  await holder`commit`;
  holder.release();
  assert.equal((await one(pool))[0]?.pid, before?.pid);
});

test("a warning is reported and its result discarded; a notice has no effect", async () => {
  const warnings: string[] = [];
  const pool = open({ onWarning: (text) => warnings.push(text) });
  await assert.rejects(
    pool.run(5_000, (sql) => sql.unsafe("do $$ begin raise notice 'n'; raise warning 'w'; end $$")),
    Unavailable,
  );
  assert.deepEqual(warnings, ["w"]);
  await pool.run(5_000, (sql) => sql.unsafe("do $$ begin raise notice 'n'; end $$"));
});

test("an error is described by SQLSTATE and constraint, never by the text it quotes", async () => {
  const pool = open();
  await pool.run(5_000, (sql) => sql`insert into tenant (slug, name) values ('secret-slug', 'x')`);
  const error = await pool.run(
    5_000,
    (sql) => sql`insert into tenant (slug, name) values ('secret-slug', 'x')`,
  )
    .then(() => null, (error: unknown) => error);
  const text = describeError(error);
  assert.match(text, /^SQLSTATE 23505 \(tenant_slug_key\)/);
  assert.doesNotMatch(text, /secret/);
  assert.equal(describeError(new Error("secret")), "unexpected error");
  assert.equal(describeError(Object.assign(new Error("secret"), { code: "ECONNREFUSED" })), "ECONNREFUSED");
  assert.equal(describeError(null), "unexpected error");
});
