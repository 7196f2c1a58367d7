/** The rules by which a CRM route is suspended and its events are woken, in the database. */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { openStore } from "../../support/store.ts";

const { sql } = await openStore();
let tenants = 0;

interface Route {
  readonly tenantId: number;
  readonly routeId: number;
  readonly changedAt: string;
}

/** Adds a tenant with a CRM recipe. */
async function addRoute(): Promise<Route> {
  const slug = `tenant-${++tenants}`;
  const [row] = await sql<Route[]>`
    with tenant_of as (insert into tenant (slug, name) values (${slug}, ${slug}) returning id)
    insert into actions.route (tenant_id, kind, address, settings, secrets, credential, recipe_version)
    select id, 'crm', 'hubspot', '{}', '{}', 'c', 'v' from tenant_of
    returning tenant_id as "tenantId", id as "routeId", changed_at::text as "changedAt"`;
  // A new route wakes its tenant's events.
  await sql`delete from actions.waking`;
  return row as Route;
}

async function settle(route: Route, eventId: string, outcome: string, reason: string | null = null) {
  const { tenantId, routeId, changedAt } = route;
  const [row] = await sql<{ outcome: string; reason: string | null; wait_ms: number | null }[]>`
    select * from actions.settle_suspension(${tenantId}, ${routeId}, ${eventId}, ${outcome}, ${reason}, ${changedAt})`;
  return row?.outcome === "waiting" ? `waiting ${row.reason}` : row?.outcome;
}

const refuse = (route: Route, eventId: string) => settle(route, eventId, "refused", "http_400");
const unauthorized = (route: Route, eventId: string) => settle(route, eventId, "waiting", "crm_unauthorized");

/** Adds waiting events that are due in half an hour. */
const addWaiting = (tenantId: number, count: number) =>
  sql`insert into outbox (event_id, tenant_id, due_at, reason)
      select 'w' || ${tenantId}::int || '-' || n, ${tenantId}, service_clock() + interval '30 minutes', 'crm_unauthorized'
      from generate_series(1, ${count}::int) as n`;

async function dueCount(tenantId: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from outbox where tenant_id = ${tenantId} and due_at <= service_clock()`;
  return row?.count ?? 0;
}

before(() => sql`set client_min_messages = error`);

test("exactly five events die, also if refusals and refused credentials alternate", async () => {
  const route = await addRoute();
  const outcomes: unknown[] = [];
  for (let n = 0; n < 8; n++) outcomes.push(await refuse(route, `e${n}`), await unauthorized(route, `u${n}`));
  assert.deepEqual(outcomes.filter((outcome) => outcome === "refused").length, 5);
  assert.deepEqual(
    new Set(outcomes.slice(10)),
    new Set(["waiting crm_suspended", "waiting crm_unauthorized"]),
  );
});

test("an event that is refused again counts once, and a success between refusals starts the count afresh", async () => {
  const route = await addRoute();
  for (const eventId of ["a", "a", "a", "b", "b", "c", "d"]) {
    assert.equal(await refuse(route, eventId), "refused");
  }
  assert.equal(await settle(route, "good", "done"), "done");
  for (const eventId of ["e", "f", "g", "h", "i"]) assert.equal(await refuse(route, eventId), "refused");
  assert.equal(await refuse(route, "j"), "waiting crm_suspended");
});

test("an event that is unauthorized again after others succeeded is at fault itself, and suspends nothing", async () => {
  const route = await addRoute();
  assert.equal(await unauthorized(route, "odd"), "waiting crm_unauthorized");
  await sql`insert into actions.effect (event_id, route_id, effect, settled_at, reason)
            values ('odd', ${route.routeId}, 'crm', service_clock(), 'crm_unauthorized')`;
  assert.equal(await settle(route, "good", "done"), "done");
  assert.equal(await unauthorized(route, "odd"), "failed");
  const [row] = await sql`select reason from actions.suspension where route_id = ${route.routeId}`;
  assert.equal(row?.reason, null);
  assert.equal(await unauthorized(route, "another"), "waiting crm_unauthorized");
});

test("a success that the clock, which was moved back, has still to come says nothing about an event", async () => {
  const route = await addRoute();
  await unauthorized(route, "odd");
  await sql`insert into actions.effect (event_id, route_id, effect, settled_at, reason)
            values ('odd', ${route.routeId}, 'crm', service_clock(), 'crm_unauthorized')`;
  await settle(route, "good", "done");
  await sql`
    update actions.suspension set resumed_at = service_clock() + interval '1 hour' where route_id = ${route.routeId}`;
  assert.equal(await unauthorized(route, "odd"), "waiting crm_unauthorized");
});

test("an event that failed earlier and waited since was not unauthorized before", async () => {
  const route = await addRoute();
  await unauthorized(route, "first");
  await sql`insert into actions.effect (event_id, route_id, effect, settled_at, reason, status)
            values ('busy', ${route.routeId}, 'crm', service_clock(), 'http_503', 503)`;
  const [claimed] = await sql`
    select state, reason from actions.begin_effects(
      'busy', (select slug from tenant where id = ${route.tenantId}), 's', '', gen_random_uuid(), 1000)`;
  assert.deepEqual({ ...claimed }, { state: "waiting", reason: "crm_unauthorized" });
  await settle(route, "good", "done");
  assert.equal(await unauthorized(route, "busy"), "waiting crm_unauthorized");
});

test("the outcome of a request with the route's earlier settings neither suspends the route nor ends its event", async () => {
  const route = await addRoute();
  await sql`update actions.route set changed_at = service_clock() + interval '1 second' where id = ${route.routeId}`;
  assert.equal(await unauthorized(route, "late"), "waiting crm_unfinished");
  assert.equal(await refuse(route, "late"), "waiting crm_unfinished");
  assert.equal((await sql`select from actions.suspension where route_id = ${route.routeId}`).length, 0);
});

test("a success makes a thousand waiting events due at once, and the others in batches, whatever their number", async () => {
  const route = await addRoute();
  const other = await addRoute();
  await addWaiting(route.tenantId, 2_500);
  await addWaiting(other.tenantId, 10);
  await unauthorized(route, "first");
  await settle(route, "good", "done");
  assert.equal(await dueCount(route.tenantId), 1_000);
  await sql`select wake_waiting_events(1_000)`;
  assert.equal(await dueCount(route.tenantId), 2_000);
  await sql`select wake_waiting_events(1_000)`;
  assert.deepEqual([await dueCount(route.tenantId), await dueCount(other.tenantId)], [2_500, 0]);
});

test("an event that was being sent while the others were woken is found within half a minute", async () => {
  const route = await addRoute();
  await addWaiting(route.tenantId, 2);
  const lease = "00000000-0000-4000-8000-000000000001";
  await sql`
    update outbox set lease = ${lease}, lease_until = service_clock() + interval '1 minute'
    where event_id = ${`w${route.tenantId}-1`}`;
  await unauthorized(route, "first");
  await settle(route, "good", "done");
  assert.equal(await dueCount(route.tenantId), 1);
  await sql`update outbox set lease = null, lease_until = null where tenant_id = ${route.tenantId}`;
  await sql`select wake_waiting_events(1_000)`;
  assert.equal(await dueCount(route.tenantId), 2);
});

test("events that wait again, because the route is suspended again, are not woken again", async () => {
  const route = await addRoute();
  await unauthorized(route, "first");
  await settle(route, "good", "done");
  await unauthorized(route, "second");
  await addWaiting(route.tenantId, 3);
  await sql`select wake_waiting_events(1_000)`;
  assert.equal(await dueCount(route.tenantId), 0);
});

test("another route's suspension does not end the wake of the tenant's events", async () => {
  const route = await addRoute();
  const [other] = await sql<Route[]>`
    insert into actions.route (tenant_id, kind, address, settings, secrets, credential, recipe_version, source)
    values (${route.tenantId}, 'crm', 'hubspot', '{}', '{}', 'd', 'v', 'partner')
    returning tenant_id as "tenantId", id as "routeId", changed_at::text as "changedAt"`;
  await addWaiting(route.tenantId, 1_500);
  await unauthorized(route, "first");
  await settle(route, "good", "done");
  await unauthorized(other as Route, "second");
  await sql`select wake_waiting_events(1_000)`;
  assert.equal(await dueCount(route.tenantId), 1_500);
});

test("an event whose email failed too is woken with those that only wait", async () => {
  const route = await addRoute();
  await addWaiting(route.tenantId, 2);
  await sql`
    update outbox set reason = 'crm waiting: crm_unauthorized; email failed: smtp_deferred_451'
    where event_id = ${`w${route.tenantId}-1`}`;
  await sql`
    update outbox set reason = 'crm failed: http_503; email failed: smtp_deferred_451'
    where event_id = ${`w${route.tenantId}-2`}`;
  await unauthorized(route, "first");
  await settle(route, "good", "done");
  assert.equal(await dueCount(route.tenantId), 1);
});

test("a queue of tries that a success ended does not delay the events of the next suspension", async () => {
  const route = await addRoute();
  const firstWaits = async () => {
    await unauthorized(route, "first");
    const [row] = await sql<{ wait_ms: number }[]>`
      select wait_ms from actions.await_try(${route.tenantId}, ${route.routeId}, 'next')`;
    return Math.round(Number(row?.wait_ms) / 60_000);
  };
  for (let n = 0; n < 30; n++) await unauthorized(route, `e${n}`);
  await settle(route, "good", "done");
  assert.equal(await firstWaits(), 2);
});

test("while a route is suspended, one event a minute tries, and the others are spread over the queue of tries", async () => {
  const route = await addRoute();
  await unauthorized(route, "first");
  const asked = async (eventId: string) => {
    const [row] = await sql<{ wait_ms: number }[]>`
      select wait_ms from actions.await_try(${route.tenantId}, ${route.routeId}, ${eventId})`;
    return row?.wait_ms ?? null;
  };
  const waits = [await asked("a"), await asked("b"), await asked("c")];
  assert.deepEqual(waits.map((ms) => Math.round(Number(ms) / 60_000)), [2, 3, 4]);
  await sql`update actions.suspension set try_at = service_clock() where route_id = ${route.routeId}`;
  const concurrent = await Promise.all(["d", "e", "f"].map(asked));
  assert.equal(concurrent.filter((ms) => ms === null).length, 1, "one of three may try");
  for (let n = 0; n < 30; n++) await asked(`g${n}`);
  const last = Number(await asked("last"));
  assert.ok(last >= 480_000 && last <= 900_000, "a long queue: 8 to 15 minutes");
});
