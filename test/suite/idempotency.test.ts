import assert from "node:assert/strict";
import { test } from "node:test";
import { freshKey, type IssuedKey, lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();
const key = await testEnv.issue();

const post = (body: unknown, idempotencyKey: string, by: IssuedKey = key) =>
  testEnv.intake({ key: by.text, body, headers: { "Idempotency-Key": idempotencyKey } });

/** Encodes text as a header value in UTF-8: header strings have one character per byte. */
const utf8 = (text: string) => Buffer.from(text, "utf8").toString("latin1");

async function collisions(eventId: string) {
  return await testEnv.sql<{ count: number; last_name: string; key_id: number; raw: string }[]>`
    select count::int, lead->>'last_name' as last_name, key_id, raw from collision
    where event_id = ${eventId} order by id`;
}

test("a repeat with the same Idempotency-Key answers 200 duplicate with the first event_id; no second lead", async () => {
  const idempotencyKey = freshKey();
  const body = lead({ cost: 5 });
  const first = await post(body, idempotencyKey);
  assert.equal(first.status, 202);
  await testEnv.leavesNothing(async () => {
    for (let retry = 0; retry < 3; retry += 1) {
      const again = await post(body, idempotencyKey);
      assert.equal(again.status, 200);
      assert.deepEqual(again.json, { ...first.json, status: "duplicate" });
    }
  });
  assert.equal((await testEnv.event(first.json.event_id)).idempotency_key, idempotencyKey);
});

test("another lead under a used Idempotency-Key answers 200 and is stored as a collision with a count", async () => {
  const idempotencyKey = freshKey();
  const first = await post(lead({ cost: 5 }), idempotencyKey);
  const rival = lead({ cost: 7, project_area: "observatory" });
  const before = await testEnv.stored();
  for (const status of [200, 200, 200]) {
    const answer = await post(rival, idempotencyKey);
    assert.equal(answer.status, status);
    assert.equal(answer.json.event_id, first.json.event_id);
    assert.deepEqual(answer.json.flags, first.json.flags);
  }
  assert.equal((await post(lead(), idempotencyKey)).status, 200);
  const kept = await collisions(first.json.event_id);
  assert.deepEqual(kept.map(({ count }) => count), [3, 1]);
  assert.equal(kept[0]?.last_name, rival.last_name);
  assert.equal(kept[0]?.raw, JSON.stringify(rival));
  assert.equal(kept[0]?.key_id, key.id);
  // A collision is not a lead: no event, no delivery, no charge, no counted term.
  assert.deepEqual(await testEnv.stored(), { ...before, collisions: before.collisions + 2 });
});

test("the same lead spelled differently under its Idempotency-Key is a retry, not a collision", async () => {
  const idempotencyKey = freshKey();
  const last_name = lead().last_name as string;
  const body = { first_name: "Ada", last_name, phone: "555-123-4567", cost: 1.1, x: 1.10, y: "é" };
  const first = await post(body, idempotencyKey);
  assert.equal(first.status, 202);
  const respelled = `{ "y":"\\u00e9", "x":11e-1, "extra":{}, "cost":1.100,"city":null,
    "phone":"+1 (555) 123 4567","last_name":"  ${
    last_name.replaceAll(" ", "   ")
  } ","first_name":"\\u0041da"}`;
  assert.equal((await post(respelled, idempotencyKey)).status, 200);
  assert.deepEqual([...await collisions(first.json.event_id)], []);
});

test("concurrent posts of different leads under one Idempotency-Key: one is accepted, the others are collisions", async () => {
  const idempotencyKey = freshKey();
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(lead(), idempotencyKey)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(19).fill(200), 202]);
  const ids = new Set(answers.map(({ json }) => json.event_id));
  assert.equal(ids.size, 1);
  assert.equal((await collisions([...ids][0])).length, 19);
});

test("an Idempotency-Key belongs to the tenant, across its keys, and the 200 has the calling key's source", async () => {
  const idempotencyKey = freshKey();
  const sister = await testEnv.issue({ tenant: key.tenant, label: "the other source" });
  const body = lead();
  const first = await post(body, idempotencyKey);
  const again = await post(body, idempotencyKey, sister);
  assert.equal(again.status, 200);
  assert.deepEqual(again.json, { ...first.json, status: "duplicate", source: "the other source" });
  assert.equal((await testEnv.event(first.json.event_id)).key_id, key.id);
  assert.equal((await post(body, idempotencyKey, await testEnv.issue())).status, 202);
});

test("after rotation the new key repeats what the revoked one posted", async () => {
  const old = await testEnv.issue();
  const body = lead();
  const idempotencyKey = freshKey();
  const first = await post(body, idempotencyKey, old);
  const fresh = await testEnv.issue({ tenant: old.tenant });
  await testEnv.sql`update api_key set revoked_at = now() where id = ${old.id}`;
  const again = await post(body, idempotencyKey, fresh);
  assert.equal(again.status, 200);
  assert.equal(again.json.event_id, first.json.event_id);
});

test("an Idempotency-Key never expires", async () => {
  const idempotencyKey = freshKey();
  const body = lead();
  await testEnv.setClock("2027-01-01 00:00:00+00");
  const first = await post(body, idempotencyKey);
  await testEnv.setClock("2037-01-01 00:00:00+00");
  const again = await post(body, idempotencyKey);
  await testEnv.setClock(null);
  assert.equal(first.status, 202);
  assert.equal(again.json.event_id, first.json.event_id);
});

test("an Idempotency-Key of 200 characters is accepted and one of 201 answers 422 too_long", async () => {
  assert.equal((await post(lead(), freshKey().padEnd(200, "k"))).status, 202);
  const answer = await testEnv.leavesNothing(() => post(lead(), freshKey().padEnd(201, "k")));
  assert.equal(answer.status, 422);
  assert.deepEqual(answer.json.fields, { "Idempotency-Key": "too_long" });
  const both = await post({ first_name: "Ada" }, "k".repeat(201));
  assert.deepEqual(both.json.fields, {
    last_name: "required",
    phone: "required",
    "Idempotency-Key": "too_long",
  });
});

test("the length of an Idempotency-Key is counted in characters, and it is stored as text", async () => {
  const text = `${"🏠".repeat(190)}${freshKey().slice(-10)}`;
  const first = await post(lead(), utf8(text));
  assert.equal(first.status, 202);
  assert.equal((await testEnv.event(first.json.event_id)).idempotency_key, text);
  assert.equal((await post(lead(), utf8(`${text}!`))).status, 422);
});

test("an Idempotency-Key is compared byte for byte: case, composition and encoding count", async () => {
  const base = freshKey();
  const spellings = [
    `${base}a`,
    `${base}A`,
    utf8(`${base}é`),
    utf8(`${base}e\u0301`),
    `${base}\xe9`,
    `${base}é?`,
  ];
  const body = lead();
  const ids = new Set<string>();
  for (const spelling of spellings) {
    const answer = await post(body, spelling);
    assert.equal(answer.status, 202, spelling);
    ids.add(answer.json.event_id);
    assert.equal((await post(body, spelling)).json.event_id, answer.json.event_id);
  }
  assert.equal(ids.size, spellings.length);
});

test("a blank Idempotency-Key counts as absent", async () => {
  const body = lead();
  const first = await post(body, "");
  const again = await post(body, "   ");
  assert.equal(first.status, 202);
  assert.equal(again.status, 200);
  assert.equal((await testEnv.event(first.json.event_id)).idempotency_key, null);
  assert.equal((await post(lead(), " ")).status, 202);
});

test("two Idempotency-Key headers, even identical ones, answer 400 invalid_json with a detail and store nothing", async () => {
  const [one, other] = [freshKey(), freshKey()];
  for (const keys of [[one, other], [one, one], ["", one]]) {
    const headers = { "Idempotency-Key": keys };
    await testEnv.leavesNothing(async () => {
      for (const body of [lead(), {}]) {
        const answer = await testEnv.intake({ key: key.text, body, headers });
        assert.equal(answer.status, 400);
        assert.equal(answer.json.error, "invalid_json");
        assert.equal(answer.json.detail, "Idempotency-Key was sent 2 times; send it once");
      }
    });
  }
  assert.equal((await post(lead(), one)).status, 202);
  const wrong = await testEnv.intake({ key: `${key.text}x`, headers: { "Idempotency-Key": [one, other] } });
  assert.equal(wrong.status, 401);
});
