import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { status } from "../support/actions/crm_sink.ts";
import { newEventId } from "../support/actions/event.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";
import { ctl } from "../support/server.ts";

let fixture: Fixture;
const tenant = "team";

before(async () => {
  fixture = await openFixture();
  await fixture.addTenant(tenant, { crm: fixture.crmUrl() });
  await ctl(["tenant", "route", tenant, "--email", "a@team.example,b@team.example"], {
    databaseUrl: fixture.databaseUrl,
  });
});
beforeEach(() => {
  fixture.crm.answer = status(204);
});

const set = (verb: "pause" | "resume", ...kinds: string[]) =>
  verb === "pause"
    ? fixture.sql`select from pause_tenant(${tenant}, ${kinds}, null)`
    : fixture.sql`select from resume_tenant(${tenant}, ${kinds})`;

const paused = { email: "waiting: paused" };
const cases = [
  {
    what: "a paused email waits for an hour",
    reply: { error: "effects_waiting", reason: "paused", effects: { crm: "done", ...paused } },
    retryAfter: "3600",
  },
  {
    what: "a paused email does not delay a failed CRM",
    crm: status(503, { "Retry-After": "7" }),
    reply: { error: "effects_failed", effects: { crm: "failed: http_503", ...paused } },
    retryAfter: "7",
  },
  {
    what: "a paused email waits although the CRM refused the event for good",
    crm: status(422),
    reply: { error: "effects_waiting", reason: "paused", effects: { crm: "failed: http_422", ...paused } },
    retryAfter: "3600",
  },
];
for (const { what, crm = status(204), reply, retryAfter } of cases) {
  test(what, async () => {
    await set("pause", "email");
    fixture.crm.answer = crm;
    const mails = fixture.smtp.messages.length;
    const { eventId, status: replied, json, headers } = await fixture.deliver({ tenant });
    assert.deepEqual([replied, json, headers["retry-after"]], [424, reply, retryAfter]);
    assert.equal(fixture.smtp.messages.length, mails);
    await set("resume", "email");
    if (!("reason" in reply)) return;
    const { json: { effects } } = await fixture.deliver({ tenant, eventId, attempt: 2 });
    assert.equal(effects.email, "done");
    assert.equal(fixture.smtp.messages.length, mails + 2);
  });
}

test("of a tenant that was paused after the claim nothing is sent, and a done effect stays done", async () => {
  const calls = fixture.crm.calls.length;
  const eventId = newEventId();
  await set("pause", "");
  const { json } = await fixture.deliver({ tenant, eventId });
  assert.deepEqual(json.effects, { crm: "waiting: paused", email: "waiting: paused" });
  await set("resume", "");
  assert.equal((await fixture.deliver({ tenant, eventId, attempt: 2 })).status, 200);
  await set("pause", "");
  assert.equal((await fixture.deliver({ tenant, eventId, attempt: 3 })).status, 200);
  await set("resume", "");
  assert.equal(fixture.crm.calls.length, calls + 1);
});

test("resuming makes due what waits for it, also beside another failure, and nothing else", async () => {
  const due = async () =>
    (await fixture.sql<{ event_id: string }[]>`
      select event_id from outbox where due_at <= service_clock() order by 1`).map((row) => row.event_id);
  await set("pause", "email");
  await fixture.sql`
    insert into outbox (event_id, tenant_id, due_at, reason)
    select i.id, t.id, service_clock() + interval '1 hour', i.reason
    from tenant as t, (values
      ('a', 'paused'), ('b', 'crm failed: http_500; email waiting: paused'), ('c', 'email waiting: paused; slack failed: x'),
      ('d', 'crm failed: http_500'), ('e', 'crm failed: paused_by_crm')) as i (id, reason)
    where t.slug = ${tenant}`;
  await set("resume", "email");
  assert.deepEqual(await due(), ["a", "b", "c"]);
  const [row] = await fixture.sql`select reason from outbox where event_id = 'a'`;
  assert.equal(row?.reason, null);
});

test("a suspension that begins during a resume does not stop it", async () => {
  await set("pause", "email");
  await fixture.sql`
    insert into outbox (event_id, tenant_id, due_at, reason)
    select 'f' || n, t.id, service_clock() + interval '1 hour', 'email waiting: paused'
    from tenant as t, generate_series(1, 2500) as n where t.slug = ${tenant}`;
  await set("resume", "email");
  // As actions.settle_suspension ends the wake-up of events that wait for the CRM.
  const [left] = await fixture.sql`select count(*)::int as n from actions.waking where is_resume`;
  assert.equal(left?.n, 1);
  for (let rounds = 0; rounds < 5; rounds++) await fixture.sql`select wake_waiting_events(1000)`;
  const [late] = await fixture.sql`
    select count(*)::int as n from outbox where event_id like 'f%' and due_at > service_clock()`;
  assert.equal(late?.n, 0);
});
