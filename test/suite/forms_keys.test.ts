import assert from "node:assert/strict";
import { test } from "node:test";
import { ctl } from "../support/server.ts";
import { freshKey, TestEnv, visitor } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();

test("the probe {} answers 400 missing_required, stores nothing and consumes no Idempotency-Key", async () => {
  const { form, key } = await testEnv.formWithKey();
  const headers = { "Idempotency-Key": freshKey() };
  const answer = await testEnv.leavesNothing(() =>
    testEnv.submit(form, { key: key.text, body: {}, headers })
  );
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.json, {
    error: "missing_required",
    request_id: answer.headers["x-request-id"],
    fields: { name: "required", email: "required" },
  });
  assert.equal((await testEnv.submit(form, { key: key.text, body: visitor(), headers })).status, 202);
});

test("a mistyped key or an intake key answers 401, and an impossible form key 404, without a query", async () => {
  const { form, key } = await testEnv.formWithKey();
  const intakeKey = await testEnv.issue();
  assert.equal((await testEnv.submit(form, { key: key.text, body: visitor() })).status, 202);
  const mistyped = key.text.slice(0, -1) + (key.text.endsWith("0") ? "1" : "0");
  // Keys can be read, forms cannot.
  const releaseForms = await testEnv.hold("lock table form in access exclusive mode");
  const impossible = await testEnv.submit(
    { ...form, formKey: "%63ontact" },
    { key: key.text, body: visitor(), timeoutMs: 2_000 },
  );
  await releaseForms();
  assert.equal(impossible.status, 404);
  const releaseKeys = await testEnv.hold("lock table api_key in access exclusive mode");
  const settled = await Promise.allSettled(
    [mistyped, intakeKey.text, "nonsense", ""].map((text) =>
      testEnv.submit(form, { key: text, body: visitor(), timeoutMs: 2_000 })
    ),
  );
  await releaseKeys();
  for (const answer of settled) assert.equal(answer.status === "fulfilled" && answer.value.status, 401);
});

test("a failed form lookup answers 503 not_accepting, not 404", async () => {
  const { form, key } = await testEnv.formWithKey();
  await testEnv.leavesNothing(async () => {
    const release = await testEnv.hold("lock table form in access exclusive mode");
    const answer = await testEnv.submit(form, { key: key.text, body: visitor() });
    await release();
    assert.deepEqual([answer.status, answer.json.error], [503, "not_accepting"]);
  });
});

test("after ctl key revoke every response is 401: probe, 400, 403, 404, post and repeat", async () => {
  const { form, key } = await testEnv.formWithKey();
  const repeat = { key: key.text, body: visitor(), headers: { "Idempotency-Key": freshKey() } };
  assert.equal((await testEnv.submit(form, repeat)).status, 202);
  await ctl(["key", "revoke", String(key.id)], { databaseUrl: testEnv.database.url });
  await testEnv.leavesNothing(async () => {
    for (
      const [to, options] of [
        [{}, { body: {} }],
        [{}, { body: "[]" }],
        [{ tenant: { slug: "somebody-else" } }, { body: visitor() }],
        [{ formKey: "nowhere" }, { body: visitor() }],
        [{}, { body: visitor() }],
        [{}, repeat],
      ] as const
    ) {
      const answer = await testEnv.submit({ ...form, ...to }, { key: key.text, ...options });
      assert.equal(answer.status, 401, JSON.stringify([to, options.body]));
    }
  });
});
