import assert from "node:assert/strict";
import { test } from "node:test";
import { freshKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();

const at = (time: string) => testEnv.setClock(`2030-03-0${time}+00`);

test("the same lead without an Idempotency-Key is a duplicate for 24 hours from the first, and then a new lead", async () => {
  const key = await testEnv.issue();
  const body = lead();
  await at("1 12:00:00");
  const first = await testEnv.intake({ key: key.text, body });
  assert.equal(first.status, 202);
  await at("2 11:59:59.999999");
  const last = await testEnv.intake({ key: key.text, body });
  assert.equal(last.status, 200);
  assert.deepEqual(last.json, { ...first.json, status: "duplicate" });
  await at("2 12:00:00");
  const next = await testEnv.intake({ key: key.text, body });
  assert.equal(next.status, 202);
  assert.equal(next.json.received_at, "2030-03-02T12:00:00.000Z");
  assert.notEqual(next.json.event_id, first.json.event_id);
  await at("3 11:00:00");
  const repeat = await testEnv.intake({ key: key.text, body });
  assert.equal(repeat.json.event_id, next.json.event_id, "the new event has a window of its own");
});

test("an event keeps its content after its window", async () => {
  const key = await testEnv.issue();
  const body = lead({ cost: 2 });
  await at("1 00:00:00");
  const first = await testEnv.intake({ key: key.text, body });
  const before = await testEnv.event(first.json.event_id);
  await at("3 00:00:00");
  assert.equal((await testEnv.intake({ key: key.text, body })).status, 202);
  const later = await testEnv.event(first.json.event_id);
  assert.equal(later.raw, before.raw);
  assert.equal(later.lead_text, before.lead_text);
  assert.deepEqual(later.received_at, before.received_at);
});

test("content is compared only among leads without an Idempotency-Key", async () => {
  await testEnv.setClock(null);
  const key = await testEnv.issue();
  const body = lead();
  const headers = { "Idempotency-Key": freshKey() };
  const statuses = [
    await testEnv.intake({ key: key.text, body, headers }),
    await testEnv.intake({ key: key.text, body }),
    await testEnv.intake({ key: key.text, body }),
    await testEnv.intake({ key: key.text, body, headers: { "Idempotency-Key": freshKey() } }),
    await testEnv.intake({ key: key.text, body, headers }),
  ].map(({ status }) => status);
  assert.deepEqual(statuses, [202, 202, 200, 202, 200]);
});

test("content is compared within the tenant across its keys, and a repeat is no collision", async () => {
  await testEnv.setClock(null);
  const key = await testEnv.issue();
  const sister = await testEnv.issue({ tenant: key.tenant });
  const stranger = await testEnv.issue();
  const body = lead();
  const first = await testEnv.intake({ key: key.text, body });
  const before = await testEnv.stored();
  const again = await testEnv.intake({ key: sister.text, body });
  assert.deepEqual(again.json, { ...first.json, status: "duplicate", source: sister.label });
  assert.deepEqual(await testEnv.stored(), before);
  assert.equal((await testEnv.intake({ key: stranger.text, body })).status, 202);
});

test("content is the normalized lead: spelling is ignored, every field and extra count", async () => {
  await testEnv.setClock(null);
  const key = await testEnv.issue();
  const last_name = lead().last_name as string;
  const base = { first_name: "Ada", last_name, phone: "555-123-4567", email: "ada@example.com" };
  assert.equal((await testEnv.intake({ key: key.text, body: base })).status, 202);
  const same = [
    { ...base, email: " ADA@example.COM" },
    { phone: "+15551234567", email: base.email, last_name: `${last_name} `, first_name: "Ada" },
    { ...base, city: null, extra: {}, country: "usa", state: "  " },
    { ...base, phone: "1 (555) 123.4567" },
  ];
  for (const body of same) {
    assert.equal((await testEnv.intake({ key: key.text, body })).status, 200, JSON.stringify(body));
  }
  const others = [
    { ...base, first_name: "ada" },
    { ...base, phone: "555-123-4568" },
    { ...base, cost: 1 },
    { ...base, project_details: "x" },
    { ...base, city: "x" },
    { ...base, project_material: "x" },
    { ...base, note: "x" },
    { ...base, note: 1 },
    { ...base, external_id: "1" },
    ...["1", "1e1"].map((word) =>
      JSON.stringify(base).replace("}", `,"extra":{"a":[${new Array(4_200).fill(word)}]}}`)
    ),
  ];
  for (const body of others) {
    const { status } = await testEnv.intake({ key: key.text, body });
    assert.equal(status, 202, JSON.stringify(body).slice(0, 200));
  }
});
