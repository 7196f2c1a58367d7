import assert from "node:assert/strict";
import { test } from "node:test";
import postgres from "postgres";
import type { Markup } from "../../src/http/markup.ts";
import { navigation } from "../../src/ops/console/router.ts";
import { hostile } from "../support/console/crowd.ts";
import { plain } from "../support/console/plain.ts";
import { ConsoleStage } from "../support/console/stage.ts";
import { send } from "../support/client.ts";
import { until } from "../support/until.ts";
import { freshKey, lead } from "../support/test_env.ts";

const stage = await ConsoleStage.open();
const { testEnv } = stage;

const tenant = await testEnv.tenant();
const other = await testEnv.tenant();
const key = await testEnv.issue({ tenant, label: `key ${hostile}` });
const formId = (await testEnv.form({ tenant: tenant })).id;
const deadId = await testEnv.accept(key, {
  project_details: hostile,
  project_area: hostile,
  [hostile]: hostile,
});
await stage.kill(tenant, [deadId], hostile);
const heldId = await stage.held(key, formId, [hostile, "links"]);
const doneId = await testEnv.accept(key);
await stage.deliver(tenant, doneId, hostile);
const collidingKey = hostile.replaceAll(/[^ -~]/g, "");
for (const city of ["Springfield", hostile]) {
  await testEnv.intake({ key: key.text, body: lead({ city }), headers: { "Idempotency-Key": collidingKey } });
}
const [collision] = await testEnv.sql<{ id: string; event_id: string }[]>`select id, event_id from collision`;
await testEnv.sql`select append_audit('console', ${hostile}, 'test.hostile', ${[hostile]}, ${
  JSON.stringify({ hostile })
}::text::json)`;

// deno-lint-ignore no-control-regex
const unseen = /[\u0000-\u0008\u0080-\u009f\u200b\u202a-\u202e]/;

const pages = [
  ...navigation.map(({ path }) => path),
  "/?range=30d&refresh=on",
  `/dead?tenant=${tenant.slug}`,
  "/dead/replay-all",
  `/dead/replay-all?tenant=${tenant.slug}`,
  `/collisions/${collision?.id}`,
  `/tenants/${tenant.slug}`,
  `/leads/${deadId}`,
  `/leads/${heldId}`,
  `/leads/${doneId}`,
  `/leads/${collision?.event_id}`,
];

test("every console page is well-formed HTML with strict headers and escapes callers' text", async () => {
  const before = await stage.everything();
  for (const path of pages) {
    const { status, headers, text: page } = await stage.get(path);
    // Except a form's hidden value, which repeats the caller's text.
    const text = page.replaceAll(/<input\s+type="hidden" name="area" value="[^"]*">/g, "");
    assert.equal(status, 200, path);
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["x-frame-options"], "DENY");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["referrer-policy"], "same-origin");
    const policy = headers["content-security-policy"] as string;
    for (
      const part of [
        "default-src 'none'",
        "style-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ]
    ) assert.ok(policy.includes(part), `${part} of ${path}`);
    assert.doesNotMatch(policy, /script|unsafe/);
    assert.match(text, /^<!DOCTYPE html>[\s\S]*<\/html>\n$/);
    assert.equal(text.match(/<h1/g)?.length, 1, `one heading of the first rank on ${path}`);
    assert.doesNotMatch(text, /<script|<img|\sonerror=[^&]*>|\sstyle=/, path);
    assert.doesNotMatch(text, unseen, path);
    assert.doesNotMatch(text, /href="javascript:/i);
  }
  assert.deepEqual(await stage.everything(), before, "a GET changes nothing");
});

test("hostile text is shown readably", async () => {
  const { text } = await stage.get(`/leads/${deadId}`);
  assert.match(text, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  assert.match(text, /<span class="unseen">U\+202E<\/span>txt\.exe/);
  assert.match((await stage.get("/vocabulary")).text, /&lt;script&gt;/);
  assert.match((await stage.get("/keys")).text, /U\+202E/);
  assert.match((await stage.get("/held")).text, /The text contains links/);
  assert.match((await stage.get("/audit")).text, /U\+202E/);
});

test("a lead at every cap, with a huge extra and escaped U+0000, is shown in full", async () => {
  const details = `${"word ".repeat(3_199)}last!`;
  const big = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`member_${n}`, `<b>${n}`]));
  const body = JSON.stringify({ ...lead({ project_details: details }), ...big, nul: "a\0b" });
  const { json } = await testEnv.intake({ key: key.text, body, headers: { "Idempotency-Key": freshKey() } });
  const { status, text } = await stage.get(`/leads/${json.event_id}`);
  assert.equal(status, 200);
  assert.ok(text.includes(details));
  assert.match(text, /member_999/);
  assert.match(text, /a\\u0000b/);
  assert.doesNotMatch(text, /<b>\d/);
});

test("an invalid query answers a 400 page that names the fault", async () => {
  for (
    const path of [
      "/dead?tenat=x",
      "/dead?tenant=a&tenant=b",
      "/dead?tenant=%zz",
      "/dead?tenant=%00",
      "/dead?tenant=UPPER",
      "/?range=2h",
      "/audit?from=0",
      "/keys?tenant=%ff",
      `/leads/${deadId}?x=1`,
    ]
  ) {
    const { status, text } = await stage.get(path);
    assert.equal(status, 400, path);
    assert.match(text, /Invalid request/);
    assert.doesNotMatch(text, /name="tenat"/, "what cannot be used is not offered again");
  }
});

test("another method answers a 405 page that lists the allowed ones", async () => {
  const put = await send(`${stage.url}/dead`, { method: "PUT", localAddress: "127.0.0.1" });
  assert.deepEqual([put.status, put.headers.allow], [405, "GET, HEAD"]);
  const get = await stage.get("/dead/replay");
  assert.deepEqual([get.status, get.headers.allow], [405, "POST"]);
});

/** The actions with a form that would succeed. */
const actions = [
  { path: "/dead/replay", page: "/dead", fields: [["only", deadId]] },
  { path: "/dead/replay-all", page: "/dead/replay-all", fields: [] },
  {
    path: "/leads/send-again",
    page: `/leads/${doneId}`,
    fields: [["only", doneId], ["effect", "crm"], ["seen", "1"]],
  },
  { path: "/held/review", page: "/held", fields: [["release", heldId]] },
  { path: "/vocabulary/add", page: "/vocabulary", fields: [["area", "nook"], ["status", "confirmed"]] },
] as const;

for (const { path, page, fields } of actions) {
  test(`POST ${path} refuses a forged form and changes nothing`, async () => {
    const token = await stage.token(page, path);
    const good = [...fields, ["token", token]] as [string, string][];
    const elsewhere = actions.find((one) => one.path !== path) as typeof actions[number];
    const foreign = await stage.token(elsewhere.page, elsewhere.path);
    const before = await stage.everything();
    const refusals: [number, Promise<{ status: number; text: string }>][] = [
      [403, stage.post(path, fields)],
      [403, stage.post(path, [...fields, ["token", "x.y"]])],
      [403, stage.post(path, [...fields, ["token", `${token}x`]])],
      [403, stage.post(path, [...fields, ["token", foreign]])],
      [403, stage.post(path, good, { Origin: "http://evil.example" })],
      [403, stage.post(path, good, { "Origin": "null" })],
      [403, stage.post(path, good, { Origin: stage.url.replace(/\d+$/, "1") })],
      [403, stage.post(path, good, { "Sec-Fetch-Site": "cross-site" })],
      [403, stage.post(path, good, { "Sec-Fetch-Site": "same-site" })],
      [403, stage.post(path, good, { "Origin": null, "Sec-Fetch-Site": null })],
      [415, stage.post(path, good, { "Content-Type": "text/plain" })],
      [415, stage.post(path, good, { "Content-Type": "multipart/form-data; boundary=x" })],
      [413, stage.post(path, [...good, ["filler", "x".repeat(70_000)]])],
      [400, stage.post(path, [...good, ["unheard_of", "x"]])],
      [400, stage.post(path, [...good, ["token", token]])],
    ];
    for (const [expected, answer] of refusals) {
      const { status, text } = await answer;
      assert.equal(status, expected);
      assert.match(text, /<!DOCTYPE html>/);
    }
    assert.deepEqual(await stage.everything(), before);
  });
}

/** Posts a page's form, follows the redirect and returns that page. */
async function act(page: string, path: string, fields: readonly (readonly [string, string])[]) {
  const token = await stage.token(page, path);
  const answer = await stage.post(path, [...fields, ["token", token]]);
  assert.equal(answer.status, 303, answer.text);
  const location = answer.headers.location as string;
  assert.match(location, /^\//);
  return { location, ...(await stage.get(location)) };
}

test("replaying a dead letter requeues it with an audit row, and repeating that is harmless", async () => {
  const done = await act(`/leads/${deadId}`, "/dead/replay", [["only", deadId], ["page", "lead"]]);
  assert.ok(done.location.startsWith(`/leads/${deadId}?done=`));
  assert.match(done.text, /1 dead letter returned to pending/);
  assert.match(done.text, /Replayed by <bdi>console</);
  const [row] = await testEnv.sql`select * from outbox where event_id = ${deadId}`;
  assert.equal(row?.is_replay, true);
  const entry = {
    actor: `console ${stage.login}`,
    claimed: "console",
    action: "dead.replay",
    subject: deadId,
  };
  assert.deepEqual((await stage.audit()).at(-1), entry);
  const before = await stage.everything();
  const dead = await testEnv.accept(key);
  await stage.kill(tenant, [dead]);
  const again = await act("/dead", "/dead/replay", [["only", deadId]]);
  assert.match(again.text, /none of them is still a dead letter/);
  assert.deepEqual((await stage.audit()).length, (before as { audit: unknown[] }).audit.length);
});

test("a delivered lead lists its effects by name and repeats one of them once, with an audit row", async () => {
  const page = `/leads/${doneId}`;
  const { text } = await stage.get(page);
  const plain = text.replaceAll(/<[^>]*>/g, "").replaceAll(/\s+/g, " ");
  assert.match(
    plain,
    /Effects CRM to crm\.example done 200 20\d\d-\d\d-\d\d \S+ .*Response 200&lt;script&gt;alert\(1\)/,
  );
  assert.match(plain, /Email to l…@acme\.example failed 451 .*smtp_deferred_451, tried 3 times/);
  assert.match(plain, /Send again… Send it again\? Recipients: CRM .*\. The customer receives it twice/);
  const unasked = text.replaceAll(/<details class="ask">[^]*?<\/details>/g, "");
  assert.doesNotMatch(unasked, /send-again/, "the button is behind a question");
  const done = await act(page, "/leads/send-again", [["only", doneId], ["effect", "crm"], ["seen", "1"]]);
  assert.match(done.text, /It is being sent again/);
  assert.match(done.text, /Sent again by <bdi>console</);
  assert.deepEqual((await stage.audit()).at(-1), {
    actor: `console ${stage.login}`,
    claimed: "console",
    action: "event.send_again",
    subject: doneId,
  });
  const rows = (await stage.audit()).length;
  // The page was loaded before the previous press.
  const another = await testEnv.accept(key);
  await stage.deliver(tenant, another);
  const token = await stage.token(`/leads/${another}`, "/leads/send-again");
  const twice = await stage.post("/leads/send-again", [["only", doneId], ["effect", "all"], ["seen", "1"], [
    "token",
    token,
  ]]);
  assert.match((await stage.get(twice.headers.location as string)).text, /it is already being sent/);
  assert.equal((await stage.audit()).length, rows);
});

test("a tenant's page shows its routes' responses, and without ACTIONS_URL no dry run", async () => {
  const { text } = await stage.get(`/tenants/${tenant.slug}`);
  const plain = text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  assert.match(plain, /everything Email l…@acme\.example failed 451 .* smtp_deferred_451 /);
  assert.match(plain, /Dry run of the last lead ACTIONS_URL is not set for this process/);
  assert.match(text, /<button disabled>/);
  assert.doesNotMatch(text, /hunter2|whsec_|\/dry-run"/);
});

test("replaying chosen dead letters leaves the others, with an audit row for each", async () => {
  const ids = [await testEnv.accept(key), await testEnv.accept(key), await testEnv.accept(key)].sort();
  await stage.kill(tenant, ids);
  const chosen = ids.slice(0, 2).map((id) => ["event_id", id] as const);
  const { text } = await act("/dead", "/dead/replay", [...chosen, ...chosen, ["tenant", tenant.slug]]);
  assert.match(text, /2 dead letters returned/);
  const left = await testEnv.sql<{ event_id: string }[]>`select event_id from dead_letter`;
  assert.ok(left.some((row) => row.event_id === ids[2]));
  const noted = (await stage.audit()).slice(-2);
  assert.deepEqual(noted.map(({ subject }) => subject), ids.slice(0, 2));
  assert.match((await act("/dead", "/dead/replay", [])).text, /nothing was selected/);
  const token = await stage.token("/dead", "/dead/replay");
  const wrong = await stage.post("/dead/replay", [["event_id", "' or 1=1"], ["token", token]]);
  assert.equal(wrong.status, 400);
});

test("replaying all asks for confirmation with the number and affects only the chosen tenant", async () => {
  const otherKey = await testEnv.issue({ tenant: other });
  const theirs = await testEnv.accept(otherKey);
  await stage.kill(other, [theirs]);
  const ours = await Promise.all(Array.from({ length: 5 }, () => testEnv.accept(key)));
  await stage.kill(tenant, ours);
  const [{ count }] = await testEnv.sql<[{ count: number }]>`
    select count(*)::int from dead_letter where tenant_id = ${tenant.id}`;
  const asked = await stage.get(`/dead/replay-all?tenant=${tenant.slug}`);
  assert.match(asked.text, new RegExp(`Replay ${count} dead letters\\?`));
  const page = `/dead/replay-all?tenant=${tenant.slug}`;
  const { text } = await act(page, "/dead/replay-all", [["tenant", tenant.slug]]);
  assert.match(text, new RegExp(`${count} dead letters returned`));
  const left = await testEnv.sql<{ event_id: string }[]>`select event_id from dead_letter`;
  assert.deepEqual(left.map((row) => row.event_id), [theirs]);
  assert.match((await stage.get("/audit")).text, new RegExp(`and ${count - 3} more`));
});

test("the list of dead letters is filtered, and replaying all of these affects no others", async () => {
  const ids = [await testEnv.accept(key), await testEnv.accept(key)];
  await stage.kill(tenant, ids.slice(0, 1), "crm failed: http_503; email failed: timeout");
  await stage.kill(tenant, ids.slice(1), "email failed: timeout");
  const [first = "", second = ""] = ids;
  const shows = async (query: string) => {
    const { text } = await stage.get(`/dead?${query}`);
    return [first, second].map((id) => text.includes(`/leads/${id}`));
  };
  assert.deepEqual(await shows(`tenant=${tenant.slug}`), [true, true]);
  assert.deepEqual(await shows("to=crm"), [true, false]);
  assert.deepEqual(await shows("reason=HTTP_503"), [true, false]);
  assert.deepEqual(await shows("source=nobody"), [false, false]);
  assert.deepEqual(await shows("since=1h&until=1m"), [false, false]);
  assert.equal((await stage.get("/dead?since=1h&until=2h")).status, 400);
  const query = `tenant=${tenant.slug}&reason=http_503&to=crm&since=1h`;
  const asked = await stage.get(`/dead/replay-all?${query}`);
  assert.match(
    asked.text.replaceAll(/<[^>]*>/g, ""),
    new RegExp(
      `of ${tenant.slug} whose reason contains http_503, of which the last attempt failed at CRM, received since 1h return`,
    ),
  );
  const [, since = ""] = /name="since" value="([^"]+)"/.exec(asked.text) ?? [];
  assert.match(since, /^\d{4}-.*Z$/, "the time does not move while the operator thinks");
  const fields = [["tenant", tenant.slug], ["reason", "http_503"], ["to", "crm"], ["since", since]] as const;
  const { text, location } = await act(`/dead/replay-all?${query}`, "/dead/replay-all", fields);
  assert.match(text, /1 dead letter returned to pending/);
  assert.match(location, /^\/dead\?tenant=.*reason=http_503/);
  const left = await testEnv.sql`select event_id from dead_letter where tenant_id = ${tenant.id}`;
  assert.deepEqual(left.map((row) => row.event_id), [second]);
});

test("releasing several held submissions asks first and says that emails go out", async () => {
  const ids = [await stage.held(key, formId), await stage.held(key, formId)];
  const chosen = [["release", "chosen"], ...ids.map((id) => ["submission_id", id] as const)] as const;
  const token = await stage.token("/held", "/held/review");
  const before = await stage.everything();
  const asked = await stage.post("/held/review", [...chosen, ["token", token]]);
  assert.equal(asked.status, 200);
  assert.match(
    asked.text.replaceAll(/<[^>]*>/g, ""),
    /Release 2 submissions\?\s.*the customers get 2 emails/s,
  );
  for (const id of ids) assert.ok(asked.text.includes(`name="submission_id" value="${id}"`));
  assert.deepEqual(await stage.everything(), before);
  const { text } = await act("/held", "/held/review", [...chosen, ["confirmed", "yes"]]);
  assert.match(text, /2 submissions released/);
});

test("a tenant's page pauses and resumes its deliveries, each with an audit row", async () => {
  const page = `/tenants/${tenant.slug}`;
  const plain = async (path: string) =>
    (await stage.get(path)).text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  const pausing = [["scope", "all"], ["reason", "<b>until Monday"]] as const;
  assert.match((await act(page, `${page}/pause`, pausing)).text, /Paused\. Posts are accepted/);
  const waiting = await testEnv.accept(key);
  assert.match(
    await plain(page),
    /All deliveries are paused : &lt;b&gt;until Monday \. Since .* events? waits?\./,
  );
  assert.match(await plain("/tenants"), new RegExp(`${tenant.slug} ${tenant.slug} paused `));
  assert.match(await plain("/"), new RegExp(`Paused 1 tenant ${tenant.slug} ; \\d+ events? waits?`));
  assert.match(await plain("/report"), new RegExp(`Deliveries are paused: ${tenant.slug} \\.`));
  const report = await stage.get("/v1/report");
  assert.deepEqual(report.json.paused.map(({ since: _, ...rest }: { since: string }) => rest), [
    { tenant: tenant.slug, destination: "all", reason: "<b>until Monday" },
  ]);
  assert.match(await plain(`/leads/${waiting}`), /paused : an operator has paused/);
  assert.match((await act(page, `${page}/pause`, [["scope", "email"]])).text, /Email is paused/);
  assert.match((await act(page, `${page}/resume`, [["scope", "all"]])).text, /Resumed\. What waited is sent/);
  assert.match(
    (await act(page, `${page}/resume`, [["scope", "email"]])).text,
    /Resumed\. What waited is sent/,
  );
  const noted = (await stage.audit()).slice(-4);
  const actions = ["tenant.pause", "tenant.pause", "tenant.resume", "tenant.resume"];
  assert.deepEqual(
    noted.map(({ action, subject, claimed }) => [action, subject, claimed]),
    actions.map((action) => [action, tenant.slug, "console"]),
  );
  // The page that the other operator still has open.
  await act(page, `${page}/pause`, pausing);
  const token = await stage.token(page, `${page}/resume`);
  for (const text of [/Resumed/, /Nothing was changed: it is not paused/]) {
    const { headers } = await stage.post(`${page}/resume`, [["scope", "all"], ["token", token]]);
    assert.match((await stage.get(headers.location as string)).text, text);
  }
});

test("releasing a held submission queues it for delivery once, with an audit row", async () => {
  const again = await stage.held(key, formId);
  const { text } = await act(`/leads/${heldId}`, "/held/review", [["release", heldId], ["page", "lead"]]);
  assert.match(text, /1 submission released/);
  assert.match(text, /Released by <bdi>console</);
  assert.deepEqual((await stage.audit()).at(-1), {
    actor: `console ${stage.login}`,
    claimed: "console",
    action: "submission.release",
    subject: heldId,
  });
  const [row] = await testEnv.sql`select reason from outbox where event_id = ${heldId}`;
  assert.equal(row?.reason, "released");
  assert.match(
    (await act("/held", "/held/review", [["release", heldId]])).text,
    /none of them is still held/,
  );
  assert.match(
    (await act("/held", "/held/review", [["release", "chosen"], ["submission_id", again]])).text,
    /1 submission released/,
  );
});

test("a delivered submission can be reported as spam and the report withdrawn, each with an audit row and a count", async () => {
  const reported = async () =>
    /(\d+) delivered submissions? reported as spam/.exec((await stage.get("/held")).text)?.[1];
  const before = Number(await reported());
  const press = (isSpam: string) =>
    act(`/leads/${heldId}`, "/leads/mark-spam", [["only", heldId], ["is_spam", isSpam]]);
  assert.match((await press("yes")).text, /Saved\. .*Not spam/s);
  assert.equal(Number(await reported()), before + 1);
  assert.match((await press("no")).text, /Report as spam/);
  assert.equal(Number(await reported()), before);
  const noted = (await stage.audit()).slice(-2).map(({ action, subject }) => [action, subject]);
  assert.deepEqual(noted, [["submission.spam", heldId], ["submission.not_spam", heldId]]);
});

test("a lead is returned and the return undone with a button, each with an audit row, and lists mark it", async () => {
  const returned = await testEnv.issue({ label: "returned" });
  const id = await testEnv.accept(returned, { cost: 20 });
  const press = (...fields: [string, string][]) =>
    act(`/leads/${id}`, "/leads/return", [["only", id], ...fields]);
  const { text } = await press(["reason", "out_of_area"], ["note", " <b>too far </b>"]);
  assert.match(text, /Returned\. Its cost is credited/);
  assert.match(
    text,
    /out of area<\/strong>, \$20\.00 credited, by <bdi>console.*&lt;b&gt;too.* far &lt;\/b&gt;/s,
  );
  assert.match((await stage.get("/leads?source=returned")).text, /badge warn"><bdi>returned</);
  const { json } = await stage.get("/v1/leads?source=returned");
  assert.deepEqual([json.leads[0].returned.reason, json.leads[0].returned.credit_cents], [
    "out_of_area",
    2000,
  ]);
  assert.match((await press(["undo", "yes"])).text, /No longer returned.*Return this lead/s);
  assert.match((await press(["undo", "yes"])).text, /Nothing was changed: it is not returned/);
  const noted = (await stage.audit()).slice(-2).map(({ action, subject }) => [action, subject]);
  assert.deepEqual(noted, [["lead.return", id], ["lead.undo_return", id]]);
  for (
    const fields of [[], [["reason", "spam"], ["undo", "yes"]], [["reason", "bored"]]] as [string, string][][]
  ) {
    const token = await stage.token(`/leads/${id}`, "/leads/return");
    const answer = await stage.post("/leads/return", [["only", id], ["token", token], ...fields]);
    assert.equal(answer.status, 400);
  }
});

test("a statement asks for a tenant and a month, and says what a month looks like", async () => {
  const page = async (query: string) => await stage.get(`/statement${query}`);
  assert.match((await page("")).text, /Select a tenant to see/);
  const wrong = await page(`?tenant=${tenant.slug}&month=nov`);
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /such as 2026-11.*value="nov" aria-invalid="true"/s);
  const { text } = await page(`?tenant=${tenant.slug}&month=2025-12`);
  assert.match(text, /Statement for December 2025/);
  assert.deepEqual(
    ["2025-11", "2026-01"].map((month) => text.includes(`tenant=${tenant.slug}&amp;month=${month}`)),
    [true, true],
  );
  assert.equal((await stage.get("/v1/statement?tenant=nobody&month=2025-12")).json.parameter, "tenant");
  assert.equal((await stage.get(`/v1/statement?tenant=${tenant.slug}&month=x`)).json.parameter, "month");
  const foreign = `statement?tenant=${tenant.slug}&month=2025-12&source=%3Cb%3Eelsewhere`;
  assert.equal((await stage.get(`/v1/${foreign}`)).json.parameter, "source");
  const { status, text: refused } = await stage.get(`/${foreign}`);
  assert.equal(status, 400);
  assert.match(refused, /has no source <bdi>&lt;b&gt;elsewhere<\/bdi> for leads\./);
  assert.match(refused, /<select id="source"/);
});

test("dismissing held submissions empties the list and delivers nothing, with an audit row for each", async () => {
  const ids = [await stage.held(key, formId), await stage.held(key, formId)];
  const page = (await stage.get("/held")).text;
  for (const id of ids) assert.ok(page.includes(`/leads/${id}`));
  assert.match(page, /What the reasons mean/);
  const queued = async () => (await testEnv.sql`select count(*)::int as n from outbox`)[0]?.n;
  const before = await queued();
  const { text } = await act("/held", "/held/review", [
    ["dismiss", "chosen"],
    ...ids.map((id) => ["submission_id", id] as [string, string]),
  ]);
  assert.match(text, /2 submissions dismissed/);
  for (const id of ids) assert.ok(!text.includes(`/leads/${id}`));
  assert.match(text, /No submissions to review/);
  assert.equal(await queued(), before);
  const noted = (await stage.audit()).filter(({ action }) => action === "submission.dismiss");
  assert.deepEqual(noted.map(({ subject }) => subject).sort(), [...ids].sort());
  const [one] = ids;
  const shown = (await stage.get(`/leads/${one}`)).text;
  assert.match(shown, /Dismissed by <bdi>console</);
  assert.match(shown, /name="release"/, "it can still be released");
  assert.doesNotMatch(shown, /name="dismiss"/);
  assert.match(
    (await stage.get("/leads?state=held")).text,
    new RegExp(`/leads/${one}`),
    "the search finds it",
  );
});

test("a held submission's page names the words that weigh most, with their shares", async () => {
  const fields = {
    project_details: "We offer SEO services to rank your website on the first page of Google",
  };
  const { text } = await stage.get(
    `/leads/${await stage.held(key, formId, ["wording"], { score: 99, fields })}`,
  );
  assert.match(text, /Main evidence/);
  assert.match(text, /<li>“<bdi>We offer SEO services[^<]*<\/bdi>” <span class="quiet">\d+%<\/span>/);
});

test("the held list shows people first with sender and text, folds honeypot hits into one line, and selects all", async () => {
  const judged = await testEnv.issue({});
  const form = (await testEnv.form({ tenant: judged.tenant })).id;
  const words = "Our roof leaks above the porch ".repeat(8);
  const of = (score: number, fields: Record<string, string> = {}, reasons = ["wording"]) =>
    stage.held(judged, form, reasons, { score, fields });
  const likely = await of(90);
  const person = await of(55, { email: "grace@example.com", project_details: words }, ["wording", "links"]);
  const trapped = [await of(3, {}, ["honeypot_filled"]), await of(99, {}, ["honeypot_filled", "links"])];
  const page = async (more = "") => (await stage.get(`/held?tenant=${judged.tenant.slug}${more}`)).text;
  const listed = (text: string) =>
    [...text.matchAll(/name="submission_id" value="(\w+)"/g)].map(([, id]) => id);

  const all = await page();
  assert.deepEqual(listed(all), [person, likely]);
  const row = all.slice(all.indexOf(`value="${person}"`), all.indexOf(`value="${likely}"`));
  const text = plain({ text: row } as Markup);
  assert.match(text, /^value=[^>]*>Ada [^,]+, grace@example.com *Our roof leaks above the porch/);
  const [shown = ""] = /Our roof[^…]*…/.exec(text) ?? [];
  assert.ok([...shown].length > 190 && [...shown].length <= 200, shown);
  assert.ok(words.startsWith(`${shown.slice(0, -1)} `), "it is cut between words");
  assert.match(all, /2 filled in the hidden field/);

  assert.deepEqual(listed(await page("&reason=links")), [person]);
  assert.deepEqual(listed(await page("&reason=honeypot_filled")), trapped);
  assert.doesNotMatch(all, / checked/);
  const chosen = await page("&reason=honeypot_filled&choose=all");
  assert.equal(chosen.split(" checked ").length, 3);
  const fields = [["tenant", judged.tenant.slug], ["reason", "honeypot_filled"]] as [string, string][];
  const ids = trapped.map((id) => ["submission_id", id] as [string, string]);
  const after = await act("/held", "/held/review", [["dismiss", "chosen"], ...ids, ...fields]);
  assert.match(after.text, /2 submissions dismissed/);
  assert.match(after.text, /<option value="honeypot_filled" selected>/, "the list is narrowed as before");
  assert.deepEqual(listed(await page()), [person, likely]);
  assert.doesNotMatch(await page(), /filled in the hidden field<\/a>/);
  await act("/held", "/held/review", [["dismiss", "chosen"], ["submission_id", likely], [
    "submission_id",
    person,
  ]]);
});

test("the report counts posts by source and day and links to the CSV of the same days", async () => {
  const reported = await testEnv.issue({ label: "reported" });
  for (const cost of [12.5, 30]) await testEnv.accept(reported, { cost });
  await stage.kill(reported.tenant, [await testEnv.accept(reported)]);
  await testEnv.intake({ key: reported.text, body: `{"first_name":"Ada"}` });
  await until(
    async () => {
      const { text } = await stage.get(`/report?range=today&tenant=${reported.tenant.slug}`);
      return /last_name required/.test(text);
    },
    { what: "the refusal is counted" },
  );
  for (const range of ["today", "7d", "30d"]) {
    const { status, text } = await stage.get(
      `/report?range=${range}&tenant=${reported.tenant.slug}&source=reported`,
    );
    assert.equal(status, 200);
    const cells = [...text.matchAll(/<td[^>]*class="number"[^>]*>(.*?)<\/td>/gs)].map(([, cell = ""]) =>
      cell.replaceAll(/<[^>]*>/g, " ").trim().split(" ")[0]
    );
    // Accepted, delivered, waiting and dead, duplicates, refused posts, returned, gross, credit, net.
    assert.deepEqual(cells.slice(0, 9), ["3", "0", "2", "0", "1", "0", "$42.50", "$0.00", "$42.50"], range);
    assert.match(text, /2 waiting<br><a href="\/dead">1 dead<\/a>/);
    assert.match(text, /2 invalid fields<ul>(?=.*last_name required: 1)(?=.*phone required: 1)/s);
    const csv = /href="(\/v1\/report[^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") as string;
    const file = await stage.get(csv);
    assert.equal(file.status, 200);
    assert.match(file.headers["content-type"] ?? "", /^text\/csv/);
    assert.match(file.text, new RegExp(`${reported.tenant.slug},reported,lead,3,`));
  }
});

test("the navigation has badges for dead rows, held submissions to review and open collisions", async () => {
  const badge = async (path: string) =>
    new RegExp(`<a href="${path}"[^>]*>\\w+ <span class="badge[^"]*">([\\d,]+)<`).exec(
      (await stage.get("/keys")).text,
    )?.[1];
  const { tenant } = await testEnv.issue();
  const from = await testEnv.issue({ tenant });
  await stage.held(from, (await testEnv.form({ tenant: tenant })).id);
  await stage.held(from, (await testEnv.form({ tenant, formKey: "quote" })).id, ["honeypot_filled"]);
  const text = (await stage.get(`/held`)).text;
  assert.equal(await badge("/held"), String(text.split('name="submission_id"').length - 1));
  await testEnv.sql`update collision set other_person = true, settled_at = null where id = ${collision
    ?.id as string}`;
  assert.equal(await badge("/collisions"), "1");
  await stage.kill(tenant, [await testEnv.accept(from)]);
  await until(async () => await badge("/dead") !== undefined, { what: "the heartbeat counts it" });
});

test("the overview has the report's totals for its period: accepted, delivered, refused posts, failing fields", async () => {
  const past = (await stage.get("/report?range=2024-05&source=former")).text;
  for (const value of ["2024-05", "former"]) {
    assert.match(past, new RegExp(`<option value="${value}" selected>`), "the next Show keeps it");
  }
  for (const range of ["7d", "30d"]) {
    const [, all = ""] = (await stage.get(`/report?range=${range}`)).text.split("<strong>All</strong>");
    const invalid = /([\d,]+) invalid fields?/.exec(all)?.[1];
    const cells = [...all.matchAll(/<td[^>]*class="number"[^>]*>(?:<a[^>]*>)?([\d,]+)/g)].map(([, cell]) =>
      cell
    );
    const text = plain({ text: (await stage.get(`/?range=${range}`)).text } as Markup);
    const summary = /: (\S+) accepted, (\S+) delivered, (\S+) posts? refused(?: \((\S+) invalid fields?\))?/
      .exec(
        text,
      );
    assert.deepEqual(summary?.slice(1), [cells[0], cells[1], cells[4], invalid]);
  }
});

test("confirming and proposing a term changes the public vocabulary, with an audit row", async () => {
  for (const term of ["Nook", "nook", "NOOK", "snug"]) await testEnv.accept(key, { project_area: term });
  const { text } = await stage.get("/vocabulary");
  assert.match(text, /<bdi>NOOK<\/bdi>/, "one of the three spellings stands for all");
  assert.match(
    (await act("/vocabulary", "/vocabulary/add", [["area", "nook"], ["status", "proposed"]])).text,
    /is proposed/,
  );
  assert.match(
    (await act("/vocabulary", "/vocabulary/add", [["area", "nook"], ["status", "confirmed"]])).text,
    /is confirmed/,
  );
  assert.match(
    (await act("/vocabulary", "/vocabulary/add", [["area", "Nook"], ["status", "proposed"]])).text,
    /Nothing was changed/,
  );
  const byConsole = { actor: `console ${stage.login}`, claimed: "console" };
  assert.deepEqual((await stage.audit()).slice(-2), [
    { ...byConsole, action: "area.propose", subject: "nook" },
    { ...byConsole, action: "area.confirm", subject: "nook" },
  ]);
  const [area] = await testEnv.sql`select status from area where area = 'nook'`;
  assert.equal(area?.status, "confirmed");
  const unheard = await act("/vocabulary", "/vocabulary/add", [["area", "never sent"], [
    "status",
    "confirmed",
  ]]);
  assert.match(unheard.text, /no lead has that term/);
  const [none] = await testEnv.sql`select 1 from area where area = 'never sent'`;
  assert.equal(none, undefined);
});

test("the service's role may only confirm a term that was sent", async () => {
  const asService = postgres(stage.roleUrl, { max: 1, onnotice: () => {} });
  try {
    const confirm = async (area: string, status: string, known: string | null) => {
      const [row] =
        await asService`select console_confirm_area(${area}, ${status}, ${known}, 'x') as outcome`;
      return row?.outcome;
    };
    await assert.rejects(confirm("snug", "retired", null), { code: "23514" });
    assert.equal(await confirm("never sent", "confirmed", null), "not_found");
    assert.equal(await confirm("snug", "confirmed", "no such term"), "changed_meanwhile");
    assert.equal(await confirm("attic", "proposed", null), "unchanged");
    await testEnv.sql`insert into area (area, status) values ('bothy', 'retired')`;
    assert.equal(await confirm("snug", "confirmed", "bothy"), "not_found", "what is retired stays so");
  } finally {
    await asService.end();
  }
});

test("unused keys are marked, and no page shows more of a key than its last characters", async () => {
  const stale = await testEnv.issue({ tenant: other, label: "stale one" });
  await testEnv.sql`
    update api_key set created_at = now() - interval '90 days', last_used_at = now() - interval '60 days'
    where id = ${stale.id}`;
  const { text } = await stage.get("/keys");
  assert.match(text, /<tr role="row" class="stale">/);
  assert.ok(text.includes(`…<bdi>${stale.text.slice(-4)}`));
  for (const path of pages) assert.ok(!(await stage.get(path)).text.includes(stale.text.slice(0, 30)));
});

test("a source's page lists unknown fields with the likely name and marks a key that was sent in a URL", async () => {
  const source = await testEnv.issue({ label: "sloppy" });
  for (const zipcode of ["97201", "97202"]) await testEnv.accept(source, { zipcode, campaign: "spring" });
  await testEnv.sql`
    insert into refusal_total values (date_trunc('hour', now()), ${source.id}, 'key_in_url', '', 1)`;
  assert.match((await stage.get("/keys")).text, /badge bad">exposed</);
  const { text } = await stage.get(`/keys/${source.id}`);
  assert.match(text, /<code><bdi>zipcode<\/bdi><\/code>.*?>2<.*?>zip</s);
  assert.match(text, /<code><bdi>campaign<\/bdi><\/code>.*?>2<.*?>–</s);
  assert.doesNotMatch(text, /9720[12]|spring/);
  for (const id of ["0", "x", "99999999999"]) assert.equal((await stage.get(`/keys/${id}`)).status, 404);
});

test("the search filters by person, state and flag, in pages, and lists who, what and where, without email and phone", async () => {
  const searchKey = await testEnv.issue({ label: "searched" });
  const person = {
    first_name: "Zenobia",
    last_name: "Quill",
    email: "zenobia@quill.example",
    phone: "503-555-0177",
    city: "Portland",
    project_area: "kitchen",
    cost: 45,
  };
  const ids: string[] = [];
  for (let n = 0; n < 52; n++) ids.unshift(await testEnv.accept(searchKey, person));
  const found = async (query: string) => {
    const { status, text } = await stage.get(`/leads?${query}`);
    assert.equal(status, 200, query);
    // Except the search terms in the form and in the next page's address.
    assert.doesNotMatch(
      text.replaceAll(/<input[^>]*>|href="[^"]*"/g, ""),
      /quill\.example|555-?0177/i,
      "no contact data",
    );
    const next = /href="(\/leads\?[^"]*cursor=[^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
    return { ids: [...text.matchAll(/href="\/leads\/(\w+)"/g)].map((match) => match[1]), next, text };
  };
  for (
    const query of [
      "email=Zenobia%40quill.example",
      "phone=%28503%29+555-0177",
      "last_name=qui",
      "source=searched&kind=lead&state=pending",
      `tenant=${searchKey.tenant.slug}&since=2020-01-01&until=&flag=`,
      "source=searched&since=7d",
    ]
  ) {
    const first = await found(query);
    assert.deepEqual(first.ids, ids.slice(0, 50), query);
    const summary = first.text.replaceAll(/<[^>]*>/g, "");
    assert.equal(summary.split("Zenobia Quillkitchen · Portland · $45.00 · …0177").length, 51);
    const second = await found((first.next as string).slice("/leads?".length));
    assert.deepEqual(second.ids, ids.slice(50));
    assert.equal(second.next, undefined);
  }
  const nobody = await found("email=nobody%40quill.example");
  assert.match(nobody.text, /No match/);
  assert.equal(
    nobody.text.match(/ name="(since|until)"[^>]* type="date"/g)?.length,
    2,
    "days come from a picker",
  );
  assert.deepEqual((await found("source=searched&until=1h")).ids, []);
  for (
    const [field, value, shape] of [["last_name", ids[3], "an event id"], [
      "email",
      "503-555-0100",
      "a phone number",
    ]]
  ) {
    const { text } = await found(`${field}=${value}`);
    assert.match(
      text,
      new RegExp(
        `<strong><bdi>${value}</bdi></strong> looks like ${shape}: <a href="/find\\?q=${value}">`,
      ),
    );
    assert.match(text, new RegExp(`name="${field}" value="${value}"`));
  }
  assert.match(
    (await stage.get("/leads")).text,
    /<details class="more"><summary>/,
    "filters are closed unless set",
  );
  assert.deepEqual((await found(`state=dead&source=searched`)).ids, []);
  for (
    const query of ["state=gone", "since=yesterday", "since=2026-02-30", "cursor=abc", "flag=x", "email=%zz"]
  ) {
    assert.equal((await stage.get(`/leads?${query}`)).status, 400, query);
  }
  const wrong = await stage.get("/leads?since=yesterday&last_name=qui&state=dead");
  assert.match(
    wrong.text,
    /name="since" value="yesterday"[^>]*aria-invalid="true"/,
    "the form keeps what was filled in",
  );
  assert.match(wrong.text, /name="last_name" value="qui"/);
  assert.match(wrong.text, /<option value="dead" selected>/);
  assert.match(wrong.text, /2026-11-20T14:00:00Z/, "and says what it takes");
  const log = stage.server.output.stdout;
  assert.doesNotMatch(log, /zenobia|quill|5550177|555-0177/i, "what was searched for is in no log");
});

test("an unexpected fault is a page that refers to the log and hides the cause", async () => {
  testEnv.expectLogged("fault");
  await testEnv.sql`alter table collision rename to gone`;
  try {
    const { status, headers, text } = await stage.get("/collisions", { "X-Request-Id": "look-here<b>" });
    assert.equal(status, 503);
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    assert.match(text, /This page failed/);
    assert.match(text, /look-here&lt;b&gt;/);
    assert.doesNotMatch(text, /42P01|SQLSTATE|postgres|file:/i);
  } finally {
    await testEnv.sql`alter table gone rename to collision`;
  }
  const line = await until(() => stage.server.logs.find((entry) => entry.event === "fault"));
  assert.equal(line.request_id, "look-here<b>");
  assert.equal((await stage.get("/collisions")).status, 200);
});
