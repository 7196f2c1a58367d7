/** Tests that an operator can accept or dismiss a different lead posted under a used Idempotency-Key. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { get } from "../support/client.ts";
import { Tier } from "../support/faults/tier.ts";
import { ctl, runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { freshKey, type IssuedKey, lead, TestEnv, visitor } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const tier = await Tier.open();
const server = await testEnv.start({ ACTIONS_URL: tier.url });
const on = { databaseUrl: testEnv.database.url };
const tenant = await testEnv.tenant();
await testEnv.sql`
  insert into actions.route (tenant_id, kind, address) values (${tenant.id}, 'email', 'leads@example.com')`;
const campaignId = await testEnv.campaign(tenant);
const first = await testEnv.issue({ tenant });
const second = await testEnv.issue({ tenant, campaignId });

async function post(key: IssuedKey, idempotencyKey: string, members: Record<string, unknown>) {
  const headers = { "Idempotency-Key": idempotencyKey, "X-Request-Id": `${key.id} ${idempotencyKey}` };
  const { status, json } = await testEnv.intake({ key: key.text, body: lead(members), headers });
  return { status, eventId: json.event_id as string };
}

/** Posts two leads under one Idempotency-Key and returns the collision of the second. */
async function collide(before: Record<string, unknown>, after: Record<string, unknown>) {
  const idempotencyKey = freshKey();
  const { eventId } = await post(first, idempotencyKey, before);
  assert.deepEqual(await post(second, idempotencyKey, after), { status: 200, eventId });
  const [row] = await testEnv.sql<{ id: string; other_person: boolean }[]>`
    select id, other_person from collision where event_id = ${eventId} order by id desc limit 1`;
  return { eventId, idempotencyKey, id: row?.id as string, isOther: row?.other_person };
}

const grace = { first_name: "Grace", phone: "5557654321", email: "grace@example.com" };
const ada = { phone: "5551234567", email: "ada@example.com" };
const spend = async () =>
  Number((await testEnv.sql`select coalesce(sum(cents), 0)::int as cents from campaign_charge`)[0]?.cents);
const events = async () => Number((await testEnv.sql`select count(*)::int as n from event`)[0]?.n);
const openIds = async () =>
  (await ctl(["collision", "list", "--open", "--other"], on)).map(({ id }: { id: string }) => id);
const personal = async (id: string) => {
  const [row] = await testEnv.sql`
    select lead, extra, raw, content_digest, request_id, phone, email, name from collision where id = ${id}`;
  return Object.values(row ?? {}).filter((value) => value !== null);
};

test("a collision is another person's if phone or email differs", async () => {
  const cases: [Record<string, unknown>, Record<string, unknown>, boolean][] = [
    [{ ...ada, city: "Salem" }, { ...ada, city: "Portland" }, false],
    [
      { ...ada, phone: "(555) 123-4567" },
      { ...ada, phone: "+1 555 123 4567", email: "ADA@example.com" },
      false,
    ],
    [ada, { ...ada, email: undefined }, false],
    [ada, { ...ada, phone: "5557654321" }, true],
    [ada, { ...ada, email: "grace@example.com" }, true],
  ];
  for (const [before, after, expected] of cases) {
    assert.equal((await collide(before, after)).isOther, expected, JSON.stringify(after));
  }
});

test("an accepted collision becomes its own event, is delivered, charged and audited, and names the first", async () => {
  const { id, eventId, idempotencyKey } = await collide(ada, {
    ...grace,
    cost: 12.5,
    project_area: "moon base",
    big: 1,
  });
  assert.ok((await openIds()).includes(id));
  const charged = await spend();
  const { accepted_event_id: own } = await ctl(["collision", "accept", id], on);
  assert.notEqual(own, eventId);
  const [request] = await tier.until(own);
  assert.equal(request?.body.source, second.label);
  assert.equal(request?.body.lead.first_name, "Grace");
  assert.equal(request?.body.lead.phone, "+15557654321");
  assert.deepEqual(request?.body.extra, { big: 1 });
  assert.deepEqual(request?.body.flags, ["project_area_unknown", "extra_fields_preserved"]);
  assert.equal(await spend() - charged, 1_250);

  await until(async () => (await ctl(["lead", "show", own], on)).delivery.state === "delivered");
  const [accepted, firstOne] = await ctl(["lead", "show", own, eventId], on);
  assert.deepEqual(accepted.accepted_from, { collision: id, event_id: eventId });
  assert.deepEqual(firstOne.accepted_collisions, [{ collision: id, event_id: own }]);
  assert.equal(accepted.idempotency_key, null);
  assert.equal(firstOne.idempotency_key, idempotencyKey);
  assert.match(accepted.raw, /moon base/);
  assert.equal((await testEnv.event(own)).request_id, `${second.id} ${idempotencyKey}`);
  const { text: found } = await get(`${server.urls.ops}/v1/leads?phone=5557654321`);
  assert.ok(found.includes(own), "found by the search");
  const terms = await ctl(["vocabulary", "unknown"], on);
  assert.ok(JSON.stringify(terms).includes("moon base"));

  const audit = await testEnv.sql`
    select action, subject, detail from audit where action = 'collision.accept' order by id`;
  assert.deepEqual(audit.map((row) => [row.subject, row.detail.collision]), [[own, Number(id)], [
    eventId,
    Number(id),
  ]]);
  assert.equal((await personal(id)).length, 1, "only the digest is retained");
  const shown = await ctl(["collision", "show", id], on);
  assert.deepEqual([shown.state, shown.accepted_event_id, shown.lead.first_name], ["accepted", own, "Grace"]);
});

test("a collision accepted twice, concurrently or later, is one event, and retries of both posts stay duplicates", async () => {
  const idempotencyKey = freshKey();
  const bodies = [lead(ada), lead(grace)];
  const send = (body: unknown) =>
    testEnv.intake({ key: second.text, body, headers: { "Idempotency-Key": idempotencyKey } });
  const { json } = await send(bodies[0]);
  await send(bodies[1]);
  const [row] = await testEnv.sql`select id from collision where event_id = ${json.event_id}`;
  const before = await events();
  const both = await Promise.all([1, 2, 3].map(() => runCtl(["collision", "accept", String(row?.id)], on)));
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 1, 1]);
  assert.ok(
    both.filter(({ code }) => code === 1).every(({ stderr }) => /already been accepted/.test(stderr)),
  );
  assert.equal(await events(), before + 1);
  for (const body of bodies) {
    const again = await send(body);
    assert.deepEqual([again.status, again.json.event_id], [200, json.event_id]);
  }
  assert.equal(await events(), before + 1);
  const rows = await testEnv.sql`select count, settled_at from collision where event_id = ${json.event_id}`;
  assert.deepEqual(rows.map(({ count, settled_at }) => [Number(count), settled_at !== null]), [[2, true]]);
});

test("a dismissed collision is not open, not delivered, and can still be accepted", async () => {
  const { id } = await collide(ada, grace);
  const before = await events();
  await ctl(["collision", "dismiss", id], on);
  assert.ok(!(await openIds()).includes(id));
  assert.equal((await ctl(["collision", "show", id], on)).state, "dismissed");
  assert.equal(await events(), before);
  const noted = async () =>
    Number(
      (await testEnv.sql`select count(*)::int as n from audit where action = 'collision.dismiss'`)[0]?.n,
    );
  assert.equal(await noted(), 1);
  assert.equal((await runCtl(["collision", "dismiss", id], on)).code, 0);
  assert.equal(await noted(), 1, "a second dismissal is not audited");
  assert.equal((await runCtl(["collision", "accept", id], on)).code, 0);
  assert.equal(await events(), before + 1);
  const missing = await runCtl(["collision", "accept", "4711"], on);
  assert.deepEqual([missing.code, /There is no collision 4711/.test(missing.stderr)], [1, true]);
});

test("an accepted collision of a submission has its form and is found by its contact", async () => {
  const form = await testEnv.form({ tenant });
  const key = await testEnv.issue({ tenant, surface: "forms" });
  const headers = { "Idempotency-Key": freshKey() };
  const { json } = await testEnv.submit(form, { key: key.text, body: visitor(), headers });
  const body = visitor({ name: "Edsger D", email: "edsger@example.org" });
  assert.equal((await testEnv.submit(form, { key: key.text, body, headers })).status, 200);
  const [row] = await testEnv
    .sql`select id, other_person from collision where event_id = ${json.submission_id}`;
  assert.equal(row?.other_person, true);
  const { accepted_event_id: own } = await ctl(["collision", "accept", String(row?.id)], on);
  const [request] = await tier.until(own);
  assert.equal(request?.body.submission.email, "edsger@example.org");
  const shown = await ctl(["lead", "show", own], on);
  assert.deepEqual([shown.kind, shown.form_key, shown.verdict], ["form", "contact", "clean"]);
  const { text } = await get(`${server.urls.ops}/v1/leads?email=edsger@example.org`);
  assert.ok(text.includes(own));
});

test("the overview, the console and /metrics show open collisions, and the console's buttons settle them", async () => {
  await ctl(["collision", "dismiss", ...await openIds()], on);
  const ops = server.urls.ops as string;
  const gauge = (count: number) =>
    until(async () => (await get(`${ops}/metrics`)).text.includes(`\nlead_collisions_open ${count}\n`), {
      what: `the gauge is ${count}`,
    });
  await gauge(0);
  assert.doesNotMatch((await get(`${ops}/`)).text, /different lead was posted/);
  const { id } = await collide(ada, grace);
  await collide({ ...ada, city: "Salem" }, { ...ada, city: "Bend" });
  await gauge(1);
  const { text } = await get(`${ops}/`);
  assert.match(text, /1 different lead was posted with a used/);
  assert.match(text, new RegExp(`href="/collisions/${id}">${tenant.slug} .*${second.label}`));
  const list = (await get(`${ops}/collisions?show=lost`)).text;
  assert.equal([...list.matchAll(/>Compare\s\d+</g)].length, 1);
  const page = (await get(`${ops}/collisions/${id}`)).text;
  assert.match(page, /Accept as a separate lead/);
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? "";
  const settle = (field: string) =>
    fetch(`${ops}/collisions/settle`, {
      method: "POST",
      redirect: "manual",
      headers: { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" },
      body: new URLSearchParams({ [field]: id, token }).toString(),
    });
  const before = await events();
  const answer = await settle("accept");
  assert.equal(answer.status, 303, await answer.text());
  const location = answer.headers.get("location") ?? "";
  assert.match(location, /^\/leads\/[0-9a-z]{38}\?done=/);
  const lone = (await get(`${ops}${location}`)).text;
  assert.match(lone, /Accepted as a separate lead/);
  assert.match(lone, new RegExp(`href="/collisions/${id}"`));
  assert.match(
    await (await fetch(`${ops}${(await settle("accept")).headers.get("location")}`)).text(),
    /already been settled/,
  );
  assert.equal(await events(), before + 1);
  const [entry] = await testEnv.sql`
    select actor, claimed from audit where action = 'collision.accept' order by id desc limit 1`;
  assert.match(entry?.actor, /^console /);
  assert.equal(entry?.claimed, "console");
  await gauge(0);
});

test("an erased person's collision cannot be accepted, and an accepted one is erased", async () => {
  const edsger = { first_name: "Edsger", phone: "5552223333", email: "edsger@example.com" };
  const open = await collide(ada, edsger);
  const taken = await collide(ada, { ...edsger, last_name: "Taken" });
  const { accepted_event_id: own } = await ctl(["collision", "accept", taken.id], on);
  const another = await collide(ada, grace);
  await ctl(["erase", "--email", "edsger@example.com"], on);
  const refused = await runCtl(["collision", "accept", open.id], on);
  assert.deepEqual([refused.code, /has been erased/.test(refused.stderr)], [1, true]);
  assert.ok(!(await openIds()).includes(open.id));
  assert.deepEqual(await personal(open.id), []);
  assert.deepEqual(await personal(taken.id), []);
  assert.equal((await ctl(["lead", "show", own], on)).content, "erased");

  assert.ok((await testEnv.sql`select from tombstone`).length > 0, "for posts in flight");
  assert.equal((await runCtl(["collision", "accept", another.id], on)).code, 0, "the erasure has ended");
  const waiting = await collide(ada, grace);
  const run = "7b1b2f0c-6f9b-4a53-9a3e-1f6d0c2a4711";
  const lease = (ms: number) =>
    testEnv.sql`select register_erasure(${run}, '{email nobody@example.com}', ${ms}, 60000)`;
  await lease(30_000);
  const busy = await runCtl(["collision", "accept", waiting.id], on);
  assert.deepEqual(
    [busy.code, /an erasure that may include/.test(busy.stderr)],
    [1, true],
    "an erasure is running",
  );
  assert.ok((await openIds()).includes(waiting.id), "nothing was changed");
  await lease(0);
  assert.equal((await runCtl(["collision", "accept", waiting.id], on)).code, 0);
});
