/**
 * The rights in the database: every table, column, sequence and function is tried as each role and compared with
 * one list. Then forgeries as an attacker in the service process would try them.
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { limits } from "../../src/contract/limits.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { builtinsFile, compareRights } from "../../src/store/schema/rights.ts";
import { createRole, type TestRole } from "../support/actions/actions_process.ts";
import { createDatabase } from "../support/database.ts";
import { acceptPosts } from "../support/accept.ts";
import { openPool } from "../support/pool.ts";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";
import { atEnd } from "../support/at_end.ts";

const words = (text: string) => text.trim().split(/\s+/);

/** The tables that the service may read. Nobody may do anything else with a table. */
const serviceReads = words(`
  public.api_key public.area public.attempt public.audit public.audit_head public.campaign public.campaign_spend public.collision public.dead_letter
  public.duplicate_total public.event public.form public.hour_rolled public.hour_total public.ip_limit
  public.lead_return public.minute_sample public.outbox public.plan public.post_log public.refusal_total
  public.schema_file public.schema_release public.search_entry public.spam_lessons public.submission public.tenant
  public.unknown_area`);
const actionsReads = words("public.schema_file public.schema_release");

/** The functions that each role may call. No role may use a sequence. */
const serviceCalls = words(`
  public.accept public.add_duplicates public.add_minute_sample public.add_posts public.add_refusals
  public.apply_provider_event public.beat public.begin_checkout public.claim_outbox
  public.console_accept_collision public.console_confirm_area public.console_dismiss_collision
  public.console_dismiss_submission public.console_mark_spam public.console_pause_tenant public.console_release_submission
  public.console_replay_dead public.console_resume_tenant public.console_return_lead public.console_send_again
  public.delivery_status public.due_tenants
  public.effects_of public.event_id_at public.event_id_time public.expire_content public.expire_posts public.fail_checkout public.fill_search_entry
  public.fold_counts public.forget_checkouts public.forget_spam_lessons public.forget_tombstones public.held_link public.hour_figures public.is_unreviewed
  public.learn_spam public.limit_waits public.oldest_waiting public.open_checkout public.pauses public.release_held_link
  public.roll_up_hours public.route_states public.search_block public.service_clock
  public.settle_outbox public.trim_heartbeat public.wake_waiting_events`);
const actionsCalls = words(`
  actions.begin_digest actions.begin_effects actions.begin_token actions.earlier_posts actions.routes_of actions.save_progress
  actions.settle_digest actions.settle_effect actions.settle_token`);

/** Callable functions that only read, so they run with the caller's rights. */
const readers = [
  "delivery_status",
  "due_tenants",
  "event_id_at",
  "event_id_time",
  "hour_figures",
  "is_unreviewed",
  "oldest_waiting",
  "search_block",
  "service_clock",
];

const denied = { code: "42501" };

const { database, databaseUrl, sql: owner } = await openStore();
const on = { databaseUrl };
const roles: TestRole[] = [];
/** One connection per role, in the order of the lists above. */
let connections: postgres.Sql[];
let asService: postgres.Sql;

before(async () => {
  roles.push(
    await createRole(database.url, "lead_service"),
    await createRole(database.url, "lead_actions"),
    await createStranger(),
  );
  connections = roles.map(({ url }) => postgres(url, { max: 1, onnotice: () => {} }));
  atEnd(() => Promise.all(connections.map((sql) => sql.end({ timeout: 5 }))));
  asService = connections[0] as postgres.Sql;
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["tenant", "add", "globex"], on);
  await ctl(["campaign", "add", "spring", "--tenant", "acme"], on);
  await ctl(["key", "issue", "acme", "--label", "partner", "--campaign", "spring"], on);
  await ctl(["key", "issue", "globex", "--label", "web", "--surface", "forms"], on);
  await ctl(["form", "add", "acme", "contact", "--required", "name"], on);
});

/** Creates a login without any group role. */
async function createStranger(): Promise<TestRole> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await owner.unsafe(`create role ${name} login password '${name}'`);
  const url = new URL(database.url);
  url.username = url.password = name;
  return { url: url.href };
}

/** Tries a statement in a transaction that is rolled back, and returns whether it was permitted. */
async function isLet(sql: postgres.Sql, statement: string): Promise<boolean> {
  const connection = await sql.reserve();
  try {
    await connection`begin`;
    await connection.unsafe(statement);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code !== denied.code) return true;
    return false;
  } finally {
    await connection`rollback`;
    connection.release();
  }
}

test("the service and the actions process read only what they are granted", async () => {
  const rights = await owner<{ role: string; table: string; may: string[] }[]>`
    with columns as (
      select r.role, c.oid, n.nspname || '.' || c.relname as table, a.attname::text as name, p.privilege,
        has_column_privilege(r.role, c.oid, a.attnum, p.privilege) as may
      from unnest(${roles.map(({ url }) => new URL(url).username)}::text[]) as r (role)
      cross join pg_class as c join pg_namespace as n on n.oid = c.relnamespace
      join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      cross join unnest('{select,insert,update,references}'::text[]) as p (privilege)
      where n.nspname in ('public', 'actions') and c.relkind in ('r', 'p', 'v', 'm', 'f')
    )
    select role, "table", array_agg(case when whole then privilege else privilege || ' ' || names end order by privilege) as may
    from (
      select role, "table", privilege, bool_and(may) as whole, string_agg(name, ' ' order by name) filter (where may) as names
      from columns group by role, "table", privilege having bool_or(may)
      union all
      select distinct role, "table", w.privilege, true, '' from columns
      cross join unnest('{delete,truncate,trigger}'::text[]) as w (privilege) where has_table_privilege(role, oid, w.privilege)
    ) as granted
    group by role, "table" order by "table" collate "C"`;
  const of = (at: number) =>
    rights.filter(({ role }) => role === new URL(roles[at]?.url ?? "").username)
      .map(({ table, may }) => may.join() === "select" ? table : `${table}: ${may.join()}`);
  assert.deepEqual(of(0), serviceReads);
  assert.deepEqual(of(1), actionsReads);
  assert.deepEqual(of(2), []);
});

test("each role calls only its own functions, and no function name is overloaded", async () => {
  const functions = await owner<{ name: string; arguments: string[] }[]>`
    select n.nspname || '.' || p.proname as name,
      array(select format_type(t, null) from unnest(p.proargtypes) with ordinality as a (t, ord) order by ord) as arguments
    from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ('public', 'actions')
    order by (n.nspname || '.' || p.proname) collate "C"`;
  assert.equal(new Set(functions.map(({ name }) => name)).size, functions.length);
  for (
    const [sql, expected] of [[connections[0], serviceCalls], [connections[1], actionsCalls], [
      connections[2],
      [],
    ]] as const
  ) {
    const called = [];
    for (const { name, arguments: types } of functions) {
      const call = `select ${name}(${types.map((type) => `null::${type}`).join(", ")})`;
      if (await isLet(sql as postgres.Sql, call)) called.push(name);
    }
    assert.deepEqual(called, expected);
  }
});

test("every security definer function pins its search_path, and every callable writer is one", async () => {
  const functions = await owner<{ name: string; definer: boolean; settings: string[] | null }[]>`
    select p.proname as name, p.prosecdef as definer, p.proconfig as settings
    from pg_proc as p where p.pronamespace in ('public'::regnamespace, 'actions'::regnamespace)`;
  const callable = [...serviceCalls, ...actionsCalls].map((name) => name.slice(name.indexOf(".") + 1));
  for (const { name, definer, settings } of functions) {
    assert.equal(definer, callable.includes(name) && !readers.includes(name), name);
    const path = settings?.find((setting) => setting.startsWith("search_path="));
    if (definer) assert.equal(path, "search_path=pg_catalog, public, pg_temp", name);
  }
});

test("the group roles cannot log in and are no superusers", async () => {
  const [row] = await owner`
    select count(*)::int as roles, bool_or(rolcanlogin or rolsuper or rolcreaterole or rolcreatedb or rolbypassrls) as any
    from pg_roles where rolname in ('lead_service', 'lead_actions')`;
  assert.deepEqual({ ...row }, { roles: 2, any: false });
});

test("only the owner uses sequences, creates objects or changes roles", async () => {
  const sequences = await owner<{ name: string }[]>`
    select n.nspname || '.' || c.relname as name from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    where c.relkind = 'S' and n.nspname in ('public', 'actions')`;
  assert.ok(sequences.length > 0);
  const [{ name: ownerName } = { name: "" }] = await owner<{ name: string }[]>`select current_user as name`;
  const statements = [
    ...sequences.flatMap(({ name }) => [
      `select nextval('${name}')`,
      `select setval('${name}', 1)`,
      `select last_value from ${name}`,
    ]),
    ...["public", "actions"].flatMap((schema) => [
      `create table ${schema}.x ()`,
      `create view ${schema}.x as select 1`,
      `create function ${schema}.accept() returns int language sql as 'select 1'`,
    ]),
    "create schema x",
    `set role ${ownerName}`,
    `set session authorization ${ownerName}`,
    "alter table event disable trigger all",
    "alter function service_clock() owner to current_user",
    "set session_replication_role = replica",
    "select pg_read_file('/etc/passwd')",
    "comment on table audit is 'x'",
    "drop table audit",
    "create extension dblink",
  ];
  for (const sql of connections) {
    for (const statement of statements) assert.equal(await isLet(sql, statement), false, statement);
  }
});

test("neither group can call a built-in function that could stop the intake, and the owner's functions still can", async () => {
  const calls = [
    ...["lock", "lock_shared", "xact_lock"].map((name) => `pg_advisory_${name}(1, 1)`),
    "pg_try_advisory_lock(1)",
    "pg_advisory_unlock_all()",
    "lo_creat(-1)",
    "lo_create(0)",
    "lo_from_bytea(0, '')",
    "lo_put(1, 1, '')",
    "pg_logical_emit_message(true, 'a', 'b')",
  ];
  for (const sql of connections) {
    for (const call of calls) assert.equal(await isLet(sql, `select ${call}`), false, call);
  }
  const open = await owner`
    select p.oid::regprocedure::text from pg_proc as p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ 'advisory|^lo_|^lo(read|write)|emit_message'
      and (has_function_privilege('lead_service', p.oid, 'execute') or has_function_privilege('lead_actions', p.oid, 'execute'))`;
  assert.deepEqual([...open], []);
  // Each post takes an advisory lock, and a duplicate writes a message.
  const post = { keyId: 1, idempotencyKey: randomUUID(), digest: randomBytes(16).toString("hex") };
  const outcomes = async () => (await acceptPosts(asService, [post])).map(({ outcome }) => outcome);
  assert.deepEqual([await outcomes(), await outcomes()], [["accepted"], ["collision"]]);
});

test("a new table or function belongs to the owner alone until it is granted", async () => {
  await owner.unsafe(
    "create table later (id int); create function later_f() returns int language sql return 1",
  );
  for (const sql of connections) {
    for (const statement of ["select * from later", "insert into later values (1)", "select later_f()"]) {
      assert.equal(await isLet(sql, statement), false, statement);
    }
  }
  await owner.unsafe("drop table later; drop function later_f()");
});

test("after a migration an unrelated role cannot connect, and only the owner creates temporary tables", async () => {
  // A database does not inherit its template's rights, nor does a dump contain them; each migration sets them.
  await migrate(database.url);
  const [row] = await owner`
    select
      array_agg(distinct a.privilege_type) filter (where a.grantee = 0) as public,
      bool_or(has_database_privilege('lead_service', d.oid, 'connect')) as service,
      bool_or(has_database_privilege('lead_service', d.oid, 'temporary')) as temporary
    from pg_database as d cross join aclexplode(d.datacl) as a where d.datname = current_database()`;
  assert.deepEqual({ ...row }, { public: null, service: true, temporary: false });
  const stranger = postgres((roles[2] as TestRole).url, { max: 1, onnotice: () => {} });
  await assert.rejects(stranger`select 1`, denied);
  await stranger.end();
  assert.equal(await isLet(asService, "create temp table audit ()"), false);
});

/** The arguments of one batch. */
interface Post {
  readonly keyId?: number;
  readonly costCents?: readonly (number | null)[];
  readonly formId?: number;
}

async function acceptAs(sql: postgres.Sql, { keyId = 1, costCents = [null], formId }: Post) {
  return await acceptPosts(
    sql,
    costCents.map((cents) => ({ keyId, costCents: cents, idempotencyKey: "x:1", formId: formId ?? null })),
  );
}

async function spend(): Promise<number> {
  const [row] = await owner`select sum(spend_cents)::int as cents from campaign_spend`;
  return row?.cents ?? 0;
}

test("no charge is below or above a lead's cost range, even within a positive sum", async () => {
  await acceptAs(asService, { costCents: [1250] });
  assert.equal(await spend(), 1250);
  const events = await owner`select from event`;
  for (const costCents of [[-100], [0], [100_000], [-100, 500], [500, -100, 900]]) {
    await assert.rejects(acceptAs(asService, { costCents }), { code: "23514" }, String(costCents));
  }
  await assert.rejects(asService`insert into campaign_charge values (1, -1250)`, denied);
  await assert.rejects(owner`insert into campaign_charge values (1, -1250)`, { code: "23514" });
  assert.equal(await spend(), 1250);
  assert.equal((await owner`select from event`).length, events.length);
});

test("no argument lowers a count or deletes anything before its published time", async () => {
  await asService`select add_refusals('{1}', '{required}', '{phone}', '{7}', '{}', '{}'), add_duplicates('{1}', '{7}')`;
  const sample = (figures: string, refusals = '{"rate_limited":7}') =>
    `select add_minute_sample('a', ${figures}, '${refusals}', 0::bigint, 0::bigint, 0::float8, 'none')`;
  await asService.unsafe(sample("7, 7, 7, 7, 7"));
  for (
    const hostile of [
      ...[-5, 0].flatMap((count) => [
        `select add_refusals('{1}', '{required}', '{phone}', '{${count}}', '{}', '{}')`,
        `select add_duplicates('{1}', '{${count}}')`,
        `select add_duplicates('{1,1}', '{${count - 3},2}')`,
      ]),
      ...["-1, 0, 0, 0, 0", "0, -1, 0, 0, 0", "0, 0, -1, 0, 0", "0, 0, 0, -1, 0", "0, 0, 0, 0, -1"].map((
        figures,
      ) => sample(figures)),
      ...['{"rate_limited":-1}', '{"rate_limited":null}', '{"<b>":1}', '{"a":"1 or 2"}', "[]", "7"].map((
        refusals,
      ) => sample("0, 0, 0, 0, 0", refusals)),
      ...["-1", "'nan'", "'infinity'"].map((age) =>
        sample("1, 1, 1, 1, 1").replace("0::float8", `${age}::float8`)
      ),
    ]
  ) await assert.rejects(asService.unsafe(hostile), { code: "23514" }, hostile);
  const [counted] = await owner`
    select
      (select sum(count)::int from refusal_total) as refusals, (select sum(count)::int from duplicate_total) as duplicates,
      (select sum(accepted + refused + delivered + failed + died + (refusals ->> 'rate_limited')::int)::int
        from minute_sample) as sampled`;
  assert.deepEqual({ ...counted }, { refusals: 7, duplicates: 7, sampled: 42 });

  const lastUsed = () =>
    owner`select id from api_key where last_used_at > now() or not isfinite(last_used_at)`;
  await asService`select add_refusals('{}', '{}', '{}', '{}', '{1,2,1}', '{infinity,-infinity,9999-01-01}')`;
  assert.deepEqual([...await lastUsed()], []);
});

test("no idempotency window or checkout key expires before its published time", async () => {
  const digest = randomBytes(16).toString("hex");
  const post = (space: string, windowHours: number, windowMinutes: number) =>
    acceptPosts(asService, [{ keyId: 1, space, digest }], { windowHours, windowMinutes });
  const outcomes = async (space: string) => {
    const found = [];
    for (const window of [24, 0, -1_000]) found.push((await post(space, window, window))[0]?.outcome);
    return found;
  };
  for (const space of ["c", "C"]) {
    assert.deepEqual(await outcomes(space), ["accepted", "duplicate", "duplicate"], space);
    const passed = space === "c"
      ? `${limits.contentWindowHours} hours`
      : `${limits.formContentWindowMinutes} minutes`;
    await owner`
      update event set received_at = received_at - ${passed}::interval where dedupe_digest = ${digest}::uuid
        and dedupe_space = ${space}::"char"`;
    assert.deepEqual(
      (await post(space, limits.contentWindowHours, limits.formContentWindowMinutes))[0]?.outcome,
      "accepted",
      "at its end it does",
    );
  }

  await owner`
    insert into plan (slug, name, customer, amount_cents, billing_interval, body) values ('p', 'P', 'acme', 1, 'month', '{}')`;
  const key = randomUUID();
  const begin = (hours: number) =>
    asService<{ outcome: string }[]>`select outcome from begin_checkout('p', ${key}, ${key}, ${hours})`;
  const checkouts = async () => {
    const [row] = await owner`
      select
        (select count(*)::int from subscription) as sales, (select count(key_digest)::int from subscription) as keys,
        (select count(*)::int from provider_event) as events`;
    return { ...row };
  };
  assert.equal((await begin(0))[0]?.outcome, "begun");
  await asService`select apply_provider_event('e', 't', now(), null, null, null, null, 'open')`;
  for (const value of [0, -1_000]) {
    assert.equal((await begin(value))[0]?.outcome, "again");
    await asService`select forget_checkouts(${value}, ${value})`;
    assert.deepEqual(await checkouts(), { sales: 1, keys: 1, events: 1 });
  }
  const { checkoutKeyHours, checkoutUnpaidDays } = limits;
  await owner`update subscription set created_at = created_at - make_interval(hours => ${checkoutKeyHours})`;
  await asService`select forget_checkouts(${checkoutKeyHours}, ${checkoutUnpaidDays})`;
  assert.deepEqual(await checkouts(), { sales: 1, keys: 0, events: 1 });
  await owner`update subscription set created_at = created_at - make_interval(days => ${checkoutUnpaidDays})`;
  await owner`update provider_event set received_at = received_at - make_interval(days => ${checkoutUnpaidDays})`;
  await asService`select forget_checkouts(${checkoutKeyHours}, ${checkoutUnpaidDays})`;
  assert.deepEqual(await checkouts(), { sales: 0, keys: 0, events: 0 });
});

test("an event belongs to its key's tenant, and a submission to a form of that tenant", async () => {
  const [accepted] = await acceptAs(asService, { keyId: 2 });
  const [event] = await owner`
    select t.slug from event as e join tenant as t on t.id = e.tenant_id where e.event_id = ${
    accepted?.event_id ?? ""
  }`;
  assert.equal(event?.slug, "globex");
  const events = await owner`select from event`;
  // The form is acme's, the key is globex's.
  await assert.rejects(acceptAs(asService, { keyId: 2, formId: 1 }), { code: "23502" });
  assert.equal((await acceptAs(asService, { keyId: 2_000_000 }))[0]?.outcome ?? "revoked", "revoked");
  assert.equal((await owner`select from event`).length, events.length);
});

/** Makes an event of acme's dead and returns its id. */
async function dead(): Promise<string> {
  const [accepted] = await acceptAs(asService, {});
  const id = accepted?.event_id ?? "";
  await owner`delete from outbox where event_id = ${id}`;
  await owner`insert into dead_letter (event_id, tenant_id, died_at) values (${id}, 1, now())`;
  await owner`insert into outbox_tally values ('pending', -1), ('dead', 1)`;
  return id;
}

async function auditOf(subject: string) {
  const rows = await owner`select actor, claimed, action from audit where subject = ${subject} order by id`;
  return rows.map((row) => ({ ...row }));
}

const serviceName = () => new URL((roles[0] as TestRole).url).username;

test("the audit records the login role as actor, whatever the session sets, and its chain stays intact", async () => {
  const id = await dead();
  for (
    const forgery of [
      "select note_audit('key.issue', '1')",
      "select append_audit('ctl', null, 'key.issue', '{1}', null)",
      "insert into audit (id, at, actor, action, subject, digest) values (99, now(), 'ctl postgres', 'a.b', '', sha256(''))",
      "update audit_head set id = 0",
      "select release_submission('1', '{}', 'ctl', null)",
      `select replay_dead_as('{${id}}', 'ctl', null)`,
    ]
  ) await assert.rejects(asService.unsafe(forgery), denied, forgery);
  // Session settings that could mislead security definer functions.
  const claimed = "1.2.3.4'); drop table audit; --";
  await asService.unsafe(`
    set lead_intake.claimed = 'ctl postgres'; set application_name = 'ctl postgres'; set timezone = 'Asia/Kathmandu';
    set datestyle = 'German, DMY'; set intervalstyle = 'iso_8601'; set bytea_output = 'escape';
    set extra_float_digits = -10; set quote_all_identifiers = on; set transform_null_equals = on; set array_nulls = off;
    set default_transaction_isolation = 'serializable'; set client_encoding = 'UTF8'; set search_path = pg_catalog`);
  const done = await asService`select event_id from public.console_replay_dead(${[id]}, ${claimed})`;
  assert.deepEqual([...done].map(({ event_id }) => event_id), [id]);
  assert.deepEqual(await auditOf(id), [{
    actor: `console ${serviceName()}`,
    claimed,
    action: "dead.replay",
  }]);
  await asService`discard all`;
  // The row returns to its own tenant.
  const [waits] = await owner`select tenant_id from outbox where event_id = ${id}`;
  assert.equal(waits?.tenant_id, 1);
  assert.equal((await ctl(["audit", "verify"], on)).ok, true);
});

test("an operator who logs in and acts as the owner is named in the audit", async () => {
  const name = `ada_${randomBytes(4).toString("hex")}`;
  const [{ owner: ownerName } = { owner: "" }] = await owner<
    { owner: string }[]
  >`select current_user as owner`;
  await owner.unsafe(`create role ${name} login password '${name}' in role ${ownerName}`);
  await owner.unsafe(`alter role ${name} set role ${ownerName}`);
  const url = new URL(database.url);
  url.username = url.password = name;
  await ctl(["tenant", "add", "initech"], { databaseUrl: url.href });
  const [noted] = await auditOf("initech");
  assert.deepEqual([noted?.actor, noted?.action], [`ctl ${name}`, "tenant.add"]);
  await owner.unsafe(`drop role ${name}`);
});

test("no object in the service's session replaces a table, function, operator or type of ours", async () => {
  // As before the first migration, or after the owner has granted it again.
  await owner.unsafe(`grant temporary on database ${database.name} to lead_service`);
  const id = await dead();
  await asService.unsafe(`
    create temp table audit (like public.audit); create temp table audit_head (is_only boolean, id bigint, digest bytea);
    insert into pg_temp.audit_head values (true, 0, '');
    create temp table event (like public.event); create temp table dead_letter (like public.dead_letter);
    create temp table api_key (id int); create temp view outbox as select 1 as x;
    create function pg_temp.service_clock() returns timestamptz language sql return timestamptz '1999-01-01';
    create function pg_temp.note_audit(text, text, json) returns void language sql as 'select';
    create function pg_temp.append_audit(text, text, text, text[], json) returns void language sql as 'select';
    create function pg_temp.sha256(bytea) returns bytea language sql as 'select ''''::bytea';
    create function pg_temp.evil(text, text) returns text language sql as 'select ''ctl postgres''';
    create operator pg_temp.|| (function = pg_temp.evil, leftarg = text, rightarg = text);
    create domain pg_temp.lead_cost_cents as int;
    set search_path = pg_temp, public, pg_catalog`);
  await asService`select public.console_replay_dead(${[id]}, '127.0.0.1')`;
  await assert.rejects(
    asService.unsafe(`select * from public.accept(
      p_separator => '->', p_key_id => '1', p_space => 'k', p_digest => repeat('0', 32), p_content => repeat('0', 32),
      p_idempotency_key => 'x', p_flags => '', p_lead => '{}', p_extra => '', p_raw => 'x', p_cost_cents => '-5',
      p_window_hours => 24)`),
    { code: "23514" },
  );
  assert.deepEqual([...await asService`select from pg_temp.audit`], []);
  assert.deepEqual([...await asService`select from pg_temp.event`], []);
  await asService`discard all`;
  const [noted] = await owner`
    select actor, claimed, at > now() - interval '1 hour' as recent from audit where subject = ${id}`;
  assert.deepEqual({ ...noted }, { actor: `console ${serviceName()}`, claimed: "127.0.0.1", recent: true });
  assert.equal((await ctl(["audit", "verify"], on)).ok, true);
  await migrate(database.url);
});

test("a database where everybody may create objects is not migrated by a role that cannot revoke that", async () => {
  // As in a PostgreSQL 14 database: the schema belongs to the superuser.
  const early = await createDatabase({ migrated: false });
  const name = `test_${randomBytes(6).toString("hex")}`;
  const superuser = postgres(early.url, { max: 1, onnotice: () => {} });
  after(() => superuser.end({ timeout: 5 }));
  await superuser.unsafe(
    `create role ${name} login password '${name}'; grant create on schema public to public;
    alter database ${early.name} owner to ${name}; alter schema public owner to current_user`,
  );
  const url = new URL(early.url);
  url.username = url.password = name;
  await assert.rejects(
    migrate(url.href),
    new RegExp(`as a superuser.*alter schema public owner to ${name};`),
  );
  await superuser.unsafe(`alter schema public owner to ${name}`);
  await migrate(url.href);
  const pool = openPool(url.href);
  const { builtins } = await compareRights(pool);
  assert.ok(builtins.includes("pg_advisory_lock") && builtins.includes("lo_create"));
  await superuser.unsafe(await readFile(builtinsFile, "utf8"));
  assert.deepEqual(await compareRights(pool), { missing: [], surplus: [], builtins: [] });
  await pool.close();
  // A migration with only the owner's own objects.
  await migrate(url.href);
  const [row] = await superuser`
    select has_schema_privilege('lead_service', 'public', 'create') as creates, nspowner::regrole::text as owner
    from pg_namespace where nspname = 'public'`;
  assert.deepEqual({ ...row }, { creates: false, owner: name });
  assert.equal((await runCtl(["tenant", "add", "acme"], { databaseUrl: url.href })).code, 0);
  const [noted] = await superuser`select actor, claimed ~ '@' as claims from audit`;
  assert.deepEqual({ ...noted }, { actor: `ctl ${name}`, claims: true });
  await early.drop();
  await owner.unsafe(`drop role ${name}`);
});

test("the owner migrates a database with an extension and other roles' objects in public, and keeps their rights", async () => {
  const shared = await createDatabase({ migrated: false });
  const name = `test_${randomBytes(6).toString("hex")}`;
  const superuser = postgres(shared.url, { max: 1, onnotice: () => {} });
  after(() => superuser.end({ timeout: 5 }));
  await superuser.unsafe(`
    create role ${name} login password '${name}'; alter database ${shared.name} owner to ${name};
    alter schema public owner to ${name}; create extension pg_stat_statements;
    create function theirs() returns int language sql return 1;
    create table their_table (id serial); create view their_view as select 1 as x;
    grant select on their_table, their_view to public; grant usage on sequence their_table_id_seq to public`);
  const url = new URL(shared.url);
  url.username = url.password = name;
  await migrate(url.href);
  // Grants on the owner's own objects are revoked.
  const ownerHere = postgres(url.href, { max: 1, onnotice: () => {} });
  await ownerHere.unsafe(`
    create table "Ours" (id serial); create function ours(int, "Ours"[]) returns int language sql return 1;
    create procedure ours_too(inout x int) language sql begin atomic select 1; end;
    grant select on "Ours" to public; grant select (id) on audit to public; grant delete on event to lead_service;
    grant usage on sequence "Ours_id_seq" to lead_actions;
    grant execute on function ours(int, "Ours"[]) to public; grant execute on procedure ours_too(int) to public`);
  await migrate(url.href);
  const [row] = await ownerHere`
    select
      array(
        select p.proname::text from pg_proc as p
        where p.pronamespace = 'public'::regnamespace and has_function_privilege('lead_service', p.oid, 'execute')
          and p.proname in ('theirs', 'pg_stat_statements', 'ours', 'ours_too')
        order by p.proname
      ) as functions,
      array(
        select c.relname::text from pg_class as c
        where c.relname in ('their_table', 'their_view', 'pg_stat_statements', 'Ours')
          and has_table_privilege('lead_service', c.oid, 'select')
        order by c.relname
      ) as tables,
      has_sequence_privilege('lead_actions', 'their_table_id_seq', 'usage') as "theirSequence",
      has_sequence_privilege('lead_actions', '"Ours_id_seq"', 'usage') as "ourSequence",
      has_table_privilege('lead_service', 'event', 'delete') as deletes,
      has_column_privilege('lead_actions', 'audit', 'id', 'select') as "readsColumn"`;
  assert.deepEqual({ ...row }, {
    functions: ["pg_stat_statements", "theirs"],
    tables: ["pg_stat_statements", "their_table", "their_view"],
    theirSequence: true,
    ourSequence: false,
    deletes: false,
    readsColumn: false,
  });
  await ownerHere.end();
  await shared.drop();
  await owner.unsafe(`drop role ${name}`);
});
