import assert from "node:assert/strict";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { lead, TestEnv, visitor } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const ops = server.urls.ops as string;
const localAddress = "127.0.0.1";

const leadsOf = (query: string) => get(`${ops}/v1/leads${query}`, { localAddress });

async function found(query: string): Promise<string[]> {
  const answer = await leadsOf(query);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.leads.map((one: { event_id: string }) => one.event_id);
}

test("GET /v1/leads lists accepted leads, newest first, with every stored member", async () => {
  const key = await testEnv.issue();
  const first = await testEnv.accept(key);
  const body = lead({ phone: "+44 20 7946 0958", cost: 12.5, numbers: "kept" });
  const second = await testEnv.accept(key, { ...body, project_area: "moat" });
  const answer = await leadsOf(`?tenant=${key.tenant.slug}`);
  const [newest, oldest] = answer.json.leads;
  assert.deepEqual([newest.event_id, oldest.event_id], [second, first]);
  assert.equal(answer.json.next_cursor, null);
  const { received_at: receivedAt, idempotency_key: idempotencyKey, request_id: requestId, ...rest } = newest;
  assert.match(receivedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.match(idempotencyKey, /^suite:/);
  assert.match(requestId, /^[0-9a-f]{24}$/);
  const stored = (await testEnv.event(second)).lead;
  assert.deepEqual(rest, {
    event_id: second,
    kind: "lead",
    tenant: key.tenant.slug,
    source: key.label,
    flags: ["phone_unnormalized", "project_area_unknown", "extra_fields_preserved"],
    state: "pending",
    delivery: { state: "pending", due_at: rest.delivery.due_at, reason: "no_route", attempts: [] },
    lead: stored,
    extra: { numbers: "kept" },
  });
  assert.equal(stored.cost_cents, 1250);
});

test("each filter finds exactly its leads", async () => {
  const key = await testEnv.issue();
  const other = await testEnv.issue({ tenant: key.tenant });
  const person = { last_name: "Ñandú Zmarker", phone: "(415) 555-0171", email: "Someone.Rare@Example.org" };
  const rare = await testEnv.accept(key, person);
  const flagged = await testEnv.accept(other, { country: "Atlantis" });
  const tenant = `tenant=${key.tenant.slug}`;
  const { received_at: at } = (await testEnv.event(rare)) as unknown as { received_at: Date };
  const later = new Date(at.getTime() + 1).toISOString();
  const cases: [string, string[]][] = [
    [tenant, [flagged, rare]],
    [`source=${other.label}`, [flagged]],
    [`${tenant}&kind=lead`, [flagged, rare]],
    [`${tenant}&kind=form`, []],
    [`${tenant}&flag=country_unrecognized`, [flagged]],
    [`${tenant}&state=pending`, [flagged, rare]],
    [`${tenant}&state=dead`, []],
    [`${tenant}&state=held`, []],
    [`${tenant}&state=erased`, []],
    [`${tenant}&phone=415.555.0171`, [rare]],
    ["phone=%2B14155550171", [rare]],
    ["phone=+1+415+555+0171", [rare]],
    ["phone=4155550172", []],
    ["email=someone.rare%40EXAMPLE.org", [rare]],
    ["last_name=%C3%B1an", [rare]],
    ["last_name=%C3%91AND%C3%9A%20%20zm", [rare]],
    ["last_name=andu", []],
    [`${tenant}&until=${later}`, [rare]],
    [`${tenant}&since=${later}`, at.getTime() === 0 ? [] : [flagged]],
    [`${tenant}&since=2020-01-01&until=2020-01-02`, []],
    [`${tenant}&since=2020-01-01T00:00:00+02:00`, [flagged, rare]],
    ["tenant=nobody", []],
  ];
  for (const [query, expected] of cases) assert.deepEqual(await found(`?${query}`), expected, query);
});

test("an erased lead is found by its tenant only and shows its state", async () => {
  const key = await testEnv.issue();
  const id = await testEnv.accept(key, { phone: "(415) 555-0188" });
  assert.deepEqual(await found("?phone=4155550188"), [id]);
  await testEnv.sql`select erase_event(${id}, null, '{}')`;
  assert.deepEqual(await found("?phone=4155550188"), []);
  const { json } = await leadsOf(`?tenant=${key.tenant.slug}&state=erased`);
  const [erased] = json.leads;
  assert.deepEqual([erased.event_id, erased.state, erased.content, erased.lead], [
    id,
    "erased",
    "erased",
    null,
  ]);
});

test("a form submission is listed with its verdict, and a held one is found by its state and person", async () => {
  const { form, key } = await testEnv.formWithKey();
  const phone = "(415) 555-0199";
  const clean = await testEnv.submit(form, { key: key.text, body: { ...visitor(), phone } });
  const spam = await testEnv.submit(form, {
    key: key.text,
    // Not the numbered message of visitor(): some numbers change the score.
    body: {
      ...visitor({ message: "We would like to have our roof looked at." }),
      phone,
      website: "https://spam.example",
    },
  });
  assert.deepEqual([clean.status, spam.status], [202, 202]);
  const [cleanId, spamId] = [clean.json.submission_id, spam.json.submission_id];
  assert.deepEqual(await found(`?source=${key.label}`), [spamId, cleanId]);
  assert.deepEqual(await found(`?source=${key.label}&kind=form&state=pending`), [cleanId]);
  assert.deepEqual(await found(`?source=${key.label}&state=held`), [spamId]);
  assert.deepEqual(await found(`?source=${key.label}&kind=lead`), []);
  assert.deepEqual(await found("?phone=415-555-0199"), [spamId, cleanId]);
  assert.deepEqual(await found("?phone=415-555-0199&state=held"), [spamId]);
  const { json } = await leadsOf("?state=held&phone=4155550199");
  const [held] = json.leads;
  assert.deepEqual([held.kind, held.verdict, held.state, held.delivery.state], [
    "form",
    "honeypot",
    "held",
    "held",
  ]);
  // The content's score appears beside the honeypot's verdict wherever a score is shown.
  assert.deepEqual([held.score, held.reasons], [1, ["honeypot_filled"]]);
  const [listed] = await ctl(["form", "held", "--honeypot", "--limit", "1"], {
    databaseUrl: testEnv.database.url,
  });
  assert.deepEqual([listed.submission_id, listed.score, listed.reasons], [spamId, 1, ["honeypot_filled"]]);
  const page = await get(`${ops}/leads/${spamId}`, { localAddress });
  assert.match(page.text, /The hidden field was filled in/);
  assert.ok(held.submission.phone !== undefined && held.lead === undefined);
  const metrics = await get(`${ops}/metrics`, { localAddress });
  assert.match(metrics.text, /\nlead_submissions_total\{verdict="honeypot"\} 1\n/);
  const report = await get(`${ops}/v1/report?tenant=${json.leads[0].tenant}`, { localAddress });
  const [row] = report.json.rows;
  assert.deepEqual([row.kind, row.accepted, row.pending, row.held_apart, row.delivered], [
    "form",
    2,
    1,
    1,
    0,
  ]);
});

test("a cursor continues after the last page and is valid for its query only", async () => {
  const key = await testEnv.issue();
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.unshift(await testEnv.accept(key));
  const tenant = `tenant=${key.tenant.slug}`;
  const pages: string[][] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const { json } = await leadsOf(`?${tenant}&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
    pages.push(json.leads.map((one: { event_id: string }) => one.event_id));
    cursor = json.next_cursor;
  }
  assert.deepEqual(pages, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);

  const { json } = await leadsOf(`?${tenant}&limit=2`);
  const good: string = json.next_cursor;
  assert.match(good, /^[\w-]+$/);
  // The limit is not part of the query.
  assert.deepEqual(await found(`?${tenant}&limit=1&cursor=${good}`), ids.slice(2, 3));
  const damaged = [
    good.slice(1),
    `${good}A`,
    good.replace(/.$/, (last) => last === "A" ? "B" : "A"),
    "x",
    "%00",
  ];
  for (
    const wrong of [
      ...damaged.map((one) => `${tenant}&cursor=${one}`),
      `cursor=${good}`,
      `${tenant}&kind=lead&cursor=${good}`,
    ]
  ) {
    const answer = await leadsOf(`?${wrong}`);
    assert.equal(answer.status, 400, wrong);
    assert.equal(answer.json.parameter, "cursor");
  }
});

test("an unknown, repeated, empty or invalid parameter answers 400 and is named", async () => {
  const cases: [string, string][] = [
    ["tenants=a", "tenants"],
    ["limit=1&?limit=1", "?limit"],
    ["Tenant=a", "Tenant"],
    ["tenant=a&tenant=a", "tenant"],
    ["tenant=", "tenant"],
    ["tenant", "tenant"],
    ["kind=leads", "kind"],
    ["flag=unknown", "flag"],
    ["state=gone", "state"],
    ["since=yesterday", "since"],
    ["since=2026-02-30", "since"],
    ["since=2026-01-01T25:00:00Z", "since"],
    ["until=1", "until"],
    ["since=2026-01-02&until=2026-01-02", "until"],
    ["limit=0", "limit"],
    ["limit=501", "limit"],
    ["limit=1.5", "limit"],
    ["limit=-1", "limit"],
    [`phone=${"1".repeat(65)}`, "phone"],
    [`last_name=${"x".repeat(101)}`, "last_name"],
    [`email=${"x".repeat(255)}`, "email"],
    ["last_name=%01", "last_name"],
    ["source=a%00", "source"],
    [`${"n".repeat(200)}=1`, "n".repeat(64)],
    ["a%22%3Cscript%3E=1", 'a"<script>'],
  ];
  for (const [query, parameter] of cases) {
    const answer = await leadsOf(`?${query}`);
    assert.equal(answer.status, 400, query);
    assert.deepEqual(Object.keys(answer.json), ["error", "parameter", "message", "request_id"]);
    assert.equal(answer.json.error, "invalid_parameter");
    assert.equal(answer.json.parameter, parameter);
    assert.equal(answer.json.request_id, answer.headers["x-request-id"]);
  }
});

test("neither the search terms nor the results reach the log", async () => {
  const key = await testEnv.issue();
  await testEnv.accept(key, { email: "q9secret@example.org" });
  const headers = { "X-Request-Id": "searched" };
  const answer = await get(`${ops}/v1/leads?email=q9secret@example.org`, { localAddress, headers });
  assert.equal(answer.json.leads.length, 1);
  const line = await until(() => server.logs.find((one) => one.request_id === "searched"));
  assert.deepEqual([line.surface, line.route, line.status], ["ops", "/v1/leads", 200]);
  assert.doesNotMatch(server.output.stdout, /q9secret/);
});
