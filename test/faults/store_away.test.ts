/**
 * Tests PostgreSQL killed, stopped, read-only or out of connection slots, under load: 503 within 10 s,
 * `store_writable` false within 2 s, and accepting again within 2 s of the recovery. `npm run prove` also fills its disk.
 */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import connect from "postgres";
import { until } from "../support/until.ts";
import { leadBody, Load } from "../support/faults/load.ts";
import { type Random, randomOf } from "../support/faults/random.ts";
import { fixture, storeWritable } from "../support/faults/fixture.ts";
import { withSql } from "../support/database.ts";

// Slack for a busy machine.
const slackMs = 5_000;
const unwritableWithinMs = 2_000 + slackMs;
const healedWithinMs = 2_000 + slackMs;
const refusedWithinMs = 10_000 + slackMs;
// While the store is known to be unwritable, no request waits until its commit is abandoned (9.5 s).
const failFastMs = 5_000;

const settings = { max_connections: 12, superuser_reserved_connections: 0 };
const { apiKey, databaseUrl, history, intakeUrls, postgres, proxy, server } = await fixture({
  proxy: true,
  settings,
});

// Another database, whose connections keep the server's defaults.
const maintenanceUrl = postgres.server.url;
const databaseName = new URL(databaseUrl).pathname.slice(1);

interface Outage {
  readonly chance: Random;
  readonly breakIt: () => Promise<void> | void;
  /** Runs while the store is known to be unwritable. */
  readonly meanwhile?: () => Promise<void>;
  readonly healIt: () => Promise<void> | void;
}

/** Asserts that posts get 503 at once. */
async function refusedAtOnce(chance: Random): Promise<void> {
  for (let n = 1; n <= 20; n++) {
    const idempotencyKey = history.freshKey("known");
    const sentAtMs = performance.now();
    const outcome = await history.post(server.url, {
      apiKey: apiKey.text,
      idempotencyKey,
      body: leadBody(chance, n),
    });
    assert.equal(outcome.kind, "not_accepting");
    assert.ok(performance.now() - sentAtMs < failFastMs, "503 at once while the store is unwritable");
  }
}

/** Breaks the store under load, repairs it, and checks the times and the stored leads. */
async function survive(t: TestContext, outage: Outage): Promise<void> {
  const first = history.entries.length;
  const load = new Load(t, {
    history,
    chance: outage.chance,
    apiKeys: [apiKey.text],
    intakeUrls,
    clients: 8,
  });
  await load.accepted(50);

  let isHealed = false;
  t.after(() => isHealed ? undefined : outage.healIt());
  await outage.breakIt();
  const falseMs = await storeWritable(server.url, false, unwritableWithinMs);
  await refusedAtOnce(outage.chance);
  if (outage.meanwhile !== undefined) {
    await outage.meanwhile();
    await refusedAtOnce(outage.chance);
  }

  await outage.healIt();
  isHealed = true;
  const healedAtMs = performance.now();
  await storeWritable(server.url, true, healedWithinMs);
  await until(async () => {
    const idempotencyKey = history.freshKey("healed");
    const request = { apiKey: apiKey.text, idempotencyKey, body: leadBody(outage.chance, 1) };
    return (await history.post(server.url, request)).kind === "accepted";
  }, { deadlineMs: healedAtMs + healedWithinMs - performance.now(), what: "a lead is accepted again" });
  const healedMs = performance.now() - healedAtMs;

  await load.accepted(50);
  await load.stop();
  const slowest = history.entries.slice(first).reduce((a, b) => a.durationMs > b.durationMs ? a : b);
  t.diagnostic(
    `store_writable false after ${Math.round(falseMs)} ms; accepting ${Math.round(healedMs)} ms after the ` +
      `healing; slowest answer ${slowest.outcome?.kind} after ${Math.round(slowest.durationMs)} ms; ${
        history.summary(first)
      }`,
  );
  assert.ok(slowest.durationMs < refusedWithinMs, "every response arrived within 10 s");
  assert.equal(history.count("no_answer", first), 0, "every request was answered");
  assert.equal(history.count("refused", first), 0, "every refusal was 503");
  await history.check(databaseUrl);
}

test("recovers after PostgreSQL is killed and restarted", async (t) => {
  await survive(t, {
    chance: randomOf(t),
    breakIt: () => postgres.server.kill("SIGKILL"),
    healIt: () => postgres.server.restart(),
  });
});

test("recovers after PostgreSQL is stopped with SIGSTOP for longer than the commit's deadline", async (t) => {
  await survive(t, {
    chance: randomOf(t),
    breakIt: () => postgres.freeze(),
    meanwhile: () =>
      until(() => history.entries.every((entry) => entry.outcome !== undefined), {
        deadlineMs: refusedWithinMs,
        what: "requests in flight get a response",
      }).then(() => {}),
    healIt: () => postgres.thaw(),
  });
});

test("recovers after the store was read-only", async (t) => {
  const set = (value: "on" | "off") =>
    withSql(databaseUrl, async (sql) => {
      // Otherwise this connection would be read-only too.
      await sql`set transaction_read_only = off`;
      await sql.unsafe(`alter system set default_transaction_read_only = ${value}`);
      await sql`select pg_reload_conf()`;
    });
  await survive(t, { chance: randomOf(t), breakIt: () => set("on"), healIt: () => set("off") });
});

test("replaces connections opened while the store was read-only", async (t) => {
  const set = (text: string) =>
    withSql(maintenanceUrl, (sql) => sql.unsafe(`alter database "${databaseName}" ${text}`)).then(() => {});
  await survive(t, {
    chance: randomOf(t),
    async breakIt() {
      await set("set default_transaction_read_only = on");
      await withSql(maintenanceUrl, (sql) =>
        sql`
        select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'lead-intake %'`);
    },
    healIt: () => set("reset default_transaction_read_only"),
  });
});

test("recovers after every connection slot of PostgreSQL was taken", async (t) => {
  const hog = connect(databaseUrl, { max: 12, onnotice: () => {} });
  t.after(() => hog.end({ timeout: 0 }));
  const taken: connect.ReservedSql[] = [];
  await survive(t, {
    chance: randomOf(t),
    async breakIt() {
      proxy.isAccepting = false;
      await proxy.cut();
      await until(async () => {
        taken.push(await hog.reserve());
        return taken.length === settings.max_connections;
      }, { what: "every slot is taken" });
      proxy.isAccepting = true;
    },
    healIt: () => hog.end({ timeout: 0 }),
  });
});

test("recovers after PostgreSQL is shut down and started again", async (t) => {
  const { server } = postgres;
  await survive(t, {
    chance: randomOf(t),
    async breakIt() {
      server.kill("SIGINT");
      await server.ended;
    },
    healIt: () => server.restart(),
  });
});
