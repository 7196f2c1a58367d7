import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { until } from "../support/until.ts";
import { ask } from "../support/actions/actions_process.ts";
import { status } from "../support/actions/crm_sink.ts";
import { eventBody, newEventId } from "../support/actions/event.ts";
import { openStand, type Stand } from "../support/actions/stand.ts";

let stand: Stand;

before(async () => {
  stand = await openStand();
  await stand.addTenant("crm-only", { crm: stand.crmUrl() });
  await stand.addTenant("mail-only", { email: "sales@mail.example" });
  await stand.addTenant("nowhere");
  await stand.addTenant("box", { sandbox: true });
});
beforeEach(() => {
  stand.crm.answer = status(204);
  stand.smtp.answers.clear();
});

const put = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  ask(stand.actions, { authority: stand.authority, certificate: stand.client }, {
    method: "PUT",
    path,
    body,
    headers,
  });

test("PUT /v1/events/{event_id} does both effects and answers 200 with what it did", async () => {
  const { status, json, eventId } = await stand.deliver();
  assert.equal(status, 200);
  assert.deepEqual(json, { event_id: eventId, effects: { crm: "done", email: "done" } });
  assert.equal(stand.crm.calls.at(-1)?.headers["webhook-id"], eventId);
  assert.match(
    stand.smtp.messages.at(-1)?.raw ?? "",
    new RegExp(`Message-ID: <${eventId}@intake.example>`, "i"),
  );
});

test("a sandbox tenant's event is delivered without an effect; the log has tenant, event id and no content", async () => {
  const [calls, messages] = [stand.crm.calls.length, stand.smtp.messages.length];
  const { status: code, json, eventId } = await stand.deliver({ tenant: "box" });
  assert.equal(code, 200);
  assert.deepEqual(json, { event_id: eventId, sandbox: true, effects: { crm: "none", email: "none" } });
  assert.deepEqual([stand.crm.calls.length, stand.smtp.messages.length], [calls, messages]);
  const line = await until(() => stand.actions.logs.find((entry) => entry.event === "sandbox"));
  assert.deepEqual(
    { ...line, time: "" },
    { time: "", level: "info", event: "sandbox", event_id: eventId, tenant: "box" },
  );
  assert.equal((await stand.sql`select from actions.effect where event_id = ${eventId}`).length, 0);
});

const wrongBodies: readonly (readonly [string, (body: Record<string, unknown>) => unknown, string])[] = [
  ["no JSON", () => "{", "body"],
  ["an array", () => [], "body"],
  ["another event id", (body) => ({ ...body, event_id: "other" }), "event_id"],
  ["an unknown kind", (body) => ({ ...body, kind: "plan" }), "kind"],
  ["a tenant that is no slug", (body) => ({ ...body, tenant: "Acme\u0000" }), "tenant"],
  ["an unknown tenant", (body) => ({ ...body, tenant: "nobody" }), "tenant"],
  ["no source", (body) => ({ ...body, source: "" }), "source"],
  ["a time of its own", (body) => ({ ...body, received_at: "yesterday\r\n" }), "received_at"],
  ["attempt 0", (body) => ({ ...body, attempt: 0 }), "attempt"],
  ["flags that are no list", (body) => ({ ...body, flags: "none" }), "flags"],
  ["an erased lead", (body) => ({ ...body, lead: null }), "lead"],
  ["an extra that is no object", (body) => ({ ...body, extra: 1 }), "extra"],
];

for (const [what, change, wrong] of wrongBodies) {
  test(`${what} is 400 and names what is wrong; nothing is done`, async () => {
    const [calls, messages] = [stand.crm.calls.length, stand.smtp.messages.length];
    const eventId = newEventId();
    const body = change(JSON.parse(eventBody({ eventId })));
    const answer = await put(`/v1/events/${eventId}`, typeof body === "string" ? body : JSON.stringify(body));
    assert.equal(answer.status, 400);
    assert.deepEqual(answer.json, { error: "invalid_event", wrong });
    assert.deepEqual([stand.crm.calls.length, stand.smtp.messages.length], [calls, messages]);
  });
}

test("a body that is too large is 413, with and without Content-Length, and the next request works", async () => {
  const large = Buffer.alloc(600 * 1024, "x");
  assert.equal((await put(`/v1/events/${newEventId()}`, large)).status, 413);
  const chunked = await put(`/v1/events/${newEventId()}`, large, { "Transfer-Encoding": "chunked" });
  assert.equal(chunked.status, 413);
  assert.equal((await stand.deliver()).status, 200);
});

test("no log line has anything of a lead, a route or a secret", async () => {
  stand.crm.answer = status(500);
  stand.smtp.answers.set("message", "550 5.7.1 we know Zebulon");
  await stand.deliver({
    content: '{"first_name":"Zebulon","last_name":"Quux","phone":"+15550001111","email":"zq@secret.example"}',
    extra: '{"ssn":"078-05-1120"}',
  });
  await put(`/v1/events/${newEventId()}`, '{"first_name":"Zebulon"');
  await until(() => /smtp_rejected_550[^]*event_refused/.test(stand.actions.output.stdout));
  const { stdout, stderr } = stand.actions.output;
  assert.doesNotMatch(
    stdout + stderr,
    /Zebulon|Quux|5550001111|secret\.example|078-05|ssn|acme\.example|whsec_|\/hook/,
  );
  assert.equal(stderr, "");
});
