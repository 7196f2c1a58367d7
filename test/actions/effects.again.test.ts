/** A delivered event that an operator has sent once more, and what is shown of its effects. */

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { status } from "../support/actions/crm_sink.ts";
import { newEventId } from "../support/actions/event.ts";
import { openStand, type Stand } from "../support/actions/stand.ts";
import { ctl, runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";

let stand: Stand;
let on: { readonly databaseUrl: string };

before(async () => {
  stand = await openStand();
  on = { databaseUrl: stand.database.url };
  await stand.addTenant("box", { sandbox: true });
  await ctl(["key", "issue", "acme", "--label", "partner-x"], on);
  await ctl(["key", "issue", "box", "--label", "trial"], on);
});
beforeEach(() => {
  stand.crm.answer = status(204);
  stand.smtp.answers.clear();
});

/** A lead that the service has accepted, and whether it still waits. */
async function accepted({ tenant = "acme", waits = false } = {}): Promise<string> {
  const eventId = newEventId();
  await stand.sql`
    insert into event (event_id, kind, tenant_id, key_id, received_at, dedupe_space, flags, lead)
    select ${eventId}, 'lead', t.id, k.id, now(), 'k', '{}', '{"last_name":"Lovelace"}'
    from tenant as t join api_key as k on k.tenant_id = t.id where t.slug = ${tenant}`;
  if (waits) {
    await stand.sql`
      insert into outbox (event_id, tenant_id, due_at)
      select ${eventId}, id, now() from tenant where slug = ${tenant}`;
  }
  return eventId;
}

/** The same, delivered by the tier. */
async function delivered(): Promise<string> {
  const eventId = await accepted();
  assert.equal((await stand.deliver({ eventId })).status, 200);
  await stand.sql`
    insert into attempt (event_id, number, at, outcome, status, duration_ms, spent)
    values (${eventId}, 1, now(), 'delivered', 200, 5, true)`;
  return eventId;
}

const again = (...args: string[]) => runCtl(["lead", "send-again", ...args, "--json"], on);
const effectsOf = async (eventId: string) => (await ctl(["lead", "show", eventId], on)).effects;
const callsOf = (eventId: string) => stand.crm.calls.filter((one) => one.headers["webhook-id"] === eventId);
const mailsOf = (eventId: string) =>
  stand.smtp.messages.map(({ raw }) => /^Message-ID: <(.*)@/im.exec(raw)?.[1] ?? "")
    .filter((id) => id.startsWith(eventId));
const waiting = async () =>
  (await stand.sql`select coalesce(sum(delta), 0)::int as pending from outbox_tally where state = 'pending'`)[
    0
  ]
    ?.pending as number;

test("lead show has each effect by name, with the status and the answer of the other side", async () => {
  stand.crm.answer = (response) => void response.writeHead(201).end('{"id":"4711"}\u001b[31m');
  const eventId = await delivered();
  const [crm, email] = await effectsOf(eventId);
  assert.deepEqual({ ...crm, settled_at: "" }, {
    effect: "crm",
    target: `localhost:${stand.crm.port}`,
    state: "done",
    busy_until: null,
    status: 201,
    answer: '{"id":"4711"} [31m',
    reason: null,
    attempts: 1,
    settled_at: "",
  });
  assert.deepEqual([email.effect, email.target, email.state], ["email", "s…@acme.example", "done"]);
  const { stdout } = await runCtl(["lead", "show", eventId], on);
  assert.match(
    stdout,
    /\nEffects\n {2}CRM localhost:\d+ +done 201, 20\d\d-.*\n +\{"id":"4711"\} \[31m\n {2}Email s…@acme\.example +done/,
  );
});

test("lead send-again puts a delivered lead back, marked as a repeat; the tier does every effect once more", async () => {
  const eventId = await delivered();
  const before = await waiting();
  const { code, stdout } = await again(eventId);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { event_id: eventId, effect: null }]);
  assert.equal(await waiting(), before + 1);
  assert.deepEqual([
    ...await stand.sql`select made, is_replay, reason from outbox where event_id = ${eventId}`,
  ], [
    { made: 1, is_replay: true, reason: "sent_again" },
  ]);
  const [claimed] = await stand.sql`
    select number, is_replay, is_repeat, tenant from claim_outbox(
      gen_random_uuid(), 60000, 24, array(select id from tenant where slug = 'acme'), '{-infinity}', '{100}')
    where event_id = ${eventId}`;
  assert.deepEqual(claimed, { number: 2, is_replay: true, is_repeat: true, tenant: "acme" });
  const answer = await stand.deliver({ eventId, attempt: 2 });
  assert.deepEqual(answer.json.effects, { crm: "done", email: "done" });
  assert.deepEqual([callsOf(eventId).length, mailsOf(eventId)], [2, [eventId, `${eventId}.1`]]);
  const [one, two] = callsOf(eventId);
  assert.equal(one?.body, two?.body);
  // A retry of the repeat does nothing more.
  await stand.deliver({ eventId, attempt: 3 });
  assert.equal(callsOf(eventId).length, 2);
  const [entry] = await stand.sql`select action, subject, detail from audit order by id desc limit 1`;
  assert.deepEqual(entry, { action: "event.send_again", subject: eventId, detail: null });
  assert.match((await runCtl(["lead", "show", eventId], on)).stdout, / {2}sent again by an operator \(ctl /);
});

test("--effect has one kind done again; the others stay done, also those that were added since", async () => {
  await stand.addTenant("single", { crm: stand.crmUrl() });
  await ctl(["key", "issue", "single", "--label", "partner-x"], on);
  const eventId = await accepted({ tenant: "single" });
  await stand.deliver({ eventId, tenant: "single" });
  await ctl(["tenant", "route", "single", "--email", "late@single.example"], on);
  assert.equal((await again(eventId, "--effect", "crm")).code, 0);
  const answer = await stand.deliver({ eventId, tenant: "single", attempt: 2 });
  assert.deepEqual(answer.json.effects, { crm: "done", email: "done" });
  assert.deepEqual([callsOf(eventId).length, mailsOf(eventId)], [2, []]);
  assert.deepEqual((await effectsOf(eventId)).map(({ effect }: Record<string, string>) => effect), ["crm"]);
});

test("an erased lead keeps that its effects were done, and nothing of what was answered", async () => {
  stand.crm.answer = (response) => void response.writeHead(200).end("Lovelace is in");
  const eventId = await delivered();
  await ctl(["erase", "--event", eventId], on);
  const [crm] = await effectsOf(eventId);
  assert.deepEqual([crm.state, crm.status, crm.answer], ["done", null, null]);
  await until(async () =>
    (await stand.sql`select from actions.effect where answer like '%Lovelace%'`).length === 0
  );
});
