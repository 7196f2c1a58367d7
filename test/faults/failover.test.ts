/** Tests promoting a standby while the old primary survives as a replica or read-only. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { isSkipped } from "../../scripts/test_plan.ts";
import { post } from "../support/client.ts";
import { type OwnPostgres, ownPostgres, withSql } from "../support/database.ts";
import { ctl, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { DeliveryHistory } from "../support/faults/delivery_history.ts";
import { History } from "../support/faults/history.ts";
import { leadBody, Load } from "../support/faults/load.ts";
import { openProxy } from "../support/faults/postgres_proxy.ts";
import { randomOf } from "../support/faults/random.ts";
import { storeWritable } from "../support/faults/fixture.ts";
import { connectionTo, makeReplica, type Standby, startStandby } from "../support/faults/standby.ts";
import { Tier } from "../support/faults/tier.ts";
import { raisedLimits } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";

/** A primary and its standby under one address. */
interface Pair {
  readonly primary: OwnPostgres;
  readonly standby: Standby;
  /** The service's database URL. */
  readonly address: string;
  readonly hostsFile?: string;
  /** Moves the address to the standby. */
  readonly move: () => void;
  /** The database URL on the standby. */
  readonly standbyUrl: string;
}

const env = {
  ...raisedLimits,
  DELIVERY_POLL_MS: "200",
  DELIVERY_SEND_TIMEOUT_MS: "8000",
  DELIVERY_LEASE_MS: "9000",
  DELIVERY_BACKOFF_BASE_MS: "100",
  DELIVERY_BACKOFF_CAP_MS: "1000",
  DELIVERY_ATTEMPTS_MAX: "100",
};
// The promise is two seconds; the test waits for the signal and reports the time.
const generousMs = 20_000;

/** Returns the names of the service's connections to a server. */
function connectionsOn({ url }: { readonly url: string }): Promise<string[]> {
  return withSql(url, async (sql) => {
    const rows = await sql<{ name: string }[]>`
      select application_name as name from pg_stat_activity where application_name like 'lead-intake %'`;
    return rows.map(({ name }) => name);
  });
}

/** Posts and delivers through a failover, and checks that nothing is lost or doubled. */
async function survive(
  t: TestContext,
  pair: Pair,
  failOver: (service: { readonly url: string; readonly key: string }) => Promise<void>,
) {
  const { primary, standby, standbyUrl } = pair;
  const tier = await Tier.open();
  const databaseUrl = primary.url;
  await ctl(["tenant", "add", "acme"], { databaseUrl });
  await ctl(["tenant", "route", "acme", "--crm-url", "https://127.0.0.1/hook"], { databaseUrl });
  const { key } = await ctl(["key", "issue", "acme", "--label", "load"], { databaseUrl });
  const server = await startServer({
    databaseUrl: pair.address,
    env: { ...env, ACTIONS_URL: tier.url },
    runtime: "node",
    ...(pair.hostsFile === undefined ? {} : { hostsFile: pair.hostsFile }),
  });
  t.after(() => server.kill());
  const history = new History();
  const deliveries = new DeliveryHistory({ databaseUrl: standbyUrl, intake: history, tier });
  const intakeUrls = () => [server.url];
  const chance = randomOf(t);
  const load = new Load(t, { history, chance, apiKeys: [key], intakeUrls, clients: 8 });
  await load.accepted(50);

  await deliveries.kill("postgres", {
    end: () => failOver({ url: server.url, key }),
    begin: () => standby.promote(),
  });
  await storeWritable(server.url, false, generousMs);
  const refused = await history.post(server.url, {
    apiKey: key,
    idempotencyKey: history.freshKey("known"),
    body: leadBody(chance, 1),
  });
  assert.equal(refused.kind, "not_accepting", "the old primary accepts no leads");
  pair.move();
  const movedAtMs = performance.now();
  await until(async () => {
    const idempotencyKey = history.freshKey("moved");
    const request = { apiKey: key, idempotencyKey, body: leadBody(chance, 1) };
    return (await history.post(server.url, request)).kind === "accepted";
  }, { deadlineMs: generousMs, what: "leads are accepted again" });
  const acceptingMs = performance.now() - movedAtMs;
  await load.accepted(50);
  await load.stop();
  await until(async () => assert.deepEqual(await connectionsOn(primary.server), []) ?? true, {
    deadlineMs: generousMs,
    what: "no connection of any kind is left on the old primary",
  });
  const outbox = () =>
    withSql(standbyUrl, async (sql) => (await sql`select count(*)::int as n from outbox`)[0]?.n);
  await until(async () => await outbox() === 0, { deadlineMs: 60_000, what: "everything is delivered" });
  await deliveries.check();
  t.diagnostic(
    `accepting ${Math.round(acceptingMs)} ms after the address had moved; ${history.summary()}`,
  );
  assert.equal(history.count("refused") + history.count("no_answer"), 0);
  assert.deepEqual(server.logs.filter(({ event }) => event === "fault" || event === "uncaught"), []);
}

test("when a standby is promoted and the old primary becomes its replica, nothing is lost or doubled", async (t) => {
  const primary = await ownPostgres();
  const standby = await startStandby(primary.server);
  const proxy = await openProxy(primary.server.port);
  const standbyUrl = onPort(primary.url, standby.server.port);
  const address = proxy.databaseUrl(primary.url);
  const move = () => proxy.targetPort = standby.server.port;
  await survive(t, { primary, standby, address, move, standbyUrl }, async ({ url, key }) => {
    const { server } = primary;
    await withSql(
      server.url,
      (sql) => sql.unsafe(`alter system set primary_conninfo = '${connectionTo(standby.server)}'`),
    );
    // A regular shutdown first sends everything to the standby.
    server.kill("SIGINT");
    await server.ended;
    makeReplica(server.dataFolder);
    await server.restart();
    await until(() => connectionsOn(server).then((names) => names.includes("lead-intake listen")), {
      deadlineMs: generousMs,
      what: "the service has found the replica",
    });
    const { status } = await post(`${url}/v1/intake`, { key, body: {} });
    assert.equal(status, 503, "a replica may not have a key's revocation yet");
  });
});

// Replaces /etc/hosts for the service, which requires root.
if (!isSkipped("test/faults/failover: another address")) {
  test("when the store's name moves to a standby and the old primary is read-only, the name is resolved again", async (t) => {
    const folder = temporaryFolder("hosts");
    const hostsFile = join(folder, "hosts");
    const pointTo = (address: string) =>
      writeFileSync(hostsFile, `${readFileSync("/etc/hosts", "utf8")}\n${address} store.test\n`);
    const primary = await ownPostgres();
    // The same port on another address, so that only the name differs.
    const standby = await startStandby(primary.server, "127.0.0.2");
    pointTo("127.0.0.1");
    const pair: Pair = {
      primary,
      standby,
      hostsFile,
      address: onHost(primary.url, "store.test"),
      move: () => pointTo("127.0.0.2"),
      standbyUrl: onHost(primary.url, "127.0.0.2"),
    };
    await survive(t, pair, async () => {
      await withSql(primary.server.url, async (sql) => {
        await sql`alter system set default_transaction_read_only = on`;
        await sql`select pg_reload_conf()`;
      });
      // Takes effect a moment later for new connections; existing ones are terminated.
      const isHeld = () =>
        withSql(
          primary.server.url,
          async (sql) =>
            (await sql`select current_setting('default_transaction_read_only') as held`)[0]?.held === "on",
        );
      await until(isHeld, { what: "the old primary is held to reading" });
      await withSql(primary.server.url, (sql) =>
        sql`
          select pg_terminate_backend(pid, 30000) from pg_stat_activity
          where application_name like 'lead-intake %'`);
      await standby.caughtUp();
    });
  });
}

function onPort(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.port = String(port);
  return url.href;
}

function onHost(databaseUrl: string, host: string): string {
  const url = new URL(databaseUrl);
  url.hostname = host;
  return url.href;
}
