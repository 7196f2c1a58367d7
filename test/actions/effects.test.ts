import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { until } from "../support/until.ts";
import { status } from "../support/actions/crm_sink.ts";
import { newEventId } from "../support/actions/event.ts";
import { openStand, type Stand } from "../support/actions/stand.ts";

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
    select effect, attempts, reason, done_at is not null as done, lease is not null as leased
    from actions.effect where event_id = ${eventId} order by effect`;
}

test("an event that comes again is answered alike, and neither called nor mailed again", async () => {
  const first = await stand.deliver();
  const again = await stand.deliver({ eventId: first.eventId, attempt: 2 });
  assert.deepEqual([again.status, again.json], [first.status, first.json]);
  assert.deepEqual([callsOf(first.eventId), mailsOf(first.eventId)], [1, 1]);
});

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

test("after email done, CRM failed, a retry calls the CRM alone", async () => {
  stand.crm.answer = status(500);
  const first = await stand.deliver();
  stand.crm.answer = status(200);
  const second = await stand.deliver({ eventId: first.eventId, attempt: 2 });
  assert.deepEqual(second.json.effects, { crm: "done", email: "done" });
  assert.deepEqual([callsOf(first.eventId), mailsOf(first.eventId)], [2, 1]);
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
  assert.deepEqual(json.effects, { crm: "failed: timeout", email: "done" });
});

test("while one tenant's CRM hangs, another tenant's event is delivered", async () => {
  await stand.addTenant("other", { email: "other@example.com" });
  const patient = await stand.start({ env: { ACTIONS_EFFECT_TIMEOUT_MS: "60000" } });
  const release = Promise.withResolvers<void>();
  stand.crm.answer = (response) => void release.promise.then(() => response.writeHead(204).end());
  let answered = 0;
  const hanging = Array.from({ length: 30 }, () => stand.deliverTo(patient, {}).finally(() => answered++));
  assert.equal((await stand.deliverTo(patient, { tenant: "other" })).status, 200);
  assert.equal(answered, 0);
  release.resolve();
  for (const { json } of await Promise.all(hanging)) {
    assert.deepEqual(json.effects, { crm: "done", email: "done" });
  }
});

test("a mail server that is not configured is a failed effect", async () => {
  const actions = await stand.start({ env: { SMTP_URL: "", MAIL_FROM: "" } });
  const { json, status } = await stand.deliverTo(actions, {});
  assert.equal(status, 424);
  assert.deepEqual(json.effects, { crm: "done", email: "failed: smtp_not_configured" });
});

async function moveClock(offset: string): Promise<void> {
  await stand.sql.unsafe(`create or replace function service_clock() returns timestamptz
    language sql volatile parallel safe as $$ select clock_timestamp() + interval '${offset}' $$`);
}
