import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { connect, createServer } from "node:net";
import { pipeline } from "node:stream";
import { test } from "node:test";
import { promisify } from "node:util";
import { describeError, type Pool, type PoolOptions, Unavailable } from "../../src/store/pool.ts";
import { listen } from "../support/listen.ts";
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

// A failed start, for example, closes the pools with nothing else open.
test("a process that closes its pool runs on while the server is slow to cancel a statement", async () => {
  const url = new URL(databaseUrl);
  const { port, hostname } = url;
  const relay = createServer((client) => {
    client.on("error", () => {}).once("data", (message) => {
      const isCancelRequest = message.readUInt32BE(4) === 80_877_102;
      if (isCancelRequest) return;
      const server = connect(Number(port), hostname);
      server.write(message);
      // Either side may reset its connection.
      pipeline(client, server, client, () => {});
    });
  });
  url.port = String(await listen(relay));
  const program = `
    import { Pool } from "./src/store/pool.ts";
    import { Primary } from "./src/store/primary.ts";
    const primary = new Primary(process.argv[1]);
    const pool = new Pool({ primary, name: "closing", connectionsMax: 2, statementTimeoutMs: 60_000 });
    const statement = pool.run(60_000, (sql) => sql\`select pg_sleep(60)\`).catch((error) => error.message);
    const running = (sql) => sql\`select from pg_stat_activity where query = 'select pg_sleep(60)'\`;
    while ((await pool.run(60_000, running)).length === 0);
    await pool.close();
    console.log(await statement);`;
  const args = ["--input-type=module", "--eval", program, url.href];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  assert.equal(stdout, "the connection was discarded\n");
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
