/** Tests delivery over the wire, with a real database and a scripted actions tier. */

import assert from "node:assert/strict";
import test, { before, beforeEach } from "node:test";
import { readEvents } from "../../src/store/operator/events.ts";
import { snakeCased } from "../../src/store/operator/snake_case.ts";
import type { Pool } from "../../src/store/pool.ts";
import { openPool } from "../support/pool.ts";
import { type IssuedKey, type Tenant, TestEnv } from "../support/test_env.ts";
import { get } from "../support/client.ts";
import { ctl, type RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { Tier } from "../support/faults/tier.ts";

let testEnv: TestEnv;
let tier: Tier;
let server: RunningServer;
let pool: Pool;

/** Short delays, so that a test sees in a second what takes days. */
const quick = {
  DELIVERY_BACKOFF_BASE_MS: "20",
  DELIVERY_BACKOFF_CAP_MS: "100",
  DELIVERY_ATTEMPTS_MAX: "3",
  DELIVERY_SEND_TIMEOUT_MS: "8000",
  DELIVERY_LEASE_MS: "9000",
  // Notifications must wake the loop, not the poll.
  DELIVERY_POLL_MS: "60000",
};

before(async () => {
  testEnv = await TestEnv.open();
  pool = openPool(testEnv.database.url);
  tier = await Tier.open();
  server = await testEnv.start({ ...quick, ACTIONS_URL: tier.url });
});
beforeEach(() => {
  tier.answer = () => ({ status: 200 });
});

async function routed(): Promise<IssuedKey> {
  const key = await testEnv.issue();
  await route(key.tenant);
  return key;
}

async function route(tenant: Tenant): Promise<void> {
  await testEnv.sql`
    insert into actions.route (tenant_id, kind, address) values (${tenant.id}, 'email', 'leads@example.com')`;
}

const accept = (key: IssuedKey, members = {}, to = server) => testEnv.accept(key, members, to);

interface Delivery {
  readonly state: string;
  readonly attempts: readonly {
    readonly number: number;
    readonly outcome: string;
    readonly status: number | null;
    readonly spent: boolean;
  }[];
}

// As `ctl lead show` prints it, without starting a process.
async function deliveryOf(eventId: string): Promise<Delivery> {
  const [event] = await readEvents(pool, [eventId]);
  assert.ok(event);
  return snakeCased(event.delivery) as unknown as Delivery;
}

async function untilState(eventId: string, state: string): Promise<Delivery> {
  await until(async () => (await deliveryOf(eventId)).state === state, { what: `${eventId} is ${state}` });
  return await deliveryOf(eventId);
}

/** Runs `work` with a further server. */
async function onAnotherNode<T>(
  env: Record<string, string>,
  work: (node: RunningServer) => Promise<T>,
): Promise<T> {
  const node = await testEnv.start({ ...quick, ...env });
  try {
    return await work(node);
  } finally {
    await node.stop();
  }
}

test("an accepted lead is sent to PUT /v1/events/{event_id} as accepted, and is delivered", async () => {
  const key = await routed();
  const eventId = await accept(key, { phone: "555.123.4567", cost: 1.005, big: 1 });
  const [request] = await tier.until(eventId);
  assert.equal(request?.method, "PUT");
  const shown = await ctl(["lead", "show", eventId], { databaseUrl: testEnv.database.url });
  const { attempt, lead: sent, ...rest } = request?.body;
  assert.equal(attempt, 1);
  assert.deepEqual(sent, shown.lead);
  assert.deepEqual(rest, {
    event_id: eventId,
    kind: "lead",
    tenant: key.tenant.slug,
    source: key.label,
    campaign: null,
    received_at: shown.received_at,
    extra: { big: 1 },
    flags: ["extra_fields_preserved"],
  });
  const { attempts } = await untilState(eventId, "delivered");
  assert.deepEqual(attempts.map(({ number, outcome, status, spent }) => [number, outcome, status, spent]), [
    [1, "delivered", 200, true],
  ]);
});

test("a 424 spends an attempt, is retried, and never trips the breaker", async () => {
  const key = await routed();
  tier.answer = (request) =>
    request.body.attempt < 3
      ? { status: 424, text: '{"error":"effects_failed","effects":{"crm":"failed: 500","email":"done"}}' }
      : { status: 200 };
  const eventId = await accept(key);
  const { attempts } = await untilState(eventId, "delivered");
  assert.deepEqual(attempts.map(({ outcome, status, spent }) => [outcome, status, spent]), [
    ["refused", 424, true],
    ["refused", 424, true],
    ["delivered", 200, true],
  ]);
  assert.deepEqual(server.logs.filter((line) => line.event === "breaker" && line.state === "open"), []);
});

test("a replayed lead is sent at once, is dead again if refused, and keeps every attempt", async () => {
  const key = await routed();
  tier.answer = () => ({ status: 424 });
  const eventId = await accept(key);
  await untilState(eventId, "dead");
  await ctl(["dead", "replay", eventId], { databaseUrl: testEnv.database.url });
  await tier.until(eventId, 4);
  const again = await untilState(eventId, "dead");
  assert.equal(again.attempts.length, 4);
  tier.answer = () => ({ status: 200 });
  await ctl(["dead", "replay", eventId], { databaseUrl: testEnv.database.url });
  const { attempts } = await untilState(eventId, "delivered");
  assert.deepEqual(attempts.map(({ number, outcome }) => [number, outcome]), [
    [1, "refused"],
    [2, "refused"],
    [3, "refused"],
    [4, "refused"],
    [5, "delivered"],
  ]);
});

const breakerOf = (node: RunningServer) =>
  node.logs.filter(({ event }) => event === "breaker").map(({ state, cause, code }) =>
    [state, cause, code].filter((word) => word !== undefined).join(" ")
  );

test("one lead to a stopped tier opens the breaker at once, and the console shows the cause", async () => {
  const key = await routed();
  await server.stop();
  server = await testEnv.start({ ...quick, ACTIONS_URL: tier.url, DELIVERY_ATTEMPTS_MAX: "1" });
  await untilState(await accept(key), "delivered");
  await tier.down();
  const acceptedAtMs = performance.now();
  const eventId = await accept(key);
  await until(() => breakerOf(server).length === 1, { what: "the breaker opens", intervalMs: 2 });
  const tookMs = performance.now() - acceptedAtMs;
  // The idle probe would take ten seconds.
  assert.ok(tookMs < 5_000, `${tookMs} ms`);
  const { text } = await get(`${server.urls.ops}/`);
  assert.match(text, /The actions tier has not responded<\/strong> for .*nothing listens at ACTIONS_URL/);
  assert.match(text, /<dt>Actions tier<\/dt><dd>does not respond<small>.*ECONNREFUSED.*last response/);
  // The lead is released shortly after the breaker opens.
  const row = await until(async () => {
    const [found] = await testEnv.sql<{ spent: number; made: number; reason: string | null }[]>`
      select spent, made, reason from outbox where event_id = ${eventId}`;
    return found?.reason !== null && found;
  }, { what: "the lead is released" });
  assert.deepEqual({ ...row }, { spent: 0, made: 0, reason: "tier_away" });
  assert.deepEqual((await deliveryOf(eventId)).attempts, []);
  const metrics = await get(`${server.urls.ops}/metrics`);
  assert.match(metrics.text, /^lead_tier_failures_total\{cause="refused"\} [1-9]/m);
  assert.match(metrics.text, /^lead_tier_away_seconds (?!0$)/m);
  assert.match(metrics.text, /^lead_tier_last_answer_age_seconds \d/m);
  await tier.up();
  await untilState(eventId, "delivered");
});

test("a 503 opens the breaker and spends no attempt", async () => {
  const key = await routed();
  await server.stop();
  server = await testEnv.start({ ...quick, ACTIONS_URL: tier.url, DELIVERY_ATTEMPTS_MAX: "1" });
  tier.answer = () => ({ status: 503, text: '{"error":"unavailable"}' });
  const ids = await Promise.all(Array.from({ length: 8 }, () => accept(key)));
  await until(() => breakerOf(server).at(-1) === "open unavailable 503", { what: "the breaker opens" });
  const before = tier.requests.length;
  await until(() => tier.requests.length > before + 1, { what: "one event after the other is tried" });
  tier.answer = () => ({ status: 200 });
  for (const eventId of ids) {
    const { attempts } = await untilState(eventId, "delivered");
    assert.ok(
      attempts.slice(0, -1).every(({ outcome, status, spent }) =>
        outcome === "unreachable" && status === 503 && !spent
      ),
    );
  }
});

test("three cut connections in a row open the breaker and spend attempts, and an event that is always cut dies once another is delivered", async () => {
  const [killing, healthy] = [await routed(), await routed()];
  await server.stop();
  server = await testEnv.start({ ...quick, ACTIONS_URL: tier.url, DELIVERY_ATTEMPTS_MAX: "4" });
  tier.answer = (request) => request.body.tenant === killing.tenant.slug ? "cut" : { status: 200 };
  const poison = await accept(killing);
  await until(() => breakerOf(server).join() === "open closed ECONNRESET", { what: "the breaker opens" });
  await until(async () => (await deliveryOf(poison)).attempts.length > 4, {
    what: "it is tried while half open",
  });
  await untilState(await accept(healthy), "delivered");
  await until(() => breakerOf(server).length > 1, { what: "the breaker changes its state" });
  assert.equal(breakerOf(server)[1], "closed");
  const { attempts } = await untilState(poison, "dead");
  assert.ok(attempts.every(({ outcome }) => outcome === "unreachable"));
  assert.equal(attempts.filter(({ spent }) => spent).length, 4);
  assert.deepEqual(attempts.slice(0, 4).map(({ spent }) => spent), [true, true, true, false]);
});

test("an event whose email fails while its CRM waits is not dead after the last attempt", async () => {
  const key = await routed();
  const [waits, fails] = ["waiting: crm_unauthorized", "failed: smtp_deferred_451"];
  const reply = (crm: string) => ({
    status: 424,
    text: JSON.stringify({ error: "effects_failed", effects: { crm, email: fails } }),
  });
  tier.answer = () => reply(waits);
  const eventId = await accept(key);
  await until(async () => (await deliveryOf(eventId)).attempts.length > 5);
  const [row] = await testEnv.sql`select reason from outbox where event_id = ${eventId}`;
  assert.equal(row?.reason, `crm ${waits}; email ${fails}`);
  tier.answer = () => reply("done");
  await untilState(eventId, "dead");
});

test("a replay is not dead because the CRM refuses credentials that it accepted for another lead", async () => {
  const key = await routed();
  tier.answer = () => ({
    status: 424,
    text: '{"error":"effects_refused","effects":{"crm":"failed: http_400"}}',
  });
  const eventId = await accept(key);
  await untilState(eventId, "dead");
  tier.answer = () => ({
    status: 424,
    text: '{"error":"effects_failed","effects":{"crm":"failed: crm_unauthorized"}}',
  });
  await testEnv.sql`select replay_dead(array[${eventId}])`;
  await until(async () => (await deliveryOf(eventId)).attempts.length === 2);
  tier.answer = () => ({ status: 200 });
  await untilState(eventId, "delivered");
});

test("an outage and a recovery of the tier are noticed while nothing is due", async () => {
  await server.stop();
  server = await testEnv.start({ ...quick, ACTIONS_URL: tier.url });
  await tier.down();
  await until(() => breakerOf(server).at(-1) === "open refused ECONNREFUSED", {
    what: "the outage is noticed",
  });
  await tier.up();
  await until(() => breakerOf(server).at(-1) === "closed", {
    what: "the recovery is noticed",
    deadlineMs: 15_000,
  });
});

test("a live tenant's lead waits without a route, spends no attempt, and is sent at once when a route is added", async () => {
  const key = await testEnv.issue();
  const eventId = await accept(key);
  const other = await routed();
  await untilState(await accept(other), "delivered");
  const waiting = await deliveryOf(eventId);
  assert.equal(waiting.state, "pending");
  assert.deepEqual(waiting.attempts, []);
  assert.equal(tier.of(eventId).length, 0);
  await route(key.tenant);
  await tier.until(eventId);
  await untilState(eventId, "delivered");
});

test("SIGTERM releases claimed events and lets sends in flight finish", async () => {
  const key = await routed();
  await onAnotherNode({ ACTIONS_URL: "" }, async (node) => {
    await server.stop();
    const ids = await Promise.all(Array.from({ length: 40 }, () => accept(key, {}, node)));
    tier.answer = () => "hang";
    const arrivedBefore = tier.requests.length;
    const stopping = await testEnv.start({ ...quick, ACTIONS_URL: tier.url });
    await until(() => tier.requests.length > arrivedBefore, { what: "a send is in flight" });
    assert.equal(await stopping.stop(), 0);
    const [row] = await testEnv.sql<{ leased: number }[]>`
      select count(*)::int as leased from outbox where event_id = any(${ids}) and lease is not null`;
    assert.equal(row?.leased, 0);
    tier.answer = () => ({ status: 200 });
    server = await testEnv.start({ ...quick, ACTIONS_URL: tier.url });
    // One query for all forty, instead of a ctl process each.
    await until(async () => {
      const [settled] = await testEnv.sql<{ delivered: number }[]>`
        select count(*)::int as delivered from attempt
        where event_id = any(${ids}) and outcome = 'delivered'
          and event_id not in (select event_id from outbox)`;
      return settled?.delivered === ids.length;
    }, { what: "all of them are delivered" });
    assert.equal((await deliveryOf(ids[0] as string)).state, "delivered");
  });
});
