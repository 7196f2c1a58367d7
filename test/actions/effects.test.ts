import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import type { ISql } from "postgres";
import { until } from "../support/until.ts";
import { status } from "../support/actions/crm_sink.ts";
import { newEventId } from "../support/actions/event.ts";
import { openStand, type Stand } from "../support/actions/stand.ts";
import { ctl } from "../support/server.ts";

let stand: Stand;

before(async () => {
  stand = await openStand();
});
beforeEach(() => {
  stand.crm.answer = status(204);
  stand.smtp.answers.clear();
});

const callsOf = (eventId: string) =>
  stand.crm.calls.filter((call) => call.headers["webhook-id"] === eventId).length;
const mailsOf = (eventId: string) =>
  stand.smtp.messages.filter(({ raw }) => raw.includes(`<${eventId}@intake.example>`)).length;

async function effectRows(eventId: string) {
  return await stand.sql`
    select effect, attempts, reason, is_done as done, lease is not null as leased
    from actions.effect where event_id = ${eventId} order by effect, route_id`;
}

test("after CRM done, email failed, a retry sends the mail alone", async () => {
  stand.smtp.answers.set("message", "451 later");
  const first = await stand.deliver();
  assert.deepEqual(first.json.effects, { crm: "done", email: "failed: smtp_deferred_451" });
  assert.deepEqual([...await effectRows(first.eventId)], [
    { effect: "crm", attempts: 1, reason: null, done: true, leased: false },
    { effect: "email", attempts: 1, reason: "smtp_deferred_451", done: false, leased: false },
  ]);
  stand.smtp.answers.clear();
  const second = await stand.deliver({ eventId: first.eventId, attempt: 2 });
  assert.deepEqual(second.json.effects, { crm: "done", email: "done" });
  assert.equal(callsOf(first.eventId), 1);
  const [, email] = await effectRows(first.eventId);
  assert.deepEqual(email, { effect: "email", attempts: 2, reason: null, done: true, leased: false });
});

test("each recipient has a mail of its own, once; a retry mails only those that failed", async () => {
  await stand.addTenant("team", { crm: stand.crmUrl() });
  await ctl(["tenant", "route", "team", "--email", "a@team.example,b@team.example,c@team.example"], {
    databaseUrl: stand.database.url,
  });
  stand.smtp.deferred.add("b@team.example");
  const first = await stand.deliver({ tenant: "team" });
  assert.equal(first.status, 424);
  assert.deepEqual(first.json.effects, { crm: "done", email: "failed: smtp_deferred_451 (1 of 3)" });
  const recipients = () =>
    stand.smtp.messages.filter(({ raw }) => raw.includes(`<${first.eventId}@intake.example>`))
      .map(({ to }) => to.join()).sort();
  assert.deepEqual(recipients(), ["<a@team.example>", "<c@team.example>"]);
  stand.smtp.deferred.clear();
  const second = await stand.deliver({ tenant: "team", eventId: first.eventId, attempt: 2 });
  assert.deepEqual(second.json.effects, { crm: "done", email: "done" });
  assert.deepEqual(recipients(), ["<a@team.example>", "<b@team.example>", "<c@team.example>"]);
  assert.equal(callsOf(first.eventId), 1);
  assert.deepEqual(
    (await effectRows(first.eventId)).map(({ effect, attempts }) => [effect, attempts]),
    [["crm", 1], ["email", 1], ["email", 2], ["email", 1]],
  );
});

test("an event goes by the closest route of each kind: its form's, its source's, the tenant's", async () => {
  const on = { databaseUrl: stand.database.url };
  await stand.addTenant("near", { crm: stand.crmUrl("/own"), email: "own@near.example" });
  await ctl(["tenant", "route", "near", "--source", "partner-x", "--email", "x@near.example"], on);
  await ctl(["tenant", "route", "near", "--form", "contact", "--crm-url", stand.crmUrl("/form")], on);
  const form = { kind: "form", content: '{"name":"Ada"}' } as const;
  const contact = { ...form, extra: '{"form_key":"contact"}' };
  const went: string[][] = [];
  for (
    const parts of [
      { source: "other" },
      { source: "partner-x" },
      { ...contact, source: "web" },
      { ...contact, source: "partner-x" },
      { ...form, source: "web", extra: '{"form_key":"other"}' },
      // A lead's own words are no form.
      { source: "other", extra: '{"form_key":"contact"}' },
    ]
  ) {
    const { eventId, status } = await stand.deliver({ ...parts, tenant: "near" });
    assert.equal(status, 200);
    const call = stand.crm.calls.filter((one) => one.headers["webhook-id"] === eventId).map(({ url }) => url);
    const mail = stand.smtp.messages.filter(({ raw }) => raw.includes(`<${eventId}@`)).map(({ to }) =>
      to.join()
    );
    went.push([...call, ...mail] as string[]);
  }
  assert.deepEqual(went, [
    ["/own", "<own@near.example>"],
    ["/own", "<x@near.example>"],
    ["/form", "<own@near.example>"],
    ["/form", "<x@near.example>"],
    ["/own", "<own@near.example>"],
    ["/own", "<own@near.example>"],
  ]);
});

test("what no route of a tenant takes waits with no_route; the others go", async () => {
  await stand.addTenant("partly");
  await ctl(["tenant", "route", "partly", "--source", "partner-x", "--email", "x@partly.example"], {
    databaseUrl: stand.database.url,
  });
  const { status, json } = await stand.deliver({ tenant: "partly", source: "other" });
  assert.deepEqual([status, json], [409, { error: "no_route" }]);
  assert.equal((await stand.deliver({ tenant: "partly", source: "partner-x" })).status, 200);
});

test("what the other side answered is recorded beside its effect, and never logged", async () => {
  stand.crm.answer = (response) => void response.writeHead(500).end("Lovelace is known already");
  const { eventId } = await stand.deliver();
  const [crm] = await stand.sql`
    select status, answer, settled_at is not null as settled from actions.effect
    where event_id = ${eventId} and effect = 'crm'`;
  assert.deepEqual(crm, { status: 500, answer: "Lovelace is known already", settled: true });
  await until(() => stand.actions.logs.some((entry) => entry.event_id === eventId));
  assert.doesNotMatch(JSON.stringify(stand.actions.logs), /Lovelace/);
});

test("an answer that comes after the erasure is not recorded, and one that comes during it is erased", async () => {
  const eventId = newEventId();
  await stand.sql`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    values (${eventId}, 'lead', 1, 1, now(), 'k', '{}', '{}')`;
  const [begun] = await stand.sql`
    select route_id from actions.begin_effects(
      ${eventId}, 'acme', 'x', '', '00000000-0000-4000-8000-000000000001', 60000) where effect = 'crm'`;
  const settle = (sql: ISql) =>
    sql`select actions.settle_effect(
      ${eventId}, ${begun?.route_id}, 0, '00000000-0000-4000-8000-000000000001', 'http_500', 500, 'Lovelace')`;
  const answers = async () =>
    (await stand.sql`select answer from actions.effect where event_id = ${eventId} and answer is not null`)
      .length;
  const erase = (sql: ISql) => sql`select remove_content(array[${eventId}], 'erasure')`;
  const locked = until.bind(
    null,
    async () =>
      (await stand
        .sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
        .length > 0,
  );
  const restore = async () => {
    await stand.sql`update event set removed_at = null, removed_by = null where event_id = ${eventId}`;
    await stand.sql`
      update actions.effect set lease = '00000000-0000-4000-8000-000000000001', lease_until = now(), answer = null
      where event_id = ${eventId} and effect = 'crm'`;
  };

  // The settlement waits for the erasure.
  let other: Promise<unknown> = Promise.resolve();
  await stand.sql.begin(async (one) => {
    await erase(one);
    other = settle(stand.sql).execute();
    await locked();
  });
  await other;
  assert.equal(await answers(), 0);
  // The erasure waits for the settlement.
  await restore();
  await stand.sql.begin(async (one) => {
    await settle(one);
    other = erase(stand.sql).execute();
    await locked();
  });
  await other;
  assert.equal(await answers(), 0);
  // And afterwards.
  await restore();
  await erase(stand.sql);
  await settle(stand.sql);
  assert.equal(await answers(), 0);
  // Without an erasure it is there.
  await restore();
  await settle(stand.sql);
  assert.equal(await answers(), 1);
});

test("twenty deliveries of one event at once, to two processes, do each effect once", async () => {
  const one = stand.actions;
  const two = await stand.start();
  const release = Promise.withResolvers<void>();
  stand.crm.answer = (response) => void release.promise.then(() => response.writeHead(204).end());
  const eventId = newEventId();
  const answers = Array.from(
    { length: 20 },
    (_, index) => stand.deliverTo(index % 2 === 0 ? one : two, { eventId }),
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
  // Comes again when the lease of the other one has ended at the latest.
  const waiting = settled.find(({ status }) => status === 424);
  assert.match(String(waiting?.headers["retry-after"]), /^1[0-2]$/);
  assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [1, 1]);
});

test("a crash between the effect and its record repeats it, recognizable by the same id", async () => {
  const called = Promise.withResolvers<void>();
  // The CRM has the lead; its answer never arrives.
  stand.crm.answer = () => called.resolve();
  const eventId = newEventId();
  const lost = stand.deliver({ eventId });
  lost.catch(() => {});
  await called.promise;
  await until(async () => (await effectRows(eventId)).some((row) => row.effect === "email" && row.done));
  await stand.actions.kill();
  await assert.rejects(lost);
  stand.crm.answer = status(204);
  await stand.start();
  // Nobody knows whether he who holds the lease still works at it.
  assert.equal((await stand.deliver({ eventId, attempt: 2 })).json.effects.crm, "failed: in_progress");
  assert.equal(callsOf(eventId), 1);
  await moveClock("13 seconds");
  assert.deepEqual((await stand.deliver({ eventId, attempt: 3 })).json.effects, {
    crm: "done",
    email: "done",
  });
  assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [2, 1]);
  const [first, second] = stand.crm.calls.filter((call) => call.headers["webhook-id"] === eventId);
  assert.equal(first?.body, second?.body);
  await moveClock("0 seconds");
});

test("while the database is away the answer is 503; what was done meanwhile is recorded, not repeated", async () => {
  const called = Promise.withResolvers<() => void>();
  stand.crm.answer = (response) => called.resolve(() => response.writeHead(204).end());
  const eventId = newEventId();
  const first = stand.deliver({ eventId });
  const answer = await called.promise;
  await until(async () => (await effectRows(eventId)).some((row) => row.effect === "email" && row.done));
  const [{ role } = { role: "" }] = await stand.sql<{ role: string }[]>`
    select ${new URL(stand.actionsUrl).username} as role`;
  await stand.sql`alter role ${stand.sql(role)} nologin`;
  await stand.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`;
  answer();
  assert.equal((await first).status, 503);
  const other = await stand.deliver();
  assert.deepEqual([other.status, other.json], [503, { error: "unavailable" }]);
  assert.equal(callsOf(other.eventId), 0);
  await stand.sql`alter role ${stand.sql(role)} login`;
  const again = await until(async () => {
    const answer = await stand.deliver({ eventId, attempt: 2 });
    return answer.status !== 503 && answer;
  });
  assert.deepEqual(again.json.effects, { crm: "done", email: "done" });
  assert.deepEqual([callsOf(eventId), mailsOf(eventId)], [1, 1]);
});

test("a CRM that hangs costs its own effect the bound, and no other effect anything", async () => {
  stand.crm.answer = () => {};
  const { json } = await stand.deliver();
  assert.deepEqual(json.effects, { crm: "failed: timeout_answer", email: "done" });
});

async function moveClock(offset: string): Promise<void> {
  await stand.sql.unsafe(`create or replace function service_clock() returns timestamptz
    language sql volatile parallel safe as $$ select clock_timestamp() + interval '${offset}' $$`);
}

for (const runtime of ["node", "deno"] as const) {
  test(`${runtime}: events for one webhook go over one connection, each under its own id`, async () => {
    const actions = await stand.start({ runtime });
    const ids: string[] = [];
    ids.push((await stand.deliverTo(actions, {})).eventId);
    let shared = 0;
    // An event that comes before the answer to the last one has been read to its end opens a connection of its own.
    for (let more = 0; more < 40 && shared < 4; more += 1) {
      const { connections } = stand.crm;
      ids.push((await stand.deliverTo(actions, {})).eventId);
      if (stand.crm.connections === connections) shared += 1;
    }
    assert.equal(shared, 4);
    assert.ok(ids.every((eventId) => callsOf(eventId) === 1));
  });
}
