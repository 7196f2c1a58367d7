import assert from "node:assert/strict";
import { test } from "node:test";
import { freshKey, lead, World } from "../support/world.ts";

const world = await World.open();
await world.start();

const at = (time: string) => world.setClock(`2030-03-0${time}+00`);

test("the same lead without an Idempotency-Key is a duplicate for 24 hours from the first, and then a lead again", async () => {
  const key = await world.issue();
  const body = lead();
  await at("1 12:00:00");
  const first = await world.intake({ key: key.text, body });
  assert.equal(first.status, 202);
  await at("2 11:59:59.999999");
  const last = await world.intake({ key: key.text, body });
  assert.equal(last.status, 200);
  assert.deepEqual(last.json, { ...first.json, status: "duplicate" });
  await at("2 12:00:00");
  const next = await world.intake({ key: key.text, body });
  assert.equal(next.status, 202);
  assert.equal(next.json.received_at, "2030-03-02T12:00:00.000Z");
  assert.notEqual(next.json.event_id, first.json.event_id);
  await at("3 11:00:00");
  const repeat = await world.intake({ key: key.text, body });
  assert.equal(repeat.json.event_id, next.json.event_id, "the new event has a window of its own");
});

test("an event whose window has passed keeps its content", async () => {
  const key = await world.issue();
  const body = lead({ cost: 2 });
  await at("1 00:00:00");
  const first = await world.intake({ key: key.text, body });
  const before = await world.event(first.json.event_id);
  await at("3 00:00:00");
  assert.equal((await world.intake({ key: key.text, body })).status, 202);
  const later = await world.event(first.json.event_id);
  assert.equal(later.raw, before.raw);
  assert.equal(later.lead_text, before.lead_text);
  assert.deepEqual(later.received_at, before.received_at);
});

test("content is compared among leads without an Idempotency-Key only", async () => {
  await world.setClock(null);
  const key = await world.issue();
  const body = lead();
  const headers = { "Idempotency-Key": freshKey() };
  const statuses = [
    await world.intake({ key: key.text, body, headers }),
    await world.intake({ key: key.text, body }),
    await world.intake({ key: key.text, body }),
    await world.intake({ key: key.text, body, headers: { "Idempotency-Key": freshKey() } }),
    await world.intake({ key: key.text, body, headers }),
  ].map(({ status }) => status);
  assert.deepEqual(statuses, [202, 202, 200, 202, 200]);
});

test("content is compared within the tenant, whichever of its keys posts; a repeat is no collision", async () => {
  await world.setClock(null);
  const key = await world.issue();
  const sister = await world.issue({ tenant: key.tenant });
  const stranger = await world.issue();
  const body = lead();
  const first = await world.intake({ key: key.text, body });
  const before = await world.stored();
  const again = await world.intake({ key: sister.text, body });
  assert.deepEqual(again.json, { ...first.json, status: "duplicate", source: sister.label });
  assert.deepEqual(await world.stored(), before);
  assert.equal((await world.intake({ key: stranger.text, body })).status, 202);
});

test("content is the normalized lead: spelling does not count, every field and extra do", async () => {
  await world.setClock(null);
  const key = await world.issue();
  const last_name = lead().last_name as string;
  const base = { first_name: "Ada", last_name, phone: "555-123-4567", email: "ada@example.com" };
  assert.equal((await world.intake({ key: key.text, body: base })).status, 202);
  const same = [
    { ...base, email: " ADA@example.COM" },
    { phone: "+15551234567", email: base.email, last_name: `${last_name} `, first_name: "Ada" },
    { ...base, city: null, extra: {}, country: "usa", state: "  " },
    { ...base, phone: "1 (555) 123.4567" },
  ];
  for (const body of same) {
    assert.equal((await world.intake({ key: key.text, body })).status, 200, JSON.stringify(body));
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
    const { status } = await world.intake({ key: key.text, body });
    assert.equal(status, 202, JSON.stringify(body).slice(0, 200));
  }
});
