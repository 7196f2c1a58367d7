import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, freshAddress, send } from "../support/client.ts";
import { runCtl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, TestEnv, visitor } from "../support/test_env.ts";

const testEnv = await TestEnv.open();

/** Returns the logged posts of keys, by time. */
async function logged(...keys: readonly { readonly id: number }[]) {
  return await testEnv.sql`
    select * from post_log where key_id = any (${keys.map(({ id }) => id)}) order by id`;
}

test("the post log has each post of an active key that made no event, without its content", async () => {
  const server = await testEnv.start();
  const key = await testEnv.issue();
  const sandbox = await testEnv.issue({ tenant: await testEnv.tenant({ sandbox: true }) });
  const { form, key: formKey } = await testEnv.formWithKey();
  const kept = lead();
  const sent = (n: string, idempotencyKey?: string | string[]) => ({
    "X-Request-Id": `post ${n}`,
    ...(idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey }),
  });
  const intake = (body: unknown, headers: object, { text } = key) =>
    testEnv.intake({ key: text, body: body as string, headers: { ...headers } });
  const submit = (body: object, headers: object, to = form, { text } = formKey) =>
    testEnv.submit(to, { key: text, body, headers: { ...headers } });
  const first = await intake(kept, sent("accepted", "job:1"));
  const byContent = await intake(lead({ external_id: "a" }), sent("by content, accepted"));
  const submission = await submit(visitor(), sent("form accepted", "form:1"));

  const { event_id: id } = first.json;
  const tooLong = "k".repeat(201);
  const masked = `job:${key.text.slice(0, 10)}${"*".repeat(34)}${key.text.slice(-4)}`;
  const posts: readonly [() => Promise<Answer>, key: { id: number }, row: readonly unknown[]][] = [
    [() => intake(kept, sent("0", "job:1")), key, [200, null, null, "job:1", id]],
    [() => intake(lead(), sent("1", "job:1")), key, [200, null, null, "job:1", id]],
    [() => intake({}, sent("2", "job:1")), key, []],
    [() => intake(JSON.stringify({ first_name: "Zmarker", cost: 0 }), sent("3", "job:2")), key, [
      422,
      "validation_failed",
      { last_name: "required", phone: "required", cost: "out_of_range" },
      "job:2",
      null,
    ]],
    [() => intake("[]", sent("4", `job:${key.text}`)), key, [400, "invalid_json", null, masked, null]],
    [() => intake(lead(), sent("5", ["a", "b"])), key, [400, "invalid_json", null, null, null]],
    [() => intake(lead(), sent("6", tooLong)), key, [
      422,
      "validation_failed",
      { "Idempotency-Key": "too_long" },
      null,
      null,
    ]],
    [() => intake("nonsense", sent("7"), sandbox), sandbox, [400, "invalid_json", null, null, null]],
    [() => submit(visitor(), sent("8", "form:1")), formKey, [
      200,
      null,
      null,
      "form:1",
      submission.json.submission_id,
    ]],
    [() => submit({ name: "Zmarker" }, sent("9")), formKey, [
      400,
      "missing_required",
      { email: "required" },
      null,
      null,
    ]],
    [() => submit({}, sent("10")), formKey, []],
    [() => submit(visitor(), sent("11"), { ...form, tenant: key.tenant }), formKey, [
      403,
      "tenant_mismatch",
      null,
      null,
      null,
    ]],
    [() => submit(visitor(), sent("12"), { ...form, formKey: "other" }), formKey, [
      404,
      "form_not_found",
      null,
      null,
      null,
    ]],
    [() => intake(lead(), sent("13"), { ...key, text: "nonsense" }), key, []],
    [() => intake(" ".repeat(65_537), sent("14")), key, []],
    [() => testEnv.send("/v1/intake", { key: key.text, headers: sent("15") }), key, []],
  ];
  for (const [post] of posts) await post();
  const repeated = await intake(JSON.parse(JSON.stringify(lead({ external_id: "a" }))), sent("new"));
  assert.equal(repeated.status, 202);
  const maskedEvent = await intake(lead(), sent("masked", `job:${key.text}`));
  const expected = posts.flatMap(([, { id }, row], n) => row.length === 0 ? [] : [[id, `post ${n}`, ...row]]);
  const rows = await until(async () => {
    const rows = await logged(key, sandbox, formKey);
    return rows.length >= expected.length && rows;
  });
  assert.deepEqual(
    rows.map((row) => [
      row.key_id,
      row.request_id,
      row.status,
      row.error,
      row.fields,
      row.idempotency_key,
      row.event_id,
    ]),
    expected,
  );
  assert.deepEqual(
    rows.filter((row) => row.is_collision).map((row) => row.request_id),
    ["post 1", "post 8"],
  );
  for (const { id, at, event_id } of rows) {
    assert.match(id, /^[0-9a-f]{38}$/);
    assert.ok(Math.abs(Number.parseInt(id.slice(0, 14), 16) / 1_000 - at.getTime()) < 1);
    if (event_id !== null) assert.ok(id > event_id, "a duplicate sorts after its event");
  }
  assert.doesNotMatch(JSON.stringify(rows), /Zmarker/);
  assert.equal((await testEnv.event(id)).request_id, "post accepted");
  assert.equal((await testEnv.event(byContent.json.event_id)).idempotency_key, null);
  assert.equal((await testEnv.event(maskedEvent.json.event_id)).idempotency_key, masked);

  const entry = (n: number) =>
    new RegExp(`posted [^(]* with the same Idempotency-Key \\(request id post ${n}\\)`);
  const { stdout } = await runCtl(["lead", "show", id], { databaseUrl: testEnv.database.url });
  const page = await send(`${server.urls.ops}/leads/${id}`);
  for (const text of [stdout, page.text]) {
    assert.match(text, entry(0));
    assert.doesNotMatch(text, entry(1), "it is shown as a collision");
    assert.equal(text.split("It was set aside").length, 2);
  }
});

test("the per-key 429 is logged, with its Idempotency-Key, and the per-address one is not", async () => {
  const server = await testEnv.start({ INTAKE_KEY_PER_MINUTE: "1", INTAKE_KEY_BURST: "1" });
  const key = await testEnv.issue();
  const headers = { "Idempotency-Key": freshKey() };
  for (const status of [202, 429, 429]) {
    assert.equal((await testEnv.intake({ key: key.text, body: lead(), headers }, server)).status, status);
  }
  assert.equal(await server.stop(), 0);
  const strict = await testEnv.start({ INTAKE_IP_PER_MINUTE: "1", INTAKE_IP_BURST: "1" });
  const sameAddress = { key: key.text, body: lead(), localAddress: freshAddress() };
  for (const status of [202, 429]) assert.equal((await testEnv.intake(sameAddress, strict)).status, status);
  assert.equal(await strict.stop(), 0);
  assert.deepEqual(
    (await logged(key)).map(({ status, error, idempotency_key: sent }) => [status, error, sent]),
    [1, 2].map(() => [429, "rate_limited", headers["Idempotency-Key"]]),
  );
});

test("at most 10,000 posts of a key are logged a day, and all are counted", async () => {
  const [full, other] = [await testEnv.issue(), await testEnv.issue()];
  await testEnv.setClock("2026-03-01 23:00Z");
  const refuse = async (time: string) => {
    await testEnv.setClock(time);
    const server = await testEnv.start();
    for (const { text } of [full, other, full, full]) {
      await testEnv.intake({ key: text, body: "[]" }, server);
    }
    assert.equal(await server.stop(), 0);
    return [(await logged(full)).length, (await logged(other)).length];
  };
  await testEnv.sql`
    insert into post_log_day (day, key_id, offered) values ('2026-03-01', ${full.id}, 9998)`;
  assert.deepEqual(await refuse("2026-03-01 23:59:59Z"), [2, 1]);
  assert.deepEqual(await refuse("2026-03-01 23:59:59Z"), [2, 2]);
  assert.deepEqual(await refuse("2026-03-02 00:00Z"), [5, 3]);
  const [total] = await testEnv.sql`
    select sum(count)::int as count from refusal_total where key_id = ${full.id} and reason = 'invalid_json'`;
  assert.equal(total?.count, 9);
  await testEnv.setClock(null);
});

test("while the log cannot be written it keeps a bounded number of posts of each key, and no post waits for it", async () => {
  testEnv.expectLogged("totals_kept");
  const server = await testEnv.start();
  const [flooding, other] = [await testEnv.issue(), await testEnv.issue()];
  const release = await testEnv.hold("lock table event, post_log in share row exclusive mode");
  const refused = await Promise.all(
    Array.from({ length: 1_100 }, () => testEnv.intake({ key: flooding.text, body: "[]" }, server)),
  );
  const posted = [lead(), lead()].map((body) => testEnv.intake({ key: other.text, body }, server));
  await until(() => server.logs.some(({ event }) => event === "totals_kept"));
  const unavailable = await Promise.all(posted);
  await release();
  assert.deepEqual([...refused, ...unavailable].map(({ status }) => status), [
    ...refused.map(() => 400),
    ...unavailable.map(() => 503),
  ]);
  await until(async () => (await logged(other)).length === 2);
  assert.deepEqual((await logged(other)).map(({ error }) => error), unavailable.map(() => "not_accepting"));
  assert.equal((await logged(flooding)).length, 1_000);
  const { text } = await send(`${server.urls.ops}/metrics`);
  assert.match(text, /\nlead_posts_not_logged_total 100\n/);
});
