import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { until } from "../support/until.ts";
import { status } from "../support/actions/crm_sink.ts";
import { eventBody, newEventId } from "../support/actions/event.ts";
import { type Fixture, openFixture } from "../support/actions/fixture.ts";

let fixture: Fixture;

before(async () => {
  fixture = await openFixture();
  await fixture.addTenant("crm-only", { crm: fixture.crmUrl() });
  await fixture.addTenant("mail-only", { email: "sales@mail.example" });
  await fixture.addTenant("nowhere");
  await fixture.addTenant("box", { sandbox: true });
});
beforeEach(() => {
  fixture.crm.answer = status(204);
  fixture.smtp.answers.clear();
});

const put = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  fixture.ask({ method: "PUT", path, body, headers });

test("PUT /v1/events/{event_id} performs both effects and responds 200 with their outcomes", async () => {
  const { status, json, eventId } = await fixture.deliver();
  assert.equal(status, 200);
  assert.deepEqual(json, { event_id: eventId, effects: { crm: "done", email: "done" } });
  assert.equal(fixture.crm.calls.at(-1)?.headers["webhook-id"], eventId);
  assert.match(
    fixture.smtp.messages.at(-1)?.raw ?? "",
    new RegExp(`Message-ID: <${eventId}@intake.example>`, "i"),
  );
});

test("a sandbox tenant's event is delivered without an effect and logged without content", async () => {
  const [calls, messages] = [fixture.crm.calls.length, fixture.smtp.messages.length];
  const { status: code, json, eventId } = await fixture.deliver({ tenant: "box" });
  assert.equal(code, 200);
  assert.deepEqual(json, { event_id: eventId, sandbox: true, effects: { crm: "none", email: "none" } });
  assert.deepEqual([fixture.crm.calls.length, fixture.smtp.messages.length], [calls, messages]);
  const line = await until(() => fixture.actions.logs.find((entry) => entry.event === "sandbox"));
  assert.deepEqual(
    { ...line, time: "" },
    { time: "", level: "info", event: "sandbox", event_id: eventId, tenant: "box" },
  );
  assert.equal((await fixture.sql`select from actions.effect where event_id = ${eventId}`).length, 0);
});

const wrongBodies: readonly (readonly [string, (body: Record<string, unknown>) => unknown, string])[] = [
  ["malformed JSON", () => "{", "body"],
  ["an array", () => [], "body"],
  ["another event id", (body) => ({ ...body, event_id: "other" }), "event_id"],
  ["an unknown kind", (body) => ({ ...body, kind: "plan" }), "kind"],
  ["a tenant that is not a slug", (body) => ({ ...body, tenant: "Acme\u0000" }), "tenant"],
  ["an unknown tenant", (body) => ({ ...body, tenant: "nobody" }), "tenant"],
  ["no source", (body) => ({ ...body, source: "" }), "source"],
  ["a malformed time", (body) => ({ ...body, received_at: "yesterday\r\n" }), "received_at"],
  ["attempt 0", (body) => ({ ...body, attempt: 0 }), "attempt"],
  ["flags that are not a list", (body) => ({ ...body, flags: "none" }), "flags"],
  ["an erased lead", (body) => ({ ...body, lead: null }), "lead"],
  ["an extra that is not an object", (body) => ({ ...body, extra: 1 }), "extra"],
];

for (const [what, change, wrong] of wrongBodies) {
  test(`${what} gets 400 with the name of the wrong member, and no effect`, async () => {
    const [calls, messages] = [fixture.crm.calls.length, fixture.smtp.messages.length];
    const eventId = newEventId();
    const body = change(JSON.parse(eventBody({ eventId })));
    const answer = await put(`/v1/events/${eventId}`, typeof body === "string" ? body : JSON.stringify(body));
    assert.equal(answer.status, 400);
    assert.deepEqual(answer.json, { error: "invalid_event", wrong });
    assert.deepEqual([fixture.crm.calls.length, fixture.smtp.messages.length], [calls, messages]);
  });
}

test("a body over the maximum gets 413, with and without Content-Length", async () => {
  const large = Buffer.alloc(600 * 1024, "x");
  assert.equal((await put(`/v1/events/${newEventId()}`, large)).status, 413);
  const chunked = await put(`/v1/events/${newEventId()}`, large, { "Transfer-Encoding": "chunked" });
  assert.equal(chunked.status, 413);
  assert.equal((await fixture.deliver()).status, 200);
});

test("no log line contains lead content, a route or a secret", async () => {
  fixture.crm.answer = status(500);
  fixture.smtp.answers.set("message", "550 5.7.1 we know Zebulon");
  await fixture.deliver({
    content: '{"first_name":"Zebulon","last_name":"Quux","phone":"+15550001111","email":"zq@secret.example"}',
    extra: '{"ssn":"078-05-1120"}',
  });
  await put(`/v1/events/${newEventId()}`, '{"first_name":"Zebulon"');
  await until(() => /smtp_rejected_550[^]*event_refused/.test(fixture.actions.output.stdout));
  const { stdout, stderr } = fixture.actions.output;
  assert.doesNotMatch(
    stdout + stderr,
    /Zebulon|Quux|5550001111|secret\.example|078-05|ssn|acme\.example|whsec_|\/hook/,
  );
  assert.equal(stderr, "");
});
