/** Tests that send a delivered event again and show its effects. */

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { status } from "../support/actions/crm_sink.ts";
import { newEventId } from "../support/actions/event.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";
import { ctl, runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";

let fixture: Fixture;
let on: { readonly databaseUrl: string };

before(async () => {
  fixture = await openFixture();
  on = { databaseUrl: fixture.databaseUrl };
  await fixture.addTenant("box", { sandbox: true });
  await ctl(["key", "issue", "acme", "--label", "partner-x"], on);
  await ctl(["key", "issue", "box", "--label", "trial"], on);
});
beforeEach(() => {
  fixture.crm.answer = status(204);
  fixture.smtp.answers.clear();
});

/** Stores an accepted lead; `waits` adds its outbox row. */
async function accepted({ tenant = "acme", waits = false } = {}): Promise<string> {
  const eventId = newEventId();
  await fixture.sql`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    select ${eventId}, 'lead', t.id, k.id, now(), 'k', '{}', '{"last_name":"Lovelace"}'
    from tenant as t join api_key as k on k.tenant_id = t.id where t.slug = ${tenant}`;
  if (waits) {
    await fixture.sql`
      insert into outbox (event_id, tenant_id, due_at)
      select ${eventId}, id, now() from tenant where slug = ${tenant}`;
  }
  return eventId;
}

/** Stores a lead that the actions service has delivered. */
async function delivered(): Promise<string> {
  const eventId = await accepted();
  assert.equal((await fixture.deliver({ eventId })).status, 200);
  await fixture.sql`
    insert into attempt (event_id, number, at, outcome, status, duration_ms, spent)
    values (${eventId}, 1, now(), 'delivered', 200, 5, true)`;
  return eventId;
}

const again = (...args: string[]) => runCtl(["lead", "send-again", ...args, "--json"], on);
const effectsOf = async (eventId: string) => (await ctl(["lead", "show", eventId], on)).effects;
const callsOf = (eventId: string) => fixture.crm.calls.filter((one) => one.headers["webhook-id"] === eventId);
const mailsOf = (eventId: string) =>
  fixture.smtp.messages.map(({ raw }) => /^Message-ID: <(.*)@/im.exec(raw)?.[1] ?? "")
    .filter((id) => id.startsWith(eventId));
const waiting = async () =>
  (await fixture
    .sql`select coalesce(sum(delta), 0)::int as pending from outbox_tally where state = 'pending'`)[
      0
    ]
    ?.pending as number;

test("lead show lists each effect with its outcome, status and response", async () => {
  fixture.crm.answer = (response) => void response.writeHead(201).end('{"id":"4711"}\u001b[31m');
  const eventId = await delivered();
  const [crm, email] = await effectsOf(eventId);
  assert.deepEqual({ ...crm, settled_at: "" }, {
    effect: "crm",
    target: `localhost:${fixture.crm.port}`,
    state: "done",
    busy_until: null,
    status: 201,
    answer: '{"id":"4711"} [31m',
    reason: null,
    attempts: 1,
    settled_at: "",
    headers: {},
    marked_by: null,
  });
  assert.deepEqual([email.effect, email.target, email.state], ["email", "s…@acme.example", "done"]);
  const { stdout } = await runCtl(["lead", "show", eventId], on);
  assert.match(
    stdout,
    /\nEffects\n {2}CRM to localhost:\d+ +done 201 20\d\d-.*\n +\{"id":"4711"\} \[31m\n {2}Email to s…@acme\.example +done/,
  );
});

test("lead send-again puts a delivered lead back into the outbox and repeats every effect once", async () => {
  const eventId = await delivered();
  const before = await waiting();
  const { code, stdout } = await again(eventId);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { event_id: eventId, effect: null }]);
  assert.equal(await waiting(), before + 1);
  assert.deepEqual([
    ...await fixture.sql`select made, is_replay, reason from outbox where event_id = ${eventId}`,
  ], [
    { made: 1, is_replay: true, reason: "sent_again" },
  ]);
  const [claimed] = await fixture.sql`
    select number, is_replay, is_repeat, tenant from claim_outbox(
      gen_random_uuid(), 60000, 24, array(select id from tenant where slug = 'acme'), '{-infinity}', '{100}')
    where event_id = ${eventId}`;
  assert.deepEqual(claimed, { number: 2, is_replay: true, is_repeat: true, tenant: "acme" });
  const answer = await fixture.deliver({ eventId, attempt: 2 });
  assert.deepEqual(answer.json.effects, { crm: "done", email: "done" });
  assert.deepEqual([callsOf(eventId).length, mailsOf(eventId)], [2, [eventId, `${eventId}.1`]]);
  const [one, two] = callsOf(eventId);
  assert.equal(one?.body, two?.body);
  // A retry of the repeat has no further effect.
  await fixture.deliver({ eventId, attempt: 3 });
  assert.equal(callsOf(eventId).length, 2);
  const [entry] = await fixture.sql`select action, subject, detail from audit order by id desc limit 1`;
  assert.deepEqual(entry, { action: "event.send_again", subject: eventId, detail: null });
  assert.match((await runCtl(["lead", "show", eventId], on)).stdout, / {2}Sent again by \S+@\S+: With ctl /);
});

test("--effect repeats one kind of effect only, even if a route was added since", async () => {
  await fixture.addTenant("single", { crm: fixture.crmUrl() });
  await ctl(["key", "issue", "single", "--label", "partner-x"], on);
  const eventId = await accepted({ tenant: "single" });
  await fixture.deliver({ eventId, tenant: "single" });
  await ctl(["tenant", "route", "single", "--email", "late@single.example"], on);
  assert.equal((await again(eventId, "--effect", "crm")).code, 0);
  const answer = await fixture.deliver({ eventId, tenant: "single", attempt: 2 });
  assert.deepEqual(answer.json.effects, { crm: "done", email: "done" });
  assert.deepEqual([callsOf(eventId).length, mailsOf(eventId)], [2, []]);
  assert.deepEqual((await effectsOf(eventId)).map(({ effect }: Record<string, string>) => effect), ["crm"]);
});

test("an erased lead keeps the state of its effects without their responses", async () => {
  fixture.crm.answer = (response) => void response.writeHead(200).end("Lovelace is in");
  const eventId = await delivered();
  await ctl(["erase", "--event", eventId], on);
  const [crm] = await effectsOf(eventId);
  assert.deepEqual([crm.state, crm.status, crm.answer], ["done", null, null]);
  await until(async () =>
    (await fixture.sql`select from actions.effect where answer like '%Lovelace%'`).length === 0
  );
});
