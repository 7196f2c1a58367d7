/** Tests that every identifier finds what was posted with it, through `ctl find` and the console. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { ctl, runCtl } from "../support/server.ts";
import { freshKey, lead, TestEnv, visitor } from "../support/test_env.ts";
import { until } from "../support/until.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const on = { databaseUrl: testEnv.database.url };
const key = await testEnv.issue();
const { form, key: formKey } = await testEnv.formWithKey();

const page = (text: string) =>
  get(`${server.urls.ops}/find?q=${encodeURIComponent(text)}`, { localAddress: "127.0.0.1" });

/** Returns the pages of a text's results in the console, in order. */
async function found(text: string): Promise<(string | undefined)[]> {
  const { text: html } = await page(text);
  return [...html.matchAll(/href="(\/(?:leads|collisions|keys)\/\w+)"/g)].map(([, path]) => path);
}

// deno-lint-ignore no-explicit-any
const find = async (text: string): Promise<any> =>
  JSON.parse((await runCtl(["find", "--json", "--", text], on)).stdout);

const post = (body: object, headers: Record<string, string>) =>
  testEnv.intake({ key: key.text, body, headers });

test("each identifier finds its lead, submission, collision and logged posts, in every reading", async () => {
  const idempotencyKey = freshKey();
  const body = lead({
    first_name: "Žofie",
    last_name: "Ångström",
    phone: "(415) 555-0171",
    email: "Zofie@Example.org",
    external_id: "crm-7",
  });
  const sent = (id: string) => ({ "Idempotency-Key": idempotencyKey, "X-Request-Id": id });
  const { json: { event_id: event } } = await post(body, sent("req accepted"));
  const other = { ...body, phone: "+44 20 7946 0958", external_id: "crm-8" };
  for (const id of ["req collision", "req collision 2"]) await post(other, sent(id));
  await post(body, sent("req duplicate"));
  for (const id of ["req refused 1", "req refused 2"]) {
    await post({ ...body, last_name: "" }, { "Idempotency-Key": "refused:1", "X-Request-Id": id });
  }
  const extension = await testEnv.accept(key, {
    phone: "(503) 555-7788 x12",
    email: "mailto:el.o@example.com",
  });
  const foreign = await testEnv.accept(key, { phone: "+44 (0)20 7946 0111" });
  const submission = (await testEnv.submit(form, {
    key: formKey.text,
    body: visitor({ name: "Grace Ångström", phone: "1 415 555 0171", email: "grace@example.org" }),
  })).json.submission_id;
  const [row] = await testEnv.sql<{ id: string }[]>`select id from collision`;
  const [ofLead, ofSubmission] = [`/leads/${event}`, `/leads/${submission}`];
  const [collision, refusals] = [`/collisions/${row?.id}`, `/keys/${key.id}`];
  // Posts that made no event are logged within seconds.
  await until(async () =>
    (await Promise.all(["req refused 2", "req duplicate", "req collision 2"].map(found))).every(([one]) =>
      one
    )
  );

  // The duplicates, the collision and the event.
  const ofEvent = [ofLead, collision, ofLead];
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [event, ofEvent],
    [event.slice(0, 20).toUpperCase(), ofEvent],
    [submission, [ofSubmission]],
    ["req accepted", ofEvent],
    ["req collision", [collision]],
    ["req collision 2", [ofLead]],
    ["req duplicate", [ofLead]],
    ["req refused 2", [refusals]],
    [idempotencyKey, ofEvent],
    ["refused:1", [refusals]],
    ["crm-7", ofEvent],
    ["crm-8", [collision]],
    ["415.555.0171", [ofSubmission, ...ofEvent]],
    ["+1 (415) 555 0171", [ofSubmission, ...ofEvent]],
    ["+442079460958", [collision]],
    ["0044 20 7946 0958", [collision]],
    ["ZOFIE@example.org", ofEvent],
    ["mailto:grace@example.org", [ofSubmission]],
    ["ångst", [ofSubmission, ...ofEvent]],
    ["Ångström, Žofie", ofEvent],
    ["žofie å", ofEvent],
    ["grace ång", [ofSubmission]],
    ["503 555 7788", [`/leads/${extension}`]],
    ["5035557788 ext. 9", [`/leads/${extension}`]],
    ["mailto:el.o@example.com", [`/leads/${extension}`]],
    ["+44 20 7946 0111", [`/leads/${foreign}`]],
    ["ngström", []],
    ["4155550172", []],
  ];
  for (const [text, expected] of cases) {
    // Posts of one second may be in any order.
    assert.deepEqual((await found(text)).sort(), expected.toSorted(), text);
  }

  const said = (await find(idempotencyKey)).found.map((one: Record<string, string>) => one.what_happened)
    .sort();
  assert.equal(said[0], "accepted, waiting (no_route)");
  assert.match(said[1], new RegExp(`^duplicate of ${event.slice(0, 8)}…, posted .* with the same key$`));
  assert.match(
    said[2],
    /^got 200 duplicate: other content, perhaps from another person, under .*; collision open \(2 posts\)$/,
  );
  assert.match(
    (await find("req collision 2")).found[0].what_happened,
    /^got 200 duplicate: other content under/,
  );
  const { found: [refused] } = await find("refused:1");
  assert.deepEqual([refused.what_happened, refused.tenant, refused.source, refused.count, refused.fields], [
    "refused: last_name required (2 posts)",
    key.tenant.slug,
    key.label,
    2,
    { last_name: "required" },
  ]);
  const { text } = await page(" 415 555 0171 ");
  for (const tenant of [key.tenant.slug, form.tenant.slug]) {
    assert.ok(text.includes(`/tenants/${tenant}`), tenant);
  }
  assert.match(text, /<input type="search" name="q"[^>]* value="415 555 0171"/);

  // What was erased is found by its id only.
  await ctl(["erase", "--event", event], on);
  for (const one of ["req accepted", idempotencyKey, "crm-7", "crm-8", "zofie@example.org", "ångström, ž"]) {
    assert.deepEqual(await found(one), [], one);
  }
  assert.deepEqual((await found(event)).sort(), ofEvent.toSorted());
  const erased = (await find(event)).found.map((one: Record<string, string>) => one.what_happened).sort();
  assert.equal(erased[0], "accepted, removed before delivery; content erased");
  assert.match(erased[1], /^duplicate of .* with the same key$/);
});

test("nothing found, a text without a reading, and an API key each get a clear answer that keeps the text", async () => {
  const nothing = await runCtl(["find", "(212)", "555", "0199"], on);
  assert.deepEqual([nothing.code, nothing.stdout], [
    1,
    "Nothing found. The text looks like a phone number.\n",
  ]);
  assert.deepEqual(await find("(212) 555 0199"), { found: [], is_more: false, may_miss_newest: false });
  assert.equal((await page(" ")).status, 200);
  const garbage = `<b>"?'`;
  assert.match((await page(garbage)).text, /This looks like <strong>an Idempotency-Key/);
  assert.match((await page(garbage)).text, /value="&lt;b&gt;&quot;\?&#39;"/);

  for (
    const [text, reason] of [["", /blank/], ["x".repeat(300), /longer than any identifier/], [
      key.text,
      /API key/,
    ]] as const
  ) {
    const { code, stderr } = await runCtl(["find", text], on);
    assert.equal(code, 2);
    assert.match(stderr, reason);
    assert.match(stderr, /Usage: ctl find TEXT/);
    if (text === "") continue;
    const { status, text: html } = await page(text);
    assert.equal(status, 400);
    assert.match(html, reason);
    assert.equal(html.includes(key.text), false);
  }
});

test("more than fifty results are cut to the newest, with the advice to narrow the search", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 52; n += 1) ids.unshift(await testEnv.accept(key, { external_id: "the same" }));
  const many = await find("the same");
  assert.deepEqual(many.found.map((one: { event_id: string }) => one.event_id), ids.slice(0, 50));
  assert.equal(many.is_more, true);
  assert.match(
    (await runCtl(["find", "the same"], on)).stdout,
    /\n\nThe newest 50\. There are more: narrow your search\.\n$/,
  );
  assert.match((await page("the same")).text, /There are more: narrow your search/);
});

test("a search that takes too long, or cannot index the newest posts, says so", async () => {
  const id = await testEnv.accept(key, { external_id: "slow" });
  const holder = await testEnv.sql.reserve();
  await holder`begin`;
  await holder`select pg_advisory_xact_lock_shared(4, 0)`;
  const [{ stdout, stderr }, html] = await Promise.all([runCtl(["find", "--json", id], on), page(id)]);
  assert.deepEqual([JSON.parse(stdout).found[0].event_id, JSON.parse(stdout).may_miss_newest], [id, true]);
  assert.match(stderr, /last seconds may be missing/);
  assert.match(html.text, /last seconds may be missing/);
  await holder`rollback`;
  holder.release();

  await testEnv.sql.unsafe(`
    alter table search_entry rename to slow_entry;
    create view search_entry as select s.* from slow_entry as s cross join pg_sleep(60);
    create rule no_insert as on insert to search_entry do instead nothing;
    create rule no_delete as on delete to search_entry do instead delete from slow_entry where false returning slow_entry.*;
    grant select on search_entry to lead_service`);
  const leads = (path: string) => get(`${server.urls.ops}${path}`, { localAddress: "127.0.0.1" });
  const [byCtl, byPage, byList, byApi] = await Promise.all([
    runCtl(["find", "slow"], on),
    page("slow"),
    leads("/leads?last_name=zmarker"),
    leads("/v1/leads?last_name=zmarker"),
  ]);
  await testEnv.sql.unsafe("drop view search_entry; alter table slow_entry rename to search_entry");
  assert.deepEqual([byCtl.code, byPage.status, byList.status, byApi.status], [1, 400, 400, 400]);
  for (const text of [byCtl.stderr, byPage.text, byList.text, byApi.json.message]) {
    assert.match(text, /The search takes too long; narrow it/);
  }
  assert.equal(byApi.json.error, "too_broad");
  assert.match(byList.text, /<details class="more" open>[^]* name="last_name" value="zmarker"/);
});
