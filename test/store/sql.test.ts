import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import postgres from "postgres";
import { describeError, Pool, Unavailable } from "../../src/store/sql.ts";
import { createDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

const database = await createDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
const pools: Pool[] = [];
after(async () => {
  await Promise.all(pools.map((pool) => pool.close()));
  await admin.end();
  await database.drop();
});

function open(options: Partial<ConstructorParameters<typeof Pool>[0]> = {}): Pool {
  const pool = new Pool({
    ...{ databaseUrl: database.url, name: "test", connectionsMax: 1, statementTimeoutMs: 5_000 },
    ...options,
  });
  pools.push(pool);
  return pool;
}

const one = (pool: Pool, deadlineMs = 5_000) =>
  pool.run(deadlineMs, (sql) => sql<{ n: number; pid: number }[]>`select 1 as n, pg_backend_pid() as pid`);

test("a statement returns its rows", async () => {
  const [row] = await one(open());
  assert.equal(row?.n, 1);
});

test("the connection sets synchronous_commit, a statement timeout and its name", async () => {
  const [row] = await open({ name: "probe" }).run(5_000, (sql) =>
    sql`
    select current_setting('synchronous_commit') as commit, current_setting('statement_timeout') as timeout,
      current_setting('application_name') as name`);
  assert.deepEqual({ ...row }, { commit: "on", timeout: "5s", name: "lead-intake probe" });
});

test("what the server refuses is a PostgresError, and the pool goes on", async () => {
  const pool = open();
  await assert.rejects(
    pool.run(5_000, (sql) => sql`select 1 / 0`),
    (error: unknown) => error instanceof postgres.PostgresError && error.code === "22012",
  );
  assert.equal((await one(pool))[0]?.n, 1);
});

test("a statement past its deadline is Unavailable on time, and the next one gets a new connection", async () => {
  const pool = open();
  const [before] = await one(pool);
  const startMs = performance.now();
  await assert.rejects(pool.run(150, (sql) => sql`select pg_sleep(4)`), Unavailable);
  const elapsedMs = performance.now() - startMs;
  assert.ok(elapsedMs >= 149 && elapsedMs < 1_000, `${elapsedMs} ms`);
  const [afterwards] = await one(pool);
  assert.notEqual(afterwards?.pid, before?.pid);
});

test("what waits behind a statement past its deadline fails with it instead of waiting on", async () => {
  const pool = open();
  const slow = pool.run(150, (sql) => sql`select pg_sleep(4)`);
  const behind = one(pool, 4_000);
  const startMs = performance.now();
  await assert.rejects(slow, Unavailable);
  await assert.rejects(behind, Unavailable);
  assert.ok(performance.now() - startMs < 1_000);
});

test("the server gives up a statement that is longer than the statement timeout", async () => {
  const pool = open({ statementTimeoutMs: 100 });
  await assert.rejects(pool.run(5_000, (sql) => sql`select pg_sleep(4)`), /57014/);
});

test("a killed connection is Unavailable, and the next statements find another one, again and again", async () => {
  const pool = open();
  for (let round = 0; round < 5; round += 1) {
    const [row] = await until(() => one(pool), { deadlineMs: 2_000 });
    const slow = pool.run(5_000, (sql) => sql`select pg_sleep(4)`);
    const failed = assert.rejects(slow, Unavailable);
    await admin`select pg_terminate_backend(${row?.pid as number})`;
    await failed;
  }
  assert.equal((await until(() => one(pool), { deadlineMs: 2_000 }))[0]?.n, 1);
});

test("a server that accepts and says nothing is Unavailable within the deadline", async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  await new Promise<void>((settle) => silent.listen(0, "127.0.0.1", settle));
  const { port } = silent.address() as { port: number };
  const pool = open({ databaseUrl: `postgres://u:p@127.0.0.1:${port}/d` });
  const startMs = performance.now();
  await assert.rejects(one(pool, 300), Unavailable);
  assert.ok(performance.now() - startMs < 1_000);
  for (const socket of sockets) socket.destroy();
  silent.close();
});

test("nobody listening is Unavailable", async () => {
  await assert.rejects(one(open({ databaseUrl: "postgres://u:p@127.0.0.1:1/d" }), 2_000), Unavailable);
});

test("read-only is Unavailable: it is the store that does not write, not the statement that is wrong", async () => {
  const pool = open();
  await pool.run(5_000, (sql) => sql`set default_transaction_read_only = on`);
  const statement = pool.run(5_000, (sql) => sql`insert into area (area, status) values ('x', 'proposed')`);
  await assert.rejects(
    statement,
    (error: unknown) => error instanceof Unavailable && /25006/.test(error.message),
  );
});

test("leaveStuck leaves old statements behind and young ones alone", async () => {
  const pool = open();
  const slow = pool.run(5_000, (sql) => sql`select pg_sleep(4)`);
  const failed = assert.rejects(slow, Unavailable);
  pool.leaveStuck(3_000);
  await until(async () => {
    const [row] = await admin`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and query like 'select pg_sleep%' and state = 'active'`;
    return row?.count > 0;
  });
  pool.leaveStuck(0);
  await failed;
  assert.equal((await one(pool))[0]?.n, 1);
});

test("a warning is told, a notice is not", async () => {
  const warnings: string[] = [];
  const pool = open({ onWarning: (text) => warnings.push(text) });
  await pool.run(5_000, (sql) => sql.unsafe("do $$ begin raise notice 'n'; raise warning 'w'; end $$"));
  assert.deepEqual(warnings, ["w"]);
});

test("a closed pool is Unavailable at once", async () => {
  const pool = open();
  await one(pool);
  await pool.close();
  await assert.rejects(one(pool), Unavailable);
});

test("an error is described by its SQLSTATE and constraint, never by what it quotes", async () => {
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
