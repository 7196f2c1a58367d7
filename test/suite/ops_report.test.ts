import assert from "node:assert/strict";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { freshKey, type IssuedKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const localAddress = "127.0.0.1";

const reportOf = (query: string, headers: Record<string, string> = {}) =>
  get(`${server.urls.ops}/v1/report${query}`, { localAddress, headers });

/** Stores events of a key at given times. */
async function storedAt(key: IssuedKey, times: readonly string[]): Promise<void> {
  await testEnv.sql`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    select new_event_id(event_id_at(at), 1), 'lead', ${key.tenant.id}, ${key.id}, at, 'k', '{}', '{}'
    from unnest(${[...times]}::text[]::timestamptz[]) as t (at)`;
}

const rollUp = () => testEnv.sql`select roll_up_hours(100)`;
const today = () => new Date().toISOString().slice(0, 10);
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

test("GET /v1/report counts per source and day what was received, its outcome and its faults", async () => {
  const own = await testEnv.start();
  const post = (key: IssuedKey, body: unknown, idempotencyKey = freshKey()) =>
    testEnv.intake({ key: key.text, body, headers: { "Idempotency-Key": idempotencyKey } }, own);
  const key = await testEnv.issue({ label: "=web" });
  const same = lead({ cost: 12.5, phone: "12" });
  const delivered: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    delivered.push((await post(key, lead({ cost: 1, project_area: "moat" }))).json.event_id);
  }
  await post(key, same, "report:1");
  await post(key, same, "report:1");
  await post(key, { ...same, city: "Elsewhere" }, "report:1");
  const dead: string = (await post(key, lead({ project_area: "=tower" }))).json.event_id;
  await post(key, { first_name: "Ada" });
  await post(key, "[");
  await post(key, {});
  await testEnv.indexed();
  // Written when the server stops.
  assert.equal(await own.stop(), 0);
  await testEnv.sql`delete from outbox where event_id = any (${[...delivered, dead]})`;
  await testEnv.sql`
    insert into attempt (event_id, number, at, outcome, duration_ms, spent)
    select event_id, 1, received_at + interval '1900 ms', 'delivered', 100, true from event
    where event_id = any (${delivered})`;
  await testEnv.sql`
    insert into dead_letter (event_id, tenant_id, died_at) values (${dead}, ${key.tenant.id}, now())`;

  const { status, json } = await reportOf(`?tenant=${key.tenant.slug}`);
  assert.equal(status, 200);
  assert.equal(json.rows.length, 1);
  const [{ seconds_to_delivery: seconds, ...row }] = json.rows;
  assert.deepEqual(row, {
    tenant: key.tenant.slug,
    source: "=web",
    kind: "lead",
    day: today(),
    accepted: 5,
    duplicates: 2,
    collisions: 1,
    refused: [
      { field: "", reason: "invalid_json", count: 1 },
      { field: "", reason: "validation_failed", count: 1 },
      { field: "last_name", reason: "required", count: 1 },
      { field: "phone", reason: "required", count: 1 },
    ],
    flags: { phone_unnormalized: 1, project_area_unknown: 4 },
    returned: 0,
    spend_cents: 1_550,
    credit_cents: 0,
    net_cents: 1_550,
    delivered: 3,
    pending: 1,
    dead: 1,
    held: 0,
    held_apart: 0,
    unknown_areas: [{ term: "moat", count: 3 }, { term: "=tower", count: 1 }],
  });
  assert.ok(Math.abs(seconds.median - 2) < 0.06 && Math.abs(seconds.p95 - 2) < 0.06, JSON.stringify(seconds));
  assert.equal(Date.parse(json.until) - Date.parse(json.since), 7 * 86_400_000);
  const [source] = json.sources;
  assert.deepEqual([source.source, source.silent], ["=web", false]);

  const csv = await reportOf(`?tenant=${key.tenant.slug}&format=csv`);
  assert.equal(csv.headers["content-type"], "text/csv; charset=utf-8; header=present");
  assert.match(String(csv.headers["content-disposition"]), /^attachment; filename="report-[\d-]{21}\.csv"$/);
  const [head, line, end] = csv.text.split("\r\n");
  assert.equal(end, "");
  assert.match(String(head), /^day,tenant,source,kind,accepted,/);
  assert.ok(line?.startsWith(`${today()},${key.tenant.slug},'=web,lead,5,2,1,2,2,`), line);
  assert.ok(line?.includes("moat: 3; '=tower: 1"), line);
  assert.equal((await reportOf(`?tenant=${key.tenant.slug}`, { Accept: "text/csv;q=0.9" })).text, csv.text);
  assert.equal(
    (await reportOf(`?tenant=${key.tenant.slug}&format=json`, { Accept: "text/csv" })).json.rows.length,
    1,
  );
});

test("rolled-up counts equal fresh counts and follow later deliveries", async () => {
  const key = await testEnv.issue();
  const times = [25, 26, 26.5, 49, 50].map(hoursAgo);
  await storedAt(key, times);
  await testEnv.sql`
    update event set flags = '{country_unrecognized}', lead = '{"cost_cents":250}' where key_id = ${key.id}`;
  await testEnv.sql`
    insert into outbox (event_id, tenant_id, due_at)
    select event_id, tenant_id, now() + interval '1 hour' from event where key_id = ${key.id}`;
  const rows = async () => (await reportOf(`?tenant=${key.tenant.slug}`)).json.rows;
  const counted = await rows();
  await rollUp();
  const [rolled] = await testEnv.sql<
    { n: number }[]
  >`select count(*)::int as n from hour_total where key_id = ${key.id}`;
  assert.ok((rolled?.n ?? 0) >= 4);
  assert.deepEqual(await rows(), counted);
  const sum = (name: string, of: Record<string, number>[]) =>
    of.reduce((all, row) => all + (row[name] ?? 0), 0);
  assert.deepEqual(
    ["accepted", "pending", "delivered", "spend_cents"].map((name) => sum(name, counted)),
    [5, 5, 0, 1_250],
  );
  // Later deliveries count at once; their times follow with the next roll-up of those hours.
  await testEnv.sql`
    insert into attempt (event_id, number, at, outcome, duration_ms, spent)
    select event_id, 1, received_at + interval '1 hour', 'delivered', 0, true from event where key_id = ${key.id}`;
  await testEnv.sql`delete from outbox where tenant_id = ${key.tenant.id}`;
  const now = await rows();
  assert.deepEqual([sum("pending", now), sum("delivered", now)], [0, 5]);
  await testEnv.sql`update hour_rolled set again_at = again_at - interval '10 days'`;
  await rollUp();
  for (const row of await rows()) assert.ok(Math.abs(row.seconds_to_delivery.median - 3_600) < 100);
  const [final] = await testEnv.sql<{ final: boolean }[]>`
    select bool_and(r.again_at is null) as final from hour_rolled as r join hour_total as t using (hour) where t.key_id = ${key.id}`;
  assert.equal(final?.final, true);
});

test("an erasure changes neither the counts nor the spend", async () => {
  const key = await testEnv.issue();
  await testEnv.accept(key, { cost: 3 });
  const rows = async () => (await reportOf(`?tenant=${key.tenant.slug}`)).json.rows;
  const [before] = await rows();
  assert.equal(before.spend_cents, 300);
  await testEnv.sql`delete from outbox where tenant_id = ${key.tenant.id}`;
  await testEnv.sql`
    update event set lead = null, raw = null, extra = null, cost_cents = 300, removed_at = now(), removed_by = 'erasure'
    where tenant_id = ${key.tenant.id}`;
  const [after] = await rows();
  assert.deepEqual([after.accepted, after.spend_cents, after.delivered, after.pending], [1, 300, 0, 0]);
});

test("a silent source is marked, with or without a row; a revoked or never used one is not", async () => {
  const tenant = await testEnv.tenant();
  const issue = (label: string) => testEnv.issue({ tenant, label });
  const [silent, weekly, lively, revoked] = [
    await issue("silent"),
    await issue("weekly"),
    await issue("lively"),
    await issue("revoked"),
  ];
  await issue("never");
  await storedAt(silent, [hoursAgo(24 * 20 + 1), hoursAgo(24 * 20)]);
  await storedAt(weekly, [hoursAgo(24 * 15), hoursAgo(24 * 8)]);
  await storedAt(lively, [hoursAgo(30), hoursAgo(2)]);
  await storedAt(revoked, [hoursAgo(24 * 20)]);
  await testEnv.sql`update api_key set revoked_at = now() where id = ${revoked.id}`;
  // Normally nothing arrives in a past hour.
  await testEnv.sql`delete from hour_rolled`;
  for (let n = 0; n < 8; n += 1) await rollUp();
  const { json } = await reportOf(`?tenant=${tenant.slug}`);
  const marks = json.sources.map((
    one: { source: string; silent: boolean; silent_after_hours: number | null },
  ) => [one.source, one.silent, one.silent_after_hours]);
  assert.deepEqual(marks, [["lively", false, 42], ["never", false, null], ["silent", true, 24], [
    "weekly",
    false,
    252,
  ]]);
  const csv = await reportOf(`?tenant=${tenant.slug}&format=csv`);
  const lines = csv.text.split("\r\n").filter((line) => line.includes(",silent,lead,"));
  assert.equal(lines.length, 1);
  assert.match(String(lines[0]), /^,tenant-\d+,silent,lead,,.*Z,silent$/);
  // The overview shows the same sources.
  const { text } = await get(`${server.urls.ops}/`, { localAddress });
  const [told = ""] = /<li><strong>\d+ sources? ha\w+ gone silent.*?<\/li>/s.exec(text) ?? [];
  assert.ok(told.includes(`tenant=${tenant.slug}&amp;source=silent&amp;kind=lead">`), told);
  assert.doesNotMatch(told, /source=(lively|never|weekly|revoked)/);
});

test("an unknown parameter or too many days answer 400 and are named", async () => {
  const cases: [string, string][] = [
    ["day=2026-01-01", "day"],
    ["format=xml", "format"],
    ["since=2026-01-01&until=2026-04-04", "since"],
    ["until=2020-01-01&since=2020-01-02", "until"],
    ["since=2999-01-01", "since"],
    ["since=9999-12-01&until=9999-12-31T12:00", "until"],
    ["tenant=a&tenant=b", "tenant"],
  ];
  for (const [query, parameter] of cases) {
    const answer = await reportOf(`?${query}`);
    assert.deepEqual([answer.status, answer.json.error, answer.json.parameter], [
      400,
      "invalid_parameter",
      parameter,
    ], query);
  }
  const { status, json } = await reportOf(
    "?since=2026-01-01T12:00:00Z&until=2026-04-02T12:00:00Z&tenant=nobody",
  );
  assert.equal(status, 200);
  assert.deepEqual([json.since, json.until, json.rows, json.sources], [
    "2026-01-01T00:00:00.000Z",
    "2026-04-03T00:00:00.000Z",
    [],
    [],
  ]);
});
