import assert from "node:assert/strict";
import { test } from "node:test";
import { flagNames } from "../../src/contract/fields.ts";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();

test("POST /v1/intake answers 202 with the acknowledgement and commits event and outbox row together", async () => {
  const key = await testEnv.issue();
  const answer = await testEnv.intake({ key: key.text, body: lead() });
  assert.equal(answer.status, 202);
  assert.deepEqual(Object.keys(answer.json), ["event_id", "status", "received_at", "source", "flags"]);
  assert.equal(answer.json.status, "accepted");
  assert.equal(answer.json.source, key.label);
  assert.deepEqual(answer.json.flags, []);
  assert.match(answer.json.event_id, /^[0-9a-z]+$/);
  assert.match(answer.json.received_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const [together] = await testEnv.sql`
    select e.xmin = o.xmin as same, e.tenant_id, e.key_id, o.tenant_id as outbox_tenant
    from event as e join outbox as o using (event_id) where event_id = ${answer.json.event_id}`;
  assert.deepEqual({ ...together }, {
    same: true,
    tenant_id: key.tenant.id,
    key_id: key.id,
    outbox_tenant: key.tenant.id,
  });
});

test("the acknowledgement is uncacheable JSON with what is left of both budgets", async () => {
  const { headers } = await testEnv.intake({ key: (await testEnv.issue()).text, body: lead() });
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["cache-control"], "no-store");
  assert.match(String(headers["ratelimit-policy"]), /^"ip";q=\d+;w=60, "key";q=\d+;w=60$/);
  assert.match(String(headers["ratelimit"]), /^"ip";r=\d+;t=\d+, "key";r=\d+;t=\d+$/);
  assert.equal(headers["retry-after"], undefined);
  assert.equal(headers["access-control-allow-origin"], undefined);
});

test("received_at is the database's commit time, and a repeat returns the original one", async () => {
  const key = await testEnv.issue();
  const options = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  await testEnv.setClock("2031-05-06 07:08:09.123456+00");
  const first = await testEnv.intake(options);
  await testEnv.setClock(null);
  assert.equal(first.json.received_at, "2031-05-06T07:08:09.123Z");
  const again = await testEnv.intake(options);
  assert.equal(again.status, 200);
  assert.equal(again.json.received_at, "2031-05-06T07:08:09.123Z");
  const [row] = await testEnv.sql`
    select received_at = '2031-05-06 07:08:09.123456+00' as exact from event
    where event_id = ${first.json.event_id}`;
  assert.equal(row?.exact, true);
});

test("event ids sort by acceptance and contain 80 random bits within one commit", async () => {
  const key = await testEnv.issue();
  const ids: string[] = [];
  for (let post = 0; post < 20; post += 1) {
    ids.push((await testEnv.intake({ key: key.text, body: lead() })).json.event_id);
  }
  assert.deepEqual(ids, [...ids].sort());
  const batch = await Promise.all(
    Array.from({ length: 100 }, () => testEnv.intake({ key: key.text, body: lead() })),
  );
  const tails = new Set([...ids, ...batch.map(({ json }) => json.event_id)].map((id) => id.slice(-20)));
  assert.equal(tails.size, 120);
  for (let place = 0; place < 20; place += 1) {
    const digits = new Set([...tails].map((tail) => tail[place]));
    assert.ok(digits.size > 4, `character ${place} of the random part takes many values`);
  }
});

test("the source is the key's label, and one in the body only lands in extra", async () => {
  const key = await testEnv.issue({ label: "Dächer & Söhne – Köln 屋根" });
  const answer = await testEnv.intake({ key: key.text, body: lead({ source: "spoofed" }) });
  assert.equal(answer.status, 202);
  assert.equal(answer.json.source, "Dächer & Söhne – Köln 屋根");
  assert.deepEqual(answer.json.flags, ["extra_fields_preserved"]);
  const event = await testEnv.event(answer.json.event_id);
  assert.equal(event.extra, '{"source":"spoofed"}');
  assert.equal(event.key_id, key.id);
  assert.equal(event.lead.source, undefined);
});

test("every flag appears on the 202 and on its repeat, with the same members and headers", async () => {
  const key = await testEnv.issue();
  const body = lead({
    phone: "+44 20 7946 0000",
    email: "nobody",
    country: "Freedonia",
    project_area: "observatory",
    project_service: "demolish",
    campaign_code: 7,
  });
  const options = { key: key.text, body, headers: { "Idempotency-Key": freshKey() } };
  const first = await testEnv.intake(options);
  assert.equal(first.status, 202);
  assert.deepEqual(first.json.flags, flagNames);
  const again = await testEnv.intake({ ...options, body: lead() });
  assert.equal(again.status, 200);
  assert.deepEqual(again.json, { ...first.json, status: "duplicate" });
  assert.deepEqual(Object.keys(again.json), Object.keys(first.json));
  assert.deepEqual(Object.keys(again.headers).sort(), Object.keys(first.headers).sort());
});

for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"]) {
  test(`a JSON object sent as ${type} is accepted: Content-Type is not enforced`, async () => {
    const key = await testEnv.issue();
    const body = lead({ city: "Zürich" });
    const answer = await testEnv.intake({ key: key.text, body, headers: { "Content-Type": type } });
    assert.equal(answer.status, 202);
    assert.equal((await testEnv.event(answer.json.event_id)).lead.city, "Zürich");
  });
}
