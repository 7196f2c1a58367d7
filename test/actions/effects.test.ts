import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import type { ISql } from "postgres";
import { until } from "../support/until.ts";
import { status } from "../support/actions/crm_sink.ts";
import { newEventId } from "../support/actions/event.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";
import { ctl } from "../support/server.ts";

let fixture: Fixture;

before(async () => {
  fixture = await openFixture();
});
beforeEach(() => {
  fixture.crm.answer = status(204);
  fixture.smtp.answers.clear();
});

const callsOf = (eventId: string) =>
  fixture.crm.calls.filter((call) => call.headers["webhook-id"] === eventId).length;
const mailsOf = (eventId: string) =>
  fixture.smtp.messages.filter(({ raw }) => raw.includes(`<${eventId}@intake.example>`)).length;

async function effectRows(eventId: string) {
  return await fixture.sql`
    select effect, attempts, reason, is_done as done, lease is not null as leased
    from actions.effect where event_id = ${eventId} order by effect, route_id`;
}

test("after the CRM succeeded and the email failed, a retry sends only the email", async () => {
  fixture.smtp.answers.set("message", "451 later");
  const first = await fixture.deliver();
  assert.deepEqual(first.json.effects, { crm: "done", email: "failed: smtp_deferred_451" });
  assert.deepEqual([...await effectRows(first.eventId)], [
    { effect: "crm", attempts: 1, reason: null, done: true, leased: false },
    { effect: "email", attempts: 1, reason: "smtp_deferred_451", done: false, leased: false },
  ]);
  fixture.smtp.answers.clear();
  const second = await fixture.deliver({ eventId: first.eventId, attempt: 2 });
  assert.deepEqual(second.json.effects, { crm: "done", email: "done" });
  assert.equal(callsOf(first.eventId), 1);
  const [, email] = await effectRows(first.eventId);
  assert.deepEqual(email, { effect: "email", attempts: 2, reason: null, done: true, leased: false });
});

test("each recipient gets a separate email, and a retry sends only the failed ones", async () => {
  await fixture.addTenant("team", { crm: fixture.crmUrl() });
  await ctl(["tenant", "route", "team", "--email", "a@team.example,b@team.example,c@team.example"], {
    databaseUrl: fixture.databaseUrl,
  });
  fixture.smtp.deferred.add("b@team.example");
  const first = await fixture.deliver({ tenant: "team" });
  assert.equal(first.status, 424);
  assert.deepEqual(first.json.effects, { crm: "done", email: "failed: smtp_deferred_451 (1 of 3)" });
  const recipients = () =>
    fixture.smtp.messages.filter(({ raw }) => raw.includes(`<${first.eventId}@intake.example>`))
      .map(({ to }) => to.join()).sort();
  assert.deepEqual(recipients(), ["<a@team.example>", "<c@team.example>"]);
  fixture.smtp.deferred.clear();
  const second = await fixture.deliver({ tenant: "team", eventId: first.eventId, attempt: 2 });
  assert.deepEqual(second.json.effects, { crm: "done", email: "done" });
  assert.deepEqual(recipients(), ["<a@team.example>", "<b@team.example>", "<c@team.example>"]);
  assert.equal(callsOf(first.eventId), 1);
  assert.deepEqual(
    (await effectRows(first.eventId)).map(({ effect, attempts }) => [effect, attempts]),
    [["crm", 1], ["email", 1], ["email", 2], ["email", 1]],
  );
});

test("an event uses the closest route of each kind, in the order form, source, tenant", async () => {
  const on = { databaseUrl: fixture.databaseUrl };
  await fixture.addTenant("near", { crm: fixture.crmUrl("/own"), email: "own@near.example" });
  await ctl(["tenant", "route", "near", "--source", "partner-x", "--email", "x@near.example"], on);
  await ctl(["tenant", "route", "near", "--form", "contact", "--crm-url", fixture.crmUrl("/form")], on);
  const form = { kind: "form", content: '{"name":"Ada"}' } as const;
  const contact = { ...form, extra: '{"form_key":"contact"}' };
  const used: string[][] = [];
  for (
    const parts of [
      { source: "other" },
      { source: "partner-x" },
      { ...contact, source: "web" },
      { ...contact, source: "partner-x" },
      { ...form, source: "web", extra: '{"form_key":"other"}' },
      // A lead's extra cannot name a form.
      { source: "other", extra: '{"form_key":"contact"}' },
    ]
  ) {
    const { eventId, status } = await fixture.deliver({ ...parts, tenant: "near" });
    assert.equal(status, 200);
    const call = fixture.crm.calls.filter((one) => one.headers["webhook-id"] === eventId).map(({ url }) =>
      url
    );
    const mail = fixture.smtp.messages.filter(({ raw }) => raw.includes(`<${eventId}@`)).map(({ to }) =>
      to.join()
    );
    used.push([...call, ...mail] as string[]);
  }
  assert.deepEqual(used, [
    ["/own", "<own@near.example>"],
    ["/own", "<x@near.example>"],
    ["/form", "<own@near.example>"],
    ["/form", "<x@near.example>"],
    ["/own", "<own@near.example>"],
    ["/own", "<own@near.example>"],
  ]);
});

test("an event without a matching route waits with no_route", async () => {
  await fixture.addTenant("partly");
  await ctl(["tenant", "route", "partly", "--source", "partner-x", "--email", "x@partly.example"], {
    databaseUrl: fixture.databaseUrl,
  });
  const { status, json } = await fixture.deliver({ tenant: "partly", source: "other" });
  assert.deepEqual([status, json], [409, { error: "no_route" }]);
  assert.equal((await fixture.deliver({ tenant: "partly", source: "partner-x" })).status, 200);
});

test("the CRM's response is recorded with its effect and never logged", async () => {
  fixture.crm.answer = (response) => void response.writeHead(500).end("Lovelace is known already");
  const { eventId } = await fixture.deliver();
  const [crm] = await fixture.sql`
    select status, answer, settled_at is not null as settled from actions.effect
    where event_id = ${eventId} and effect = 'crm'`;
  assert.deepEqual(crm, { status: 500, answer: "Lovelace is known already", settled: true });
  await until(() => fixture.actions.logs.some((entry) => entry.event_id === eventId));
  assert.doesNotMatch(JSON.stringify(fixture.actions.logs), /Lovelace/);
});

test("a response that arrives during or after an erasure is not retained", async () => {
  const eventId = newEventId();
  await fixture.sql`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    values (${eventId}, 'lead', 1, 1, now(), 'k', '{}', '{}')`;
  const [begun] = await fixture.sql`
    select route_id from actions.begin_effects(
      ${eventId}, 'acme', 'x', '', '00000000-0000-4000-8000-000000000001', 60000) where effect = 'crm'`;
  const settle = (sql: ISql) =>
    sql`select actions.settle_effect(
      ${eventId}, ${begun?.route_id}, 0, '00000000-0000-4000-8000-000000000001', 'http_500', 500, 'Lovelace')`;
  const answers = async () =>
    (await fixture.sql`select answer from actions.effect where event_id = ${eventId} and answer is not null`)
      .length;
  const erase = (sql: ISql) => sql`select remove_content(array[${eventId}], 'erasure')`;
  const locked = until.bind(
    null,
    async () =>
      (await fixture
        .sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
        .length > 0,
  );
  const restore = async () => {
    await fixture.sql`update event set removed_at = null, removed_by = null where event_id = ${eventId}`;
    await fixture.sql`
      update actions.effect set lease = '00000000-0000-4000-8000-000000000001', lease_until = now(), answer = null
      where event_id = ${eventId} and effect = 'crm'`;
  };

  // The settlement waits for the erasure.
  let other: Promise<unknown> = Promise.resolve();
  await fixture.sql.begin(async (one) => {
    await erase(one);
    other = settle(fixture.sql).execute();
    await locked();
  });
  await other;
  assert.equal(await answers(), 0);
  // The erasure waits for the settlement.
  await restore();
  await fixture.sql.begin(async (one) => {
    await settle(one);
    other = erase(fixture.sql).execute();
    await locked();
  });
  await other;
  assert.equal(await answers(), 0);
  // The settlement follows the erasure.
  await restore();
  await erase(fixture.sql);
  await settle(fixture.sql);
  assert.equal(await answers(), 0);
  // Without an erasure the response is retained.
  await restore();
  await settle(fixture.sql);
  assert.equal(await answers(), 1);
});

test("twenty concurrent deliveries of one event to two processes perform each effect once", async () => {
  const [one, two] = [await fixture.start(), await fixture.start()];
  await setClock("timestamptz '2026-11-27 12:00Z'");
  const release = Promise.withResolvers<void>();
  fixture.crm.answer = (response) => void release.promise.then(() => response.writeHead(204).end());
  const eventId = newEventId();
  const answers = Array.from(
    { length: 20 },
    (_, index) => fixture.deliver({ eventId }, index % 2 === 0 ? one : two),
  );
  let busy = 0;
  for (const answer of answers) {
    void answer.then(({ json }) => {
      if (json.effects.crm === "failed: in_progress" && ++busy === 19) release.resolve();
    });
  }
  const settled = await Promise.all(answers);
  const crm = settled.map(({ json }) => json.effects.crm);
  assert.equal(crm.filter((word) => word === "done").length, 1);
  assert.equal(crm.filter((word) => word === "failed: in_progress").length, 19);
  // The retry comes at the end of the lease, ten seconds after the timeout.
  assert.equal(settled.find(({ status }) => status === 424)?.headers["retry-after"], "30");
  assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [1, 1]);
  await setClock("clock_timestamp()");
  await fixture.start();
});

test("an effect whose record was lost in a crash is repeated with the same id", async () => {
  const called = Promise.withResolvers<void>();
  // The CRM has the lead; its response never arrives.
  fixture.crm.answer = () => called.resolve();
  const eventId = newEventId();
  const lost = fixture.deliver({ eventId });
  lost.catch(() => {});
  await called.promise;
  await until(async () => (await effectRows(eventId)).some((row) => row.effect === "email" && row.done));
  await fixture.actions.kill();
  await assert.rejects(lost);
  fixture.crm.answer = status(204);
  await fixture.start();
  // The lease's owner might still be working.
  assert.equal((await fixture.deliver({ eventId, attempt: 2 })).json.effects.crm, "failed: in_progress");
  assert.equal(callsOf(eventId), 1);
  // After the clock was set back, its lease ends as if it had begun then.
  await setClock("clock_timestamp() - interval '30 days'");
  assert.equal((await fixture.deliver({ eventId, attempt: 2 })).json.effects.crm, "failed: in_progress");
  await setClock("clock_timestamp() - interval '30 days' + interval '31 seconds'");
  assert.deepEqual((await fixture.deliver({ eventId, attempt: 3 })).json.effects, {
    crm: "done",
    email: "done",
  });
  assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [2, 1]);
  const [first, second] = fixture.crm.calls.filter((call) => call.headers["webhook-id"] === eventId);
  assert.equal(first?.body, second?.body);
  await setClock("clock_timestamp()");
});

test("while the database is unavailable the response is 503, and an effect done meanwhile is not repeated", async () => {
  const called = Promise.withResolvers<() => void>();
  fixture.crm.answer = (response) => called.resolve(() => response.writeHead(204).end());
  const eventId = newEventId();
  const first = fixture.deliver({ eventId });
  const answer = await called.promise;
  await until(async () => (await effectRows(eventId)).some((row) => row.effect === "email" && row.done));
  const [{ role } = { role: "" }] = await fixture.sql<{ role: string }[]>`
    select ${new URL(fixture.actionsUrl).username} as role`;
  await fixture.sql`alter role ${fixture.sql(role)} nologin`;
  await fixture.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`;
  answer();
  assert.equal((await first).status, 503);
  const other = await fixture.deliver();
  assert.deepEqual([other.status, other.json], [503, { error: "unavailable" }]);
  assert.equal(callsOf(other.eventId), 0);
  await fixture.sql`alter role ${fixture.sql(role)} login`;
  const again = await until(async () => {
    const answer = await fixture.deliver({ eventId, attempt: 2 });
    return answer.status !== 503 && answer;
  });
  assert.deepEqual(again.json.effects, { crm: "done", email: "done" });
  assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [1, 1]);
});

test("a CRM that hangs times out without affecting other effects", async () => {
  fixture.crm.answer = () => {};
  const { json } = await fixture.deliver(
    {},
    await fixture.start({ env: { ACTIONS_EFFECT_TIMEOUT_MS: "5000" } }),
  );
  assert.deepEqual(json.effects, { crm: "failed: timeout_answer", email: "done" });
  await fixture.start();
});

async function setClock(time: string): Promise<void> {
  await fixture.sql.unsafe(`create or replace function service_clock() returns timestamptz
    language sql volatile parallel safe as $$ select ${time} $$`);
}

for (const runtime of ["node", "deno"] as const) {
  test(`${runtime}: events for one webhook share a connection`, async () => {
    const actions = await fixture.start({ runtime });
    const ids: string[] = [];
    ids.push((await fixture.deliver({}, actions)).eventId);
    let shared = 0;
    // An event that arrives before the previous response was read opens another connection.
    for (let more = 0; more < 40 && shared < 4; more += 1) {
      const { connections } = fixture.crm;
      ids.push((await fixture.deliver({}, actions)).eventId);
      if (fixture.crm.connections === connections) shared += 1;
    }
    assert.equal(shared, 4);
    assert.ok(ids.every((eventId) => callsOf(eventId) === 1));
  });
}
