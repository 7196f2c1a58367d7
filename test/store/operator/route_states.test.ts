import assert from "node:assert/strict";
import { before, test } from "node:test";
import type postgres from "postgres";
import {
  findLastEvent,
  readRouteStates,
  readSuspendedRoutes,
  routeCommand,
  type RouteState,
  secretsCommand,
} from "../../../src/store/operator/route_states.ts";
import { asService } from "../../support/database.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const { databaseUrl, sql } = await openStore();
const pool = openPool(asService(databaseUrl));

const secrets = ["token-hunter2", "whsec_aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==", "T0/B0/hunter2"];

before(async () => {
  await sql`insert into tenant (slug, name) values ('acme', 'Acme'), ('globex', 'Globex')`;
  await sql`
    insert into api_key (tenant_id, surface, label, digest, last4)
    select t.id, k.surface, k.label, sha256((t.slug || k.label)::bytea), 'abcd'
    from (values ('acme', 'intake', 'web'), ('acme', 'intake', 'lead ads'), ('acme', 'forms', 'site'), ('globex', 'intake', 'web'))
      as k (slug, surface, label)
    join tenant as t on t.slug = k.slug`;
  for (const [slug, source] of [["acme", ""], ["globex", ""], ["acme", "lead ads"]] as const) {
    await sql`
      insert into actions.route (tenant_id, kind, source, address, settings, secrets, credential, recipe_version, changed_at)
      select id, 'crm', ${source}, 'pipedrive', '{"base_url":"https://crm.example"}',
        json_build_object('token', ${secrets[0] as string}::text), ${
      slug + source
    }, 'v1', now() - interval '1 day'
      from tenant where slug = ${slug}`;
  }
  await sql`
    insert into actions.route (tenant_id, kind, source, form, address, secret, changed_at)
    select id, r.kind, r.source, r.form, r.address, r.secret, now() - interval '1 day'
    from tenant cross join (values
      ('email', '', '', 'sales@acme.example', null),
      ('slack', '', '', ${`https://hooks.slack.example/${secrets[2]}`}, null),
      ('crm', '', 'contact', 'https://crm.example/hook?token=hunter2', ${secrets[1] as string})
    ) as r (kind, source, form, address, secret)
    where slug = 'acme'`;
});

let minutes = 0;

/** Adds an event of acme's that is a minute newer than the last one, and pending unless `isDone`. */
async function addEvent(label: string, { isDone = false } = {}): Promise<string> {
  minutes += 1;
  const [row] = await sql<{ id: string }[]>`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    select event_id_at(now() + make_interval(mins => ${minutes})) || md5(${minutes}::text), 'lead', k.tenant_id, k.id, now(), 'k', '{}', '{}'
    from api_key as k join tenant as t on t.id = k.tenant_id where t.slug = 'acme' and k.label = ${label}
    returning event_id as id`;
  const id = row?.id ?? "";
  if (!isDone) {
    await sql`
      insert into outbox (event_id, tenant_id, due_at, reason)
      select event_id, tenant_id, now() + interval '1 minute', 'crm_unauthorized' from event where event_id = ${id}`;
  }
  return id;
}

interface Answered {
  readonly kind: string;
  readonly source?: string;
  readonly outcome: "done" | "failed" | "refused" | "waiting";
  readonly reason?: string;
  readonly status?: number;
  readonly answer?: string;
  /** How long ago the response arrived. */
  readonly minutesAgo?: number;
}

async function answer(eventId: string, answered: Answered): Promise<void> {
  const { kind, source = "", outcome, reason = null, status = null, answer = null, minutesAgo = 0 } =
    answered;
  await sql`
    insert into actions.effect (event_id, route_id, effect, is_done, is_refused, settled_at, reason, status, answer)
    select ${eventId}, r.id, r.kind, ${outcome === "done"}, ${outcome === "refused"},
      service_clock() - make_interval(mins => ${minutesAgo}), ${reason}, ${status}, ${answer}
    from actions.route as r where r.kind = ${kind} and r.source = ${source} and r.form = '' and r.tenant_id = (
      select id from tenant where slug = 'acme'
    )`;
}

async function suspend(eventId: string, reason: string): Promise<void> {
  await sql`
    insert into actions.suspension (tenant_id, route_id, reason, since, event_id)
    select r.tenant_id, r.id, ${reason}, service_clock() - interval '1 hour', ${eventId}
    from actions.route as r join tenant as t on t.id = r.tenant_id
    where r.kind = 'crm' and r.source = '' and r.form = '' and t.slug = 'acme'
    on conflict (tenant_id, route_id) do update set reason = excluded.reason, event_id = excluded.event_id`;
}

const acmeId = async () =>
  (await sql<{ id: number }[]>`select id from tenant where slug = 'acme'`)[0]?.id ?? 0;
const ofAcme = async () => await readRouteStates(pool, await acmeId());
const name = ({ kind, source, form, target }: RouteState) => `${kind} ${source}${form} ${target}`;
const find = async (wanted: string) => {
  const found = (await ofAcme()).find((route) => name(route) === wanted);
  assert.ok(found, wanted);
  return found;
};

test("a tenant's routes are listed with their targets, without an address or a secret", async () => {
  const routes = await ofAcme();
  assert.deepEqual(routes.map(name), [
    "crm  pipedrive",
    "email  s…@acme.example",
    "slack  hooks.slack.example",
    "crm lead ads pipedrive",
    "crm contact crm.example",
  ]);
  assert.deepEqual(routes.map(({ recipeVersion }) => recipeVersion), ["v1", null, null, "v1", null]);
  assert.ok(routes.every(({ suspension, last }) => suspension === null && last === null));
  const all = JSON.stringify([routes, await readRouteStates(pool, null)]);
  for (const secret of [...secrets, "hunter2", "sales@"]) assert.ok(!all.includes(secret), secret);
});

test("a route shows the latest response among the newest events of its sources, and none from before it was set", async () => {
  const old = await addEvent("web", { isDone: true });
  await answer(old, { kind: "crm", outcome: "done", status: 201, answer: "created", minutesAgo: 30 });
  await answer(old, { kind: "slack", outcome: "done", status: 200, minutesAgo: 2 * 24 * 60 });
  const newer = await addEvent("lead ads", { isDone: true });
  await answer(newer, {
    kind: "crm",
    source: "lead ads",
    outcome: "failed",
    reason: "http_503",
    status: 503,
  });
  await answer(newer, {
    kind: "email",
    outcome: "refused",
    reason: "smtp_rejected_550",
    status: 550,
    answer: "no such box",
  });
  const { last } = await find("crm  pipedrive");
  assert.deepEqual({ ...last, settledAt: "" }, {
    eventId: old,
    state: "done",
    status: 201,
    answer: "created",
    reason: null,
    settledAt: "",
  });
  const states = (await ofAcme()).map(({ last }) => last?.state ?? null);
  assert.deepEqual(states, ["done", "refused", null, "failed", null]);
});

test("a suspended route shows since when, how many events wait, and the response to the last try", async () => {
  const tried = await addEvent("web");
  await answer(tried, {
    kind: "crm",
    outcome: "waiting",
    reason: "crm_unauthorized",
    status: 401,
    answer: "bad token",
    minutesAgo: 5,
  });
  for (let count = 0; count < 3; count++) {
    const waiting = await addEvent("web");
    await sql`
      insert into actions.effect (event_id, route_id, effect, attempts, reason)
      select ${waiting}, id, kind, 0, 'crm_unauthorized' from actions.route
      where kind = 'crm' and source = '' and form = '' and tenant_id = ${await acmeId()}`;
  }
  // Waits for another route of the tenant.
  const other = await addEvent("lead ads");
  await answer(other, { kind: "crm", source: "lead ads", outcome: "failed", reason: "http_503" });
  await suspend(tried, "crm_unauthorized");
  const { suspension, last } = await find("crm  pipedrive");
  assert.deepEqual(suspension?.waiting, { count: 4, isMore: false });
  const doneMs = Date.parse((await find("crm  pipedrive")).doneAt ?? "");
  assert.ok(Math.abs(doneMs - Date.now() + 30 * 60_000) < 60_000, "the last success before that");
  assert.deepEqual([suspension.reason, suspension.secretNames], ["crm_unauthorized", ["token"]]);
  assert.ok(Math.abs(Date.parse(suspension.since) - Date.now() + 3_600_000) < 60_000);
  assert.deepEqual([last?.eventId, last?.status, last?.answer, last?.state], [
    tried,
    401,
    "bad token",
    "waiting",
  ]);

  const all = await readRouteStates(pool, null);
  assert.deepEqual(all.map((route) => `${route.tenant} ${name(route)}`), [
    "acme crm  pipedrive",
    "acme crm lead ads pipedrive",
    "globex crm  pipedrive",
  ]);
  const [suspended, ...others] = await readSuspendedRoutes(pool);
  assert.deepEqual([suspended?.last, others], [last, []]);
  // Only of suspended routes, because it costs a look at 200 events for each.
  assert.deepEqual(all.map((route) => route.last !== null), [true, false, false]);

  await sql`delete from actions.suspension`;
  assert.deepEqual(await readSuspendedRoutes(pool), []);
});

test("the commands name the route's scope and its secrets, and quote a label for the shell", async () => {
  const route = await find("crm lead ads pipedrive");
  const suspended = (secretNames: readonly string[]) => ({
    ...route,
    suspension: {
      reason: "crm_unauthorized" as const,
      since: "",
      waiting: { count: 0, isMore: false },
      secretNames,
    },
  });
  assert.equal(
    secretsCommand(suspended(["token"])),
    "ctl tenant route acme --source 'lead ads' --secret token=-",
  );
  assert.equal(
    secretsCommand({ ...suspended(["client_secret", "refresh_token"]), source: "" }),
    "ctl tenant route acme --secret client_secret=FILE --secret refresh_token=FILE",
  );
  assert.equal(
    routeCommand({ tenant: "acme", source: "o'neill", form: "" }),
    "ctl tenant route acme --source 'o'\\''neill'",
  );
  assert.equal(
    routeCommand({ tenant: "acme", source: "", form: "contact" }),
    "ctl tenant route acme --form contact",
  );
});

test("the last event of a tenant is the newest that has content and is not held", async () => {
  const last = await addEvent("web", { isDone: true });
  const erased = await addEvent("web", { isDone: true });
  await sql`update event set removed_at = now(), lead = null where event_id = ${erased}`;
  const held = await addEvent("site", { isDone: true });
  await sql`
    insert into submission (event_id, tenant_id, form_id, verdict, score, reasons)
    values (${held}, ${await acmeId()}, 1, 'spam', 99, '{}')`;
  assert.equal(await findLastEvent(pool, await acmeId()), last);
  await sql`update submission set released_at = now() where event_id = ${held}`;
  assert.equal(await findLastEvent(pool, await acmeId()), held);
  assert.equal(await findLastEvent(pool, 1_000_000), null);
});

test("the suspended routes share the events that are looked at, and say if there are more", async () => {
  const [{ pending } = { pending: 0 }] = await sql<{ pending: number }[]>`
    select count(*)::int as pending from outbox where tenant_id = ${await acmeId()}`;
  const [tried] = await sql<{ id: string }[]>`
    select o.event_id as id from outbox as o join actions.effect as e on e.event_id = o.event_id and e.reason = 'crm_unauthorized'
    limit 1`;
  await suspend(tried?.id ?? "", "crm_unauthorized");
  const waiting = async (tenantId: number | null, max: number) =>
    (await sql<{ waiting: number; more: boolean }[]>`
      select waiting, waiting_more as more from route_states(${tenantId}::int, ${max}) where reason is not null order by tenant`)
      .map(({ waiting, more }) => `${waiting}${more ? "+" : ""}`);
  for (const tenantId of [await acmeId(), null]) {
    assert.deepEqual(await waiting(tenantId, pending), ["4"]);
    assert.deepEqual(await waiting(tenantId, 2), ["2+"]);
    // Counts one event for each route at least.
    assert.deepEqual(await waiting(tenantId, 0), ["1+"]);
  }
  // One of the first pending events waits for another route, and none is left to look at.
  assert.deepEqual(await waiting(null, pending - 1), ["4+"]);
  await sql`
    insert into actions.suspension (tenant_id, route_id, reason, since)
    select r.tenant_id, r.id, 'crm_suspended', now() from actions.route as r join tenant as t on t.id = r.tenant_id
    where t.slug = 'globex'`;
  assert.deepEqual(await waiting(null, 5), ["2+", "0"]);
  await sql`delete from actions.suspension`;
});

/** A database without statistics, and a connection that has planned `route_states` for the rest of the session. */
async function openUnanalyzed() {
  const { sql } = await openStore();
  for (
    const table of [
      "event",
      "outbox",
      "actions.effect",
      "actions.suspension",
      "actions.route",
      "tenant",
      "api_key",
    ]
  ) {
    await sql.unsafe(`alter table ${table} set (autovacuum_enabled = false)`);
  }
  const connection = await sql.reserve();
  // A plan that scans all rows would take hours.
  await connection`set statement_timeout = '30s'`;
  const addTenants = (from: number, to: number) =>
    sql`
    with t as (insert into tenant (slug, name) select 't' || n, 'T' from generate_series(${from}::int, ${to}::int) as n returning id),
    k as (
      insert into api_key (tenant_id, surface, label, digest, last4)
      select id, 'intake', label, sha256((id || label)::bytea), 'abcd' from t cross join unnest('{web,ads}'::text[]) as label
    )
    insert into actions.route (tenant_id, kind, address, settings, secrets, credential, recipe_version, changed_at)
    select id, 'crm', 'pipedrive', '{}', '{}', id::text, 'v1', '2026-01-01' from t`;
  const suspendAll = () =>
    sql`
    insert into actions.suspension (tenant_id, route_id, reason, since)
    select tenant_id, id, 'crm_unauthorized', now() from actions.route on conflict do nothing`;
  /** Adds effects and outbox rows of the first tenant that wait for its route, and every tenth event. */
  const addWaiting = async (from: number, to: number) => {
    const id = sql`event_id_at('2026-11-01'::timestamptz + make_interval(secs => n)) || md5(n::text)`;
    const numbers = sql`generate_series(${from}::int, ${to}::int) as n`;
    await sql`
      insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
      select ${id}, 'lead', k.tenant_id, k.id, now(), 'k', '{}', '{}'
      from ${numbers} cross join (select * from api_key order by id limit 1) as k where n % 10 = 0`;
    await sql`
      insert into actions.effect (event_id, route_id, effect, settled_at, reason)
      select ${id}, r.id, r.kind, now(), 'crm_unauthorized'
      from ${numbers} cross join (select * from actions.route order by id limit 1) as r`;
    await sql`
      insert into outbox (event_id, tenant_id, due_at, reason)
      select ${id}, t.id, now() + make_interval(secs => n * 7 % 900), 'crm_unauthorized'
      from ${numbers} cross join (select * from tenant order by id limit 1) as t`;
  };
  const count = async (tenantId: number | null, session: postgres.Sql = connection) => {
    const [row] = await session.unsafe(
      `explain (analyze, buffers, format json) select * from route_states(${tenantId}, 1000)`,
    );
    const plan = row?.["QUERY PLAN"][0].Plan;
    return Number(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]);
  };
  /** Counts the blocks that are read for the first tenant and for all. */
  const blocks = async () => {
    // Later calls use the plan of the session; the first one also reads the catalogs.
    for (let call = 0; call < 7; call += 1) {
      await count(1);
      await count(null);
    }
    return [await count(1), await count(null)] as const;
  };
  return { sql, addTenants, suspendAll, addWaiting, count, blocks, release: () => connection.release() };
}

for (const start of ["empty tables", "few rows", "wrong statistics"] as const) {
  test(`the states read a bounded number of blocks if they were planned for ${start}`, async () => {
    const { sql, addTenants, suspendAll, addWaiting, count, blocks, release } = await openUnanalyzed();
    if (start !== "empty tables") {
      await addTenants(1, 1);
      await suspendAll();
      await addWaiting(1, 3);
    }
    if (start === "wrong statistics") await sql`analyze`;
    await blocks();
    if (start === "empty tables") {
      await addTenants(1, 1);
      await suspendAll();
    }
    await addWaiting(4, 3_000);
    const few = [await count(1), await count(null)] as const;
    await addWaiting(3_001, start === "empty tables" ? 300_000 : 30_000);
    const many = [await count(1), await count(null)] as const;
    // A plan that was made for these rows.
    const fresh = [await count(1, sql), await count(null, sql)] as const;
    const [{ waiting, more } = {}] =
      await sql`select waiting, waiting_more as more from route_states(null, 1000)`;
    assert.deepEqual([waiting, more], [1_000, true]);
    // A deeper index adds a block to each of some 3,000 lookups. 27,000 more events would add as many blocks if all were read.
    for (const [index, one] of [...many, ...fresh].entries()) {
      const before = few[index % 2] ?? 0;
      assert.ok(before > 1_000 && one < before + 5_000 && one < 10_000, `${before} blocks, then ${one}`);
    }
    release();
  });
}

test("the states of all routes read a few blocks for each route, also if events wait for each", async () => {
  const { sql, addTenants, suspendAll, addWaiting, count, blocks, release } = await openUnanalyzed();
  await addTenants(1, 1);
  await addWaiting(1, 3_000);
  await blocks();
  await addTenants(2, 1_000);
  await sql`
    insert into outbox (event_id, tenant_id, due_at) select id || '/' || n, id, now() from tenant, generate_series(1, 30) as n`;
  const active = await count(null);
  await suspendAll();
  const suspended = await count(null);
  assert.ok(active < 20_000, `${active} blocks with 1,000 routes`);
  assert.ok(suspended < 30_000, `${suspended} blocks with 1,000 suspended routes`);
  release();
});
