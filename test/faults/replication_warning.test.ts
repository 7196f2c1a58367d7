/** Tests a cancelled wait for a synchronous standby, which PostgreSQL reports as success with a WARNING. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { fixture, storeWritable } from "../support/faults/fixture.ts";
import { withSql } from "../support/database.ts";

const { apiKey, databaseUrl, history, proxy, servers } = await fixture({ proxy: true, servers: 2 });

function setStandby(name: string): Promise<void> {
  return withSql(databaseUrl, async (sql) => {
    await sql.unsafe(`alter system set synchronous_standby_names = '${name}'`);
    await sql`select pg_reload_conf()`;
  });
}

/** Returns the pid of the commit that waits for a standby. */
function waitingCommit(): Promise<number> {
  return withSql(databaseUrl, (sql) =>
    until(async () => {
      const [row] = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity
        where application_name = 'lead-intake commit' and wait_event = 'SyncRep'`;
      return row?.pid;
    }, { what: "a commit waits for the standby" }));
}

test("a commit with a replication WARNING gets 503, and its retry gets 200 only when no standby is missing", async (t) => {
  const [first, second] = servers;
  assert.ok(first && second);
  const idempotencyKey = "unreplicated";
  const body = '{"first_name":"Ada","last_name":"Lovelace","phone":"5551234567"}';
  const request = { apiKey: apiKey.text, idempotencyKey, body };

  // Both are sent before the heartbeats notice the missing standby.
  let made = proxy.injectFault({ place: "before_execute", how: "halt" });
  const answer = history.post(first.url, request);
  const halted = await made;
  made = proxy.injectFault({ place: "before_execute", how: "halt" });
  const retry = history.post(second.url, request);
  const retryHalted = await made;
  await setStandby("missing");
  await Promise.all([first, second].map(({ url }) => storeWritable(url, false, 3_000)));

  halted.release();
  const pid = await waitingCommit();
  await withSql(databaseUrl, (sql) => sql`select pg_cancel_backend(${pid})`);
  assert.equal((await answer).kind, "not_accepting", "the commit with the warning");
  await until(() => first.logs.some((line) => line.event === "commit_warning"), {
    what: "the warning is logged",
  });
  const stored = await withSql(
    databaseUrl,
    (sql) => sql`select event_id from event where idempotency_key = ${idempotencyKey}`,
  );
  assert.equal(stored.length, 1, "stored on the primary alone");

  retryHalted.release();
  await waitingCommit();
  await setStandby("");
  const healedMs = await storeWritable(first.url, true, 3_000);
  assert.deepEqual(await retry, { kind: "duplicate", eventId: stored[0]?.event_id });
  t.diagnostic(`store_writable ${Math.round(healedMs)} ms after the standby was given up`);
  await history.check(databaseUrl);
});

test("a WARNING at the start of a connection does not refuse its first lead", async () => {
  const [first] = servers;
  assert.ok(first);
  // PostgreSQL warns about this on every new connection, as after an OS upgrade.
  await withSql(
    databaseUrl,
    (sql) =>
      sql`update pg_database set datcollversion = 'of another system' where datname = current_database()`,
  );
  await proxy.cut();
  await until(() => proxy.connections > 0, { what: "a heartbeat has connected again" });
  const body = '{"first_name":"Grace","last_name":"Hopper","phone":"5551234567"}';
  const outcome = await history.post(first.url, { apiKey: apiKey.text, idempotencyKey: "collation", body });
  assert.equal(outcome.kind, "accepted");
  await history.check(databaseUrl);
});
