import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { createDatabase, type TestDatabase } from "../support/database.ts";
import { ctl, startServer } from "../support/server.ts";
import { get, post } from "../support/client.ts";
import { createRole, type TestRole } from "./support/actions_process.ts";

let database: TestDatabase;
let service: TestRole;
let actions: TestRole;
let asService: postgres.Sql;
let asActions: postgres.Sql;

const denied = { code: "42501" };

before(async () => {
  database = await createDatabase();
  service = await createRole(database.url, "lead_service");
  actions = await createRole(database.url, "lead_actions");
  asService = postgres(service.url, { max: 1, onnotice: () => {} });
  asActions = postgres(actions.url, { max: 1, onnotice: () => {} });
  const on = { databaseUrl: database.url };
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["tenant", "route", "acme", "--crm-url", "https://crm.example.com/"], on);
});
after(async () => {
  await Promise.all([asService.end(), asActions.end()]);
  await service.drop();
  await actions.drop();
  await database.drop();
});

test("the group roles cannot log in and are no superusers", async () => {
  const rows = await asService`
    select rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles
    where rolname in ('lead_service', 'lead_actions') order by rolname`;
  assert.deepEqual(rows.map((row) => row.rolname), ["lead_actions", "lead_service"]);
  for (const row of rows) {
    assert.deepEqual(
      [row.rolcanlogin, row.rolsuper, row.rolcreaterole, row.rolcreatedb, row.rolbypassrls],
      [false, false, false, false, false],
    );
  }
});

test("the service's role cannot read a route or a secret, nor what effects were done", async () => {
  for (
    const statement of [
      ...[
        "select * from actions.route",
        "select crm_secret from actions.route",
        "select * from actions.effect",
      ],
      ...["select * from actions.begin_effects('e', 'acme', gen_random_uuid(), 1)"],
      ...["select actions.settle_effect('e', 'crm', gen_random_uuid(), null)", "table actions.route"],
      ...[
        "insert into actions.route (tenant_id, email) values (1, 'a@b.example')",
        "delete from actions.route",
      ],
      "select actions.set_route(1, null, 'a@b.example', false, false, false, 'x', '1 day')",
    ]
  ) {
    await assert.rejects(asService.unsafe(statement), denied, statement);
  }
});

test("the service's role cannot do what is the operator's", async () => {
  for (
    const statement of [
      ...["insert into tenant (slug, name) values ('evil', 'evil')", "update tenant set sandbox = true"],
      ...["update tenant set has_route = true", "delete from tenant", "update api_key set revoked_at = null"],
      "insert into api_key (tenant_id, surface, label, digest, last4) values (1, 'intake', 'x', sha256(''), 'x')",
      ...["update api_key set limit_per_minute = 1", "insert into ip_limit values ('::/0', 1, 1, now())"],
      ...["update area set status = 'retired'", "delete from schema_file", "create table public.x ()"],
      "truncate event",
    ]
  ) {
    await assert.rejects(asService.unsafe(statement), denied, statement);
  }
});

test("the actions role reads routes, and of the tenants slug and sandbox alone", async () => {
  const [route] = await asActions`select crm_url, crm_secret from actions.route`;
  assert.equal(route?.crm_url, "https://crm.example.com/");
  assert.deepEqual([...await asActions`select id, slug, sandbox from tenant`].map((row) => row.slug), [
    "acme",
  ]);
  const [begun] =
    await asActions`select crm from actions.begin_effects('e1', 'acme', gen_random_uuid(), 1000)`;
  assert.equal(begun?.crm, "due");
});

test("the actions role reads no lead, no key and no raw body, and changes no route", async () => {
  const tables = await asActions<{ name: string; isView: boolean }[]>`
    select c.relname as name, c.relkind in ('v', 'm') as "isView" from pg_class as c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
      and c.relname not in ('tenant', 'schema_file')`;
  assert.ok(tables.some(({ name }) => name === "event") && tables.some(({ name }) => name === "api_key"));
  for (const { name, isView } of tables) {
    await assert.rejects(asActions`select * from ${asActions(name)}`, denied, name);
    // A view that sums up takes no deletes from anybody.
    if (!isView) await assert.rejects(asActions`delete from ${asActions(name)}`, denied, name);
  }
  for (
    const statement of [
      ...["select name from tenant", "select * from tenant", "update tenant set has_route = true"],
      ...[
        "update actions.route set email = 'a@b.example'",
        "delete from actions.route",
        "delete from actions.effect",
      ],
      ...[
        "insert into actions.route (tenant_id, email) values (1, 'a@b.example')",
        "update schema_file set name = ''",
      ],
      ...[
        "select * from claim_outbox(gen_random_uuid(), 1, 1, '{}', '{}', '{}')",
        "update api_key set revoked_at = now()",
      ],
      "select actions.set_route(1, null, 'a@b.example', false, false, false, 'x', '1 day')",
    ]
  ) {
    await assert.rejects(asActions.unsafe(statement), (error: { code: string }) => {
      // A function of another shape by now is as good as one that is refused.
      assert.ok(["42501", "42883"].includes(error.code), `${statement}: ${error.code}`);
      return true;
    });
  }
});

test("the service works with its role: a lead, its repeat, a refusal, health", async () => {
  const on = { databaseUrl: database.url };
  const { key } = await ctl(["key", "issue", "acme", "--label", "partner"], on);
  const server = await startServer({ databaseUrl: service.url });
  const body = {
    first_name: "Ada",
    last_name: "Lovelace",
    phone: "5551234567",
    project_area: "moat",
    cost: 1,
  };
  const headers = { "Idempotency-Key": "a:1" };
  const url = `${server.url}/v1/intake`;
  assert.equal((await post(url, { key, body, headers })).status, 202);
  assert.equal((await post(url, { key, body, headers })).status, 200);
  assert.equal((await post(url, { key, body: { ...body, city: "x" }, headers })).status, 200);
  assert.equal((await post(url, { key, body })).status, 202);
  assert.equal((await post(url, { key, body: {} })).status, 422);
  assert.equal((await get(`${server.url}/v1/vocabulary`)).status, 200);
  assert.equal((await get(`${server.url}/healthz`)).status, 200);
  await server.stop();
  assert.doesNotMatch(server.output.stdout, /42501/);
  assert.equal((await ctl(["lead", "list"], on)).length, 2);
});

test("a later table is the service's too, not the actions process's", async () => {
  const owner = postgres(database.url, { max: 1, onnotice: () => {} });
  await owner`create table later (id int)`;
  await asService`insert into later values (1)`;
  await assert.rejects(asActions`select * from later`, denied);
  await owner`drop table later`;
  await owner.end();
});
