import assert from "node:assert/strict";
import { test } from "node:test";
import { freshKey, lead, TestEnv, visitor } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();
const second = await testEnv.start();
const { form, key } = await testEnv.formWithKey();
const quote = await testEnv.form({ tenant: form.tenant, formKey: "quote" });
const at = (time: string) => testEnv.setClock(`2030-03-01 ${time}+00`);

const post = (body: unknown, idempotencyKey?: string, to = form) =>
  testEnv.submit(to, {
    key: key.text,
    body,
    headers: idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey },
  });
const collisions = async (eventId: string) =>
  (await testEnv.sql`select count::int from collision where event_id = ${eventId} order by id`).map((row) =>
    row.count
  );

test("a repeat with the same Idempotency-Key answers 200 duplicate with the first id and time, on any server", async () => {
  const options = { key: key.text, body: visitor(), headers: { "Idempotency-Key": freshKey() } };
  const first = await testEnv.submit(form, options);
  assert.equal(first.status, 202);
  await testEnv.leavesNothing(async () => {
    for (const server of [undefined, second]) {
      const again = await testEnv.submit(form, options, server);
      assert.equal(again.status, 200);
      assert.deepEqual(again.json, { ...first.json, status: "duplicate" });
    }
  });
  assert.equal(
    (await testEnv.event(first.json.submission_id)).idempotency_key,
    options.headers["Idempotency-Key"],
  );
});

test("other content or another form under a used Idempotency-Key answers 200 and is stored as a collision", async () => {
  const idempotencyKey = freshKey();
  const body = visitor();
  const first = await post(body, idempotencyKey);
  const rival = visitor();
  const before = await testEnv.stored();
  for (const [sent, to] of [[rival, form], [rival, form], [body, quote]] as const) {
    const answer = await post(sent, idempotencyKey, to);
    assert.deepEqual([answer.status, answer.json.submission_id], [200, first.json.submission_id]);
  }
  assert.deepEqual(await collisions(first.json.submission_id), [2, 1]);
  assert.deepEqual(await testEnv.stored(), { ...before, collisions: before.collisions + 2 });
  const respelled = JSON.stringify({ website: " ", form_key: "x", ...body, phone: null, fax: "" });
  assert.equal((await post(respelled, idempotencyKey)).status, 200);
  assert.deepEqual(await collisions(first.json.submission_id), [2, 1], "the same content is a plain retry");
});

test("an Idempotency-Key belongs to the tenant's forms, apart from its leads and from other tenants", async () => {
  const idempotencyKey = freshKey();
  const headers = { "Idempotency-Key": idempotencyKey };
  const intakeKey = await testEnv.issue({ tenant: form.tenant });
  assert.equal((await testEnv.intake({ key: intakeKey.text, body: lead(), headers })).status, 202);
  const first = await post(visitor(), idempotencyKey);
  assert.equal(first.status, 202);
  const sister = await testEnv.issue({ tenant: form.tenant, surface: "forms" });
  assert.equal((await testEnv.submit(form, { key: sister.text, body: visitor(), headers })).status, 200);
  const other = await testEnv.formWithKey();
  assert.equal(
    (await testEnv.submit(other.form, { key: other.key.text, body: visitor(), headers })).status,
    202,
  );
});

test("an Idempotency-Key of 200 characters is accepted, 201 answer 400 invalid_json, a blank one counts as absent", async () => {
  assert.equal((await post(visitor(), `${freshKey()}${"k".repeat(200)}`.slice(0, 200))).status, 202);
  await testEnv.leavesNothing(async () => {
    const { status, json } = await post(visitor(), "k".repeat(201));
    assert.deepEqual([status, json.error, json.fields], [
      400,
      "invalid_json",
      { "Idempotency-Key": "too_long" },
    ]);
  });
  const body = visitor();
  assert.deepEqual([(await post(body, "  ")).status, (await post(body)).status], [202, 200]);
});

test("128 concurrent posts of one Idempotency-Key over two servers: one 202, the rest 200, one submission", async () => {
  const before = await testEnv.stored();
  const options = { key: key.text, body: visitor(), headers: { "Idempotency-Key": freshKey() } };
  const answers = await Promise.all(Array.from(
    { length: 128 },
    (_, index) => testEnv.submit(form, options, index % 2 === 0 ? undefined : second),
  ));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(127).fill(200), 202]);
  assert.equal(new Set(answers.map(({ json }) => json.submission_id)).size, 1);
  const { events, outbox, pending, submissions } = before;
  assert.deepEqual(await testEnv.stored(), {
    ...before,
    events: events + 1,
    outbox: outbox + 1,
    pending: pending + 1,
    submissions: submissions + 1,
  });
});

test("without an Idempotency-Key the same content is a duplicate for 10 minutes from the first, not sliding", async () => {
  const body = visitor();
  const statuses: number[] = [];
  const ids: string[] = [];
  for (const time of ["12:00:00", "12:05:00", "12:09:59.999999", "12:10:00", "12:19:59", "12:20:00"]) {
    await at(time);
    const { status, json } = await post(body);
    statuses.push(status);
    ids.push(json.submission_id);
  }
  assert.deepEqual(statuses, [202, 200, 200, 202, 200, 202]);
  assert.equal(new Set(ids).size, 3);
  await testEnv.setClock(null);
});

test("content is the form and its fields: spelling is ignored, every field counts", async () => {
  const base = { name: `Ada ${freshKey()}`, email: "ada@example.com", message: "a\nb", n: 1.5 };
  assert.equal((await post(base)).status, 202);
  for (
    const body of [
      { n: 1.5, message: " a \r\n b ", email: "ada@example.com", name: `  ${base.name} ` },
      { ...base, website: "", form_key: "contact", phone: " ", fax: null },
      JSON.stringify(base).replace("1.5", "15e-1"),
      // After a reload, or from the page that is rendered again after a 503.
      { ...base, form_started_at: 1_795_877_127_399, _wpnonce: "a1b2", "h-captcha-response": "P1_ey" },
      { ...base, page_url: "https://acme.example/?retry=1", referrer: "https://acme.example/" },
    ]
  ) assert.equal((await post(body)).status, 200, JSON.stringify(body));
  for (
    const body of [
      { ...base, message: "a b" },
      { ...base, n: "1.5" },
      { ...base, extra: "x" },
      { ...base, email: "Ada@example.com" },
      { ...base, subscribe: false },
    ]
  ) assert.equal((await post(body)).status, 202, JSON.stringify(body));
  assert.equal((await post(base, undefined, quote)).status, 202, "another form");
  assert.equal(
    (await post(base, freshKey())).status,
    202,
    "and content counts among posts without a key only",
  );
});

test("two Idempotency-Key headers answer 400 invalid_json with a detail and store nothing", async () => {
  const [one, other] = [freshKey(), freshKey()];
  await testEnv.leavesNothing(async () => {
    for (const body of [visitor(), {}]) {
      const answer = await testEnv.submit(form, {
        key: key.text,
        body,
        headers: { "Idempotency-Key": [one, other] },
      });
      assert.equal(answer.status, 400);
      assert.equal(answer.json.error, "invalid_json");
      assert.equal(answer.json.detail, "Idempotency-Key was sent 2 times; send it once");
    }
  });
  assert.equal((await post(visitor(), one)).status, 202);
});
