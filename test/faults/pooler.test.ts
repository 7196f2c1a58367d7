/** Tests the service behind PgBouncer in transaction mode, where session settings do not persist. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { asService, ownPostgres, withSql } from "../support/database.ts";
import { get, post } from "../support/client.ts";
import { ctl, runCtl, runToEnd, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { atEnd } from "../support/at_end.ts";
import { DeliveryHistory } from "../support/faults/delivery_history.ts";
import { History } from "../support/faults/history.ts";
import { leadBody, Load } from "../support/faults/load.ts";
import { startPooler } from "../support/faults/pooler.ts";
import { randomOf } from "../support/faults/random.ts";
import { storeWritable } from "../support/faults/fixture.ts";
import { Tier } from "../support/faults/tier.ts";
import { raisedLimits } from "../support/test_env.ts";

const { server: database, url } = await ownPostgres();
const superuser = new URL(url);
const logins = { [superuser.username]: superuser.password, test_service: "test_service" };
const pooler = await startPooler(database.port, logins);
const pooled = pooler.through(asService(url));
const onOwner = { databaseUrl: pooler.through(url) };

await ctl(["tenant", "add", "acme"], onOwner);
await ctl(["tenant", "route", "acme", "--crm-url", "https://127.0.0.1/hook"], onOwner);
const { key } = await ctl(["key", "issue", "acme", "--label", "load"], onOwner);
const tier = await Tier.open();
const history = new History();
const env = {
  ...raisedLimits,
  ACTIONS_URL: tier.url,
  DELIVERY_POLL_MS: "200",
  DELIVERY_BACKOFF_BASE_MS: "100",
  DELIVERY_SEND_TIMEOUT_MS: "3000",
  DELIVERY_LEASE_MS: "5000",
};
const server = await startServer({ databaseUrl: pooled, env });
atEnd(() =>
  assert.deepEqual(server.logs.filter(({ event }) => event === "fault" || event === "uncaught"), [])
);
atEnd(() => server.stop());
const admin = <T>(statement: string) =>
  withSql(url, async (sql) => [...await sql.unsafe(statement)] as unknown as T[]);
const ofService = "usename = 'test_service' and pid <> pg_backend_pid()";

test("killing backends and PgBouncer under load loses and doubles nothing", async (t) => {
  const deliveries = new DeliveryHistory({ databaseUrl: url, intake: history, tier, mayLoseClaims: true });
  const load = new Load(t, {
    history,
    chance: randomOf(t),
    apiKeys: [key],
    clients: 8,
    intakeUrls: () => [server.url],
  });
  await load.accepted(50);
  for (let round = 0; round < 5; round += 1) {
    await deliveries.kill("postgres", {
      end: () =>
        // Waits until they have ended, because a claim may be committing.
        admin(`select pg_terminate_backend(pid, 30000) from pg_stat_activity where ${ofService}`).then(
          () => {},
        ),
      begin: () => pooler.command("reconnect"),
    });
    await load.accepted(20);
  }
  await deliveries.kill("postgres", {
    end: () => pooler.kill(),
    begin: async () => {
      await storeWritable(server.url, false, 20_000);
      await pooler.start();
    },
  });
  const againMs = await storeWritable(server.url, true, 20_000);
  await load.accepted(50);
  await load.stop();
  await until(async () => (await admin("select from outbox")).length === 0, { what: "all is delivered" });
  await deliveries.check();
  assert.equal(history.count("refused"), 0);
  t.diagnostic(`writable ${Math.round(againMs)} ms after PgBouncer; ${history.summary()}`);
});

test("console, search, report and jobs work through PgBouncer, and no setting leaks into its sessions", async () => {
  for (const path of ["/", "/leads", "/v1/leads", "/v1/report", "/metrics"]) {
    // A connection that died with PgBouncer can fail the first read.
    await until(async () => (await get(`${server.urls.ops}${path}`)).status === 200, { what: path });
  }
  assert.equal((await post(`${server.url}/v1/intake`, { key, body: { phone: "1" } })).status, 422);
  await until(async () => (await admin("select from refusal_total")).length > 0, {
    what: "the totals are written",
  });
  const { stdout } = await runCtl(["lead", "list", "--limit", "1", "--json"], onOwner);
  assert.match(stdout, /"eventId"|"event_id"/);
  const [session] = await withSql(pooler.through(asService(url)).replace(/\?.*/, ""), (sql) =>
    sql.unsafe(`
      select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
        current_setting('synchronous_commit') as commit
    `));
  assert.deepEqual({ ...session }, { statement: "0", lock: "0", commit: "on" });
});

test("a role with synchronous_commit off still waits for the standby and leaks no connection", async () => {
  await admin("alter role test_service set synchronous_commit = off");
  await pooler.command("reconnect");
  await storeWritable(server.url, true, 20_000);
  await admin("alter system set synchronous_standby_names = 'missing'");
  await admin("select pg_reload_conf()");
  const backends = async () =>
    (await admin(`select from pg_stat_activity where wait_event = 'SyncRep'`)).length;
  // Takes effect a moment later; heartbeats are commits too.
  await until(async () => await backends() > 0, { what: "a commit waits for the standby", intervalMs: 5 });
  const body = leadBody({ below: () => 0, oneIn: () => false, pick: ([first]) => first as never }, 7);
  const outcome = await history.post(server.url, { apiKey: key, idempotencyKey: "alone", body });
  assert.equal(outcome.kind, "not_accepting");
  await storeWritable(server.url, false, 20_000);
  // Each heartbeat is cancelled; without that it would wait forever.
  let most = 0;
  const startMs = performance.now();
  await until(async () => {
    most = Math.max(most, await backends());
    return performance.now() - startMs > 8_000;
  }, { what: "several heartbeats were given up", intervalMs: 100 });
  assert.ok(most >= 1 && most <= 4, `${most} backends wait at once`);
  await admin("alter system reset synchronous_standby_names");
  await admin("select pg_reload_conf()");
  await storeWritable(server.url, true, 20_000);
  await admin("alter role test_service reset synchronous_commit");
  assert.equal(
    (await history.post(server.url, { apiKey: key, idempotencyKey: "alone", body })).kind !== "not_accepting",
    true,
  );
});

test("an address that lacks pooler=transaction, a migration through a pooler and a wrong isolation level are refused", async () => {
  const silently = pooled.replace(/\?.*/, "");
  const refused = await runToEnd("src/main.ts", [], { databaseUrl: silently });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /DATABASE_URL is the URL of a pooler.*add \?pooler=transaction/);

  const ignoring = await startPooler(database.port, logins, {
    ignore_startup_parameters:
      "synchronous_commit,default_transaction_isolation,statement_timeout,lock_timeout,jit,client_connection_check_interval",
  });
  const dropped = await runToEnd("src/main.ts", [], {
    databaseUrl: ignoring.through(asService(url)).replace(/\?.*/, ""),
  });
  assert.equal(dropped.code, 2);
  assert.match(dropped.stderr, /connection settings have no effect.*\?pooler=transaction/);

  const migration = await runToEnd("scripts/migrate.ts", [], onOwner);
  assert.notEqual(migration.code, 0);
  assert.match(migration.stderr, /A migration needs a database URL without a pooler/);

  await admin("alter role test_service set default_transaction_isolation = 'repeatable read'");
  await pooler.command("reconnect");
  const isolated = await runToEnd("src/main.ts", [], { databaseUrl: pooled });
  assert.match(isolated.stderr, /default_transaction_isolation is repeatable read/);
  await admin("alter role test_service reset default_transaction_isolation");
  await pooler.command("reconnect");
});
