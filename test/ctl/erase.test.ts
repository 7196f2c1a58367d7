/** Tests `ctl erase` on data that the service stored, with the person's and others' rows in every table. */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { atEnd } from "../support/at_end.ts";
import { Tier } from "../support/faults/tier.ts";
import { freshKey, type IssuedKey, lead, TestEnv } from "../support/test_env.ts";
import { analyzedColumns, everyStatistic, everyValue, rowsWith } from "../support/every_value.ts";
import { ctl, runCtl, type RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const email = "quillon.vexworth@example.net";
const person = { first_name: "Quillon", last_name: "Vexworth", email, phone: "(415) 867-5309" };
/** Matches the person's data in any spelling used. */
const traces = /quillon|vexworth|v\u0435xworth|867\D{0,3}5309|zebrawood|\\u0071uillon/i;

let testEnv: TestEnv;
let tier: Tier;
let server: RunningServer;
let on: { readonly databaseUrl: string };
/** The keys of a tenant with a route and of one without. */
let key: IssuedKey;
let waiting: IssuedKey;
let form: Awaited<ReturnType<TestEnv["form"]>>;
let formsKey: IssuedKey;

before(async () => {
  testEnv = await TestEnv.open();
  tier = await Tier.open();
  server = await testEnv.start({
    ACTIONS_URL: tier.url,
    DELIVERY_BACKOFF_BASE_MS: "20",
    DELIVERY_BACKOFF_CAP_MS: "20",
    DELIVERY_ATTEMPTS_MAX: "2",
    // A hanging send outlasts the test on a slow machine.
    DELIVERY_SEND_TIMEOUT_MS: "600000",
    DELIVERY_LEASE_MS: "900000",
  });
  atEnd(() => tier.down());
  on = { databaseUrl: testEnv.database.url };
  const tenant = await testEnv.tenant();
  await testEnv.sql`
    insert into actions.route (tenant_id, kind, address) values (${tenant.id}, 'email', 'leads@example.com')`;
  const campaignId = await testEnv.campaign(tenant);
  key = await testEnv.issue({ tenant, campaignId });
  waiting = await testEnv.issue();
  form = await testEnv.form({ tenant: waiting.tenant, required: ["message"] });
  formsKey = await testEnv.issue({ tenant: waiting.tenant, surface: "forms" });
});

/** The number of posts that made no event. */
let loggedPosts = 0;

async function post(body: Record<string, unknown> | string, idempotencyKey = freshKey(), by = key) {
  const headers = { "Idempotency-Key": idempotencyKey };
  const { json } = await testEnv.intake({ key: by.text, body, headers });
  if (json.status !== "accepted") loggedPosts += 1;
  return json as { readonly event_id: string; readonly status: string };
}

async function accepted(members: Record<string, unknown>, idempotencyKey?: string, by = key) {
  const { event_id, status } = await post(lead(members), idempotencyKey, by);
  assert.equal(status, "accepted");
  return event_id;
}

async function submitted(fields: Record<string, unknown>): Promise<string> {
  const { json } = await testEnv.submit(form, { key: formsKey.text, body: fields });
  return json.submission_id;
}

async function state(eventId: string): Promise<string> {
  return (await ctl(["lead", "show", eventId], on)).delivery.state;
}

async function untilState(eventId: string, wanted: string): Promise<void> {
  await until(async () => await state(eventId) === wanted, { what: `${eventId} is ${wanted}` });
}

async function untilLogged(): Promise<void> {
  await until(async () => (await testEnv.sql`select from post_log`).length === loggedPosts, {
    what: `${loggedPosts} posts are logged`,
  });
}

/** Returns the counts that an erasure must not change. */
async function counts() {
  const [row] = await testEnv.sql`
    select
      (select count(*)::int from event) as events,
      (select json_object_agg(f.flag, f.count order by f.flag) from (
        select unnest(flags) as flag, count(*) from event group by 1) as f) as flags,
      (select json_agg(distinct received_at || event_id) from event) as times,
      (select sum(cents)::int from campaign_charge) as spend,
      (select sum(coalesce(cost_cents, (lead ->> 'cost_cents')::int))::int from event) as costs,
      (select count(*)::int from attempt) as attempts,
      (select count(*)::int from collision) as collisions,
      (select sum(count)::int from collision) as posts_aside,
      (select count(*)::int from submission where verdict <> 'clean') as held,
      (select sum(count)::int from refusal_total) as refused`;
  return { ...row };
}

async function tally() {
  const [figures] = await testEnv.sql`select pending::int, dead::int from beat(0)`;
  const [rows] = await testEnv.sql`
    select (select count(*)::int from outbox) as pending, (select count(*)::int from dead_letter) as dead`;
  assert.deepEqual({ ...figures }, { ...rows });
  return { ...figures };
}

test("erase removes a person from every table and leaves all other rows and counts", async () => {
  tier.answer = ({ body }) => {
    const { details = "" } = { details: body.lead?.project_details };
    if (details.includes("hangs")) return "hang";
    return details.includes("dies") ? { status: 424, text: '{"failed":["crm"]}' } : { status: 200 };
  };
  const theirKey = `crm:${email}`;
  const delivered = await accepted(
    { ...person, cost: 12.5, project_area: "Quillon's zebrawood den" },
    theirKey,
  );
  const dead = await accepted({ ...person, email: " Quillon.VEXWORTH@example.net", project_details: "dies" });
  const sending = await accepted({ ...person, phone: "+1 415.867.5309", project_details: "hangs" });
  const pending = await accepted(
    { first_name: "Q", last_name: "V", phone: "4158675309" },
    undefined,
    waiting,
  );
  const byExtra = await accepted(
    { last_name: "Vexworth", phone: "5550001111", cell: "415-867-5309", note: "zebrawood" },
    undefined,
    waiting,
  );
  const escaped = (await post(
    `{"first_name":"Q","last_name":"Vexworth","phone":"5550002222","contact":"\\u0071uillon.vexworth\\u0040example.net"}`,
    undefined,
    waiting,
  )).event_id;
  const nested = await accepted(
    { crm: { owner: { tel: 14158675309 } }, last_name: "Vexworth" },
    undefined,
    waiting,
  );
  const held = await submitted({
    name: "Quillon",
    email,
    message: "zebrawood",
    website: "https://x.example",
  });
  const clean = await submitted({
    "Your name": "Quillon Vexworth",
    tel: "١٤١٥٨٦٧٥٣٠٩",
    message: "zebrawood floors",
  });
  const extension = await submitted({
    name: "Vexworth",
    "Your phone": "415-867-5309 x7",
    message: "of zebrawood",
  });
  const theirs = [delivered, dead, sending, pending, byExtra, escaped, nested, held, clean, extension];

  // Other people's leads, and one that only mentions the person.
  const other = await accepted(
    { phone: "4158675308", email: "x.quillon.vexworth@example.net.au" },
    "other:1",
  );
  const shares = await accepted({ phone: "5550004444", project_area: "conservatory", cost: 3 });
  await accepted({ ...person, project_area: "conservatory" }, undefined, waiting);
  const mentions = await accepted({
    phone: "5550003333",
    project_details: `My neighbour ${email} sent me, call him: (415)867-5309`,
  });
  // Under their Idempotency-Key: a variant of their lead, and another person's.
  assert.equal(
    (await post({ ...person, email: "q@example.net", phone: "5550009999" }, theirKey)).status,
    "duplicate",
  );
  assert.equal(
    (await post(lead({ phone: "5550008888", first_name: "Grace" }), theirKey)).status,
    "duplicate",
  );
  await post({ first_name: "Q" }, theirKey);
  await post("[]", "tel:(415) 867-5309");
  await post("[]", "other:1");
  // Their lead under another person's Idempotency-Key.
  assert.equal((await post({ ...person, note: "zebrawood" }, "other:1")).status, "duplicate");
  assert.equal((await post({ ...person, note: "zebrawood" }, "other:1")).status, "duplicate");

  await untilState(delivered, "delivered");
  await untilState(dead, "dead");
  await untilState(sending, "sending");
  // Also the others: a later change would look like the erasure's.
  await until(async () => {
    const rows = await testEnv.sql`select event_id from outbox where tenant_id = ${key.tenant.id}`;
    return rows.length === 1 && rows[0]?.event_id === sending;
  }, { what: "all other events are delivered or dead" });
  await testEnv.sql`update attempt set reason = 'Vexworth refused' where event_id in (${delivered}, ${dead})`;
  await testEnv.sql`insert into actions.effect (event_id, route_id, effect, reason, answer)
    values (${dead}, 1, 'crm', 'quillon', 'no room for quillon')`;
  const note = ["--reason", "wrong_number", "--note", "Vexworth's number is wrong"];
  await ctl(["lead", "return", delivered, ...note], on);
  // Contains only another person's data.
  const [graces] = await testEnv.sql`select id from collision where raw like '%Grace%'`;
  await untilLogged();
  const before = await counts();
  // The mention is left for an operator, so it is not a trace here.
  await testEnv.sql`update event set lead = '{"last_name":"Doe","phone":"+15550003333"}', extra = null,
    raw = '{"project_details":"write to quillon.vexworth@example.net"}' where event_id = ${mentions}`;
  const others = [other, shares, mentions];
  const untouched = (rows: string[]) =>
    rows.filter((row) => !/^public\.(?:collision|post_log \{.*"status":"200")/.test(row));
  await testEnv.indexed();
  const rows = untouched(await rowsWith(testEnv.sql, [...others, "other:1"]));
  const collided = await rowsWith(testEnv.sql, ["Grace"]);

  const dry = await ctl(["erase", "--email", email, "--dry-run"], on);
  assert.equal(dry.dry_run, true);
  assert.deepEqual(await counts(), before);
  await testEnv.sql`analyze`;
  const analyzed = await analyzedColumns(testEnv.sql);
  const stored = await everyValue(testEnv.sql);
  assert.ok(stored.some(({ text }) => traces.test(text)));
  assert.equal((await testEnv.sql`select from audit where action ~ 'erase'`).length, 0);

  assert.equal((await ctl(["form", "held", "--honeypot"], on)).length, 1);
  const one = await ctl(["erase", "--email", ` ${email.toUpperCase()} `], on);
  assert.deepEqual({ ...one, dry_run: true, ended_at: null }, dry);
  assert.ok(Math.abs(Date.now() - Date.parse(one.ended_at)) < 60_000);
  assert.deepEqual(one.mentions, [mentions]);
  assert.deepEqual(one.kept_collisions, [String(graces?.id)]);
  assert.equal(one.collisions, 2);
  const two = await ctl(["erase", "--phone", "1 (415) 867-5309"], on);
  assert.deepEqual(two.mentions, []);
  assert.deepEqual([one.posts, two.posts], [1, 1]);
  // Posts that are logged later: one that arrived before the erasure ended, and one that arrived afterwards.
  const late = ["tel:4158675309", "tel:5550001111"].map((text, index) => ({
    key_id: key.id,
    age_ms: index === 0 ? 60_000 : 0,
    request_id: text,
    status: 400,
    error: "invalid_json",
    idempotency_key: text,
  }));
  await testEnv.sql`select add_posts(${JSON.stringify(late)})`;
  loggedPosts += 2;
  const latest = await testEnv.sql`select idempotency_key, request_id from post_log order by id desc limit 1`;
  assert.deepEqual({ ...latest[0] }, { idempotency_key: "tel:5550001111", request_id: "tel:5550001111" });
  const states = Object.fromEntries(
    [...one.erased, ...two.erased].map((
      each: { event_id: string; state: string },
    ) => [each.event_id, each.state]),
  );
  assert.equal(states[delivered], "delivered");
  assert.equal(states[dead], "dead");
  assert.equal(states[sending], "sending");
  assert.equal(states[pending], "pending");
  assert.equal(states[held], "held");
  assert.deepEqual(theirs.filter((id) => states[id] === undefined), []);
  assert.equal(one.events + two.events, theirs.length + 1);

  // The mention, and another address that contains theirs, normalized and as posted.
  const left = (await everyValue(testEnv.sql)).filter(({ text }) => traces.test(text));
  assert.deepEqual(left.map(({ column }) => column).sort(), [
    "public.event.lead",
    "public.event.raw",
    "public.event.raw",
    "public.search_entry.email",
  ]);
  // The statistics are those from before the erasure.
  const statistics = await everyStatistic(testEnv.sql);
  assert.ok(statistics.some(({ text }) => text.includes("project_area_unknown")));
  const kept = new Set((await everyValue(testEnv.sql)).map(({ text }) => text));
  const digests = stored.filter(({ text }) => /^(?:\\x)?[0-9a-f-]{32,}$/.test(text) && !kept.has(text));
  assert.ok(digests.length > 0);
  assert.deepEqual(
    statistics.filter(({ text }) =>
      traces.test(text) || digests.some((digest) => text.includes(digest.text))
    ),
    [],
  );
  // With few rows, ANALYZE copies no value of some columns.
  assert.deepEqual(
    stored.filter(({ column, text }) => analyzed.has(column) && traces.test(text)),
    [],
  );
  assert.deepEqual(untouched(await rowsWith(testEnv.sql, [...others, "other:1"])), rows);
  assert.deepEqual(await rowsWith(testEnv.sql, ["Grace"]), collided);
  // That of their collision with another person's lead, and the repeat's, which is nobody's.
  const posts = await testEnv.sql`select request_id from post_log where event_id = ${other} order by id`;
  assert.deepEqual(posts.map(({ request_id: id }) => id === null), [true, false]);
  assert.deepEqual(await counts(), before);
  await tally();
  const unknown = await ctl(["vocabulary", "unknown"], on);
  assert.deepEqual(unknown.map(({ term, count }: { term: string; count: number }) => [term, count]), [
    ["conservatory", 1],
  ]);

  // Erased content cannot return.
  assert.match((await runCtl(["dead", "replay", dead], on)).stderr, /^Not dead/);
  assert.deepEqual(await ctl(["form", "held", "--honeypot"], on), []);
  const release = await runCtl(["form", "release", held], on);
  assert.deepEqual([release.code, release.stdout], [1, ""]);
  assert.match(release.stderr, /erased/);
  assert.equal(await state(held), "erased");
  assert.equal(await state(clean), "erased");
  const shown = await ctl(["lead", "show", delivered], on);
  assert.deepEqual([shown.content, shown.lead, shown.raw, shown.extra], ["erased", null, null, {}]);
  assert.ok(Date.parse(shown.removed_at) > Date.parse(shown.received_at));
  assert.deepEqual([shown.idempotency_key, shown.flags, shown.delivery.state], [
    null,
    ["project_area_unknown"],
    "delivered",
  ]);
  const text = await runCtl(["lead", "show", pending], on);
  assert.equal(text.code, 0);
  assert.match(text.stdout, /Its content was erased before delivery.*\n\nLead\n {2}erased \d{4}-/s);

  // A retry with the key is a duplicate and stores nothing, whatever its content.
  const again = await testEnv.leavesNothing(() =>
    post(lead({ ...person, project_details: "in other words" }), theirKey)
  );
  assert.deepEqual(again.status, "duplicate");
  assert.equal(again.event_id, delivered);
  await untilLogged();
  const inLog = (await everyValue(testEnv.sql)).filter(({ column, text }) =>
    column.includes(".post_log.") && traces.test(text)
  );
  assert.deepEqual(inLog, []);

  const audit = await testEnv.sql`select actor, action, subject, detail from audit order by id`;
  // Event entries have ids, for restoring an older copy; run entries have only counts.
  const ofEvents = audit.filter(({ action }) => action === "event.erase");
  const erasedIds = [...one.erased, ...two.erased].map(({ event_id: id }: { event_id: string }) => id);
  assert.deepEqual(ofEvents.map(({ subject }) => subject), erasedIds);
  const runs = audit.filter(({ action }) => action.startsWith("person."));
  assert.deepEqual(runs.map(({ action, subject }) => [action, subject]), [
    ["person.erase_begin", "a person"],
    ["person.erase", String(one.events)],
    ["person.erase_begin", "a person"],
    ["person.erase", String(two.events)],
  ]);
  assert.match(String(runs[1]?.actor), /^ctl \w+$/);
  assert.equal(runs[1]?.detail.collisions, 2);
  assert.equal(runs[1]?.detail.dead, 1);
  assert.equal((await ctl(["audit", "verify"], on)).ok, true);

  const logged = server.output.stdout + server.output.stderr;
  assert.doesNotMatch(logged, traces);
});

test("erase of a person without data reports 0 events and is audited", async () => {
  for (const by of [["--email", email], ["--phone", "415 867 5309"]]) {
    const { events, collisions, erased } = await ctl(["erase", ...by], on);
    assert.deepEqual([events, collisions, erased], [0, 0, []]);
  }
  const [last] = await testEnv.sql`select subject, detail from audit order by id desc limit 1`;
  assert.deepEqual({ ...last }, { subject: "0", detail: { events: 0, collisions: 0 } });
});

test("erase --phone erases a number however it is written, and lists what may be another number", async () => {
  const erased: string[] = [];
  for (
    const phone of ["303·555·4562", "0013035554562", "303,555,4562", "303⁄555⁄4562", "[303] 555-4562 x7"]
  ) {
    erased.push(await accepted({ phone }, undefined, waiting));
  }
  const mentions: string[] = [];
  for (
    const members of [
      { phone: "03035554562" },
      { cell: "303|555|4562" },
      { cell: "３０３x５５５x４５６２" },
      { project_details: "Call 303*555*4562 after 5" },
      { "303~555~4562": true },
      { page_url: "https://shop.example/?tel=%5B303%5D%20555%C2%B74562" },
      { page_url: "https://shop.example/?tel=%EF%BC%93%EF%BC%90%EF%BC%93555456%32" },
    ]
  ) mentions.push(await accepted({ phone: "5550006666", ...members }, undefined, waiting));
  await accepted({ phone: "5550006666", order: "1303555456299" }, undefined, waiting);
  const reply = await ctl(["erase", "--phone", "+1 303 555 4562"], on);
  assert.deepEqual(reply.erased.map(({ event_id: id }: { event_id: string }) => id), erased.sort());
  assert.deepEqual(reply.mentions, mentions.sort());
});

test("erase --event removes one event and the collisions under its Idempotency-Key", async () => {
  const name = "erase:event";
  const id = await accepted({ project_details: "Nobody knows whose" }, name, waiting);
  const neighbour = await accepted({ project_details: "Nobody else" }, undefined, waiting);
  await post(lead({ first_name: "Grace", phone: "5550007777" }), name, waiting);
  const before = await tally();
  const dry = await ctl(["erase", "--event", id, "--dry-run"], on);
  assert.deepEqual(dry, {
    dry_run: true,
    events: 1,
    collisions: 1,
    erased: [{ event_id: id, state: "pending" }],
    mentions: [],
    kept_collisions: [],
    posts: 0,
    ended_at: null,
  });
  assert.equal(await state(id), "pending");
  assert.deepEqual(await ctl(["erase", "--event", id], on), { ...dry, dry_run: false });
  assert.deepEqual(await tally(), { ...before, pending: before.pending - 1 });
  assert.equal(await state(id), "erased");
  assert.equal(await state(neighbour), "pending");
  const [noted] = await testEnv.sql`select subject, detail from audit order by id desc limit 1`;
  assert.deepEqual({ ...noted }, { subject: id, detail: { events: 1, collisions: 1, pending: 1 } });

  const again = await runCtl(["erase", "--event", id], on);
  assert.deepEqual([again.code, again.stdout], [0, "Erased 0 events and 0 collisions.\n"]);
  const unknown = id.replace(/^../, "00");
  const { code, stderr } = await runCtl(["erase", "--event", unknown], on);
  assert.deepEqual([code, stderr], [1, `There is no event ${unknown}; see ctl lead list\n`]);
});

test("after an erasure the same lead without an Idempotency-Key is accepted as new", async () => {
  const body = lead({ email: "later@example.org" });
  const first = (await testEnv.intake({ key: waiting.text, body })).json;
  assert.equal((await testEnv.intake({ key: waiting.text, body })).json.status, "duplicate");
  await ctl(["erase", "--email", "later@example.org"], on);
  const [row] = await testEnv.sql`
    select dedupe_digest, content_digest from event where event_id = ${first.event_id}`;
  assert.deepEqual({ ...row }, { dedupe_digest: null, content_digest: null });
  const second = (await testEnv.intake({ key: waiting.text, body })).json;
  assert.equal(second.status, "accepted");
  assert.notEqual(second.event_id, first.event_id);
  assert.equal((await ctl(["erase", "--email", "later@example.org"], on)).events, 1);
});

test("erase finds all of a person's events among thousands", async () => {
  const [row] = await testEnv.sql<{ first: string; last: string }[]>`
    with made as (
      insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead, raw)
      select new_event_id(event_id_at(to_timestamp(n)), 1), 'lead', ${key.tenant.id}, ${key.id}, service_clock(), 'k', '{}',
        json_build_object('last_name', 'Far', 'email', case when n % 2999 = 1 then 'far@example.org' end), '{}'
      from generate_series(1, 9001) as n returning event_id
    )
    select min(event_id) as first, max(event_id) as last from made`;
  const { erased } = await ctl(["erase", "--email", "far@example.org"], on);
  assert.deepEqual(erased.length, 4);
  await testEnv.sql`delete from event where event_id between ${row?.first ?? ""} and ${row?.last ?? ""}`;
});
