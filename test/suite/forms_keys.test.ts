import assert from "node:assert/strict";
import { test } from "node:test";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { freshKey, visitor, World } from "../support/world.ts";

const world = await World.open();
await world.start();

test("the probe {} answers 400 missing_required, stores nothing and consumes no Idempotency-Key", async () => {
  const { form, key } = await world.formWithKey();
  const headers = { "Idempotency-Key": freshKey() };
  const answer = await world.leavesNothing(() => world.submit(form, { key: key.text, body: {}, headers }));
  assert.equal(answer.status, 400);
  assert.deepEqual(answer.json, {
    error: "missing_required",
    request_id: answer.headers["x-request-id"],
    fields: { name: "required", email: "required" },
  });
  assert.equal((await world.submit(form, { key: key.text, body: visitor(), headers })).status, 202);
});

test("a mistyped key and a key of the intake are 401, and an impossible form key 404, without a query", async () => {
  const { form, key } = await world.formWithKey();
  const intakeKey = await world.issue();
  assert.equal((await world.submit(form, { key: key.text, body: visitor() })).status, 202);
  const mistyped = key.text.slice(0, -1) + (key.text.endsWith("0") ? "1" : "0");
  // Keys can be read, forms cannot.
  const releaseForms = await world.hold("lock table form in access exclusive mode");
  const impossible = await world.submit(
    { ...form, formKey: "%63ontact" },
    { key: key.text, body: visitor(), timeoutMs: 2_000 },
  );
  await releaseForms();
  assert.equal(impossible.status, 404);
  const releaseKeys = await world.hold("lock table api_key in access exclusive mode");
  const settled = await Promise.allSettled(
    [mistyped, intakeKey.text, "nonsense", ""].map((text) =>
      world.submit(form, { key: text, body: visitor(), timeoutMs: 2_000 })
    ),
  );
  await releaseKeys();
  assert.deepEqual(
    settled.map((answer) => answer.status === "fulfilled" && answer.value.status),
    [401, 401, 401, 401],
  );
});

test("a form that cannot be looked up is 503 not_accepting, not 404", async () => {
  const { form, key } = await world.formWithKey();
  await world.leavesNothing(async () => {
    const release = await world.hold("lock table form in access exclusive mode");
    const answer = await world.submit(form, { key: key.text, body: visitor() });
    await release();
    assert.deepEqual([answer.status, answer.json.error], [503, "not_accepting"]);
  });
});

test("after ctl key revoke has returned every answer is 401: probe, 400, 403, 404, post and repeat", async () => {
  const { form, key } = await world.formWithKey();
  const repeat = { key: key.text, body: visitor(), headers: { "Idempotency-Key": freshKey() } };
  assert.equal((await world.submit(form, repeat)).status, 202);
  await ctl(["key", "revoke", String(key.id)], { databaseUrl: world.database.url });
  await world.leavesNothing(async () => {
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
      const answer = await world.submit({ ...form, ...to }, { key: key.text, ...options });
      assert.equal(answer.status, 401, JSON.stringify([to, options.body]));
    }
  });
});

test("a post under way when its key is revoked is 401 unless its commit had begun", async () => {
  const { form, key } = await world.formWithKey();
  assert.equal((await world.submit(form, { key: key.text, body: visitor() })).status, 202);
  const release = await world.holdCommits();
  const begun = world.submit(form, { key: key.text, body: visitor() });
  await world.untilWaiting(1);
  const queued = world.submit(form, { key: key.text, body: visitor() });
  const revoking = world.sql`update api_key set revoked_at = now() where id = ${key.id}`.then(() => {});
  await world.untilWaiting(2);
  await world.untilQueued(1);
  await release();
  assert.equal((await begun).status, 202);
  await revoking;
  assert.equal((await queued).status, 401);
});

test("while PostgreSQL takes no writes: posts 503, the probe 400, healthz 503; and back without a restart", async () => {
  const { form, key } = await world.formWithKey();
  const server = await world.start();
  const health = () => world.sendToForms("/healthz", {}, server).then(({ status }) => status);
  const release = await world.hold("lock table heartbeat in access exclusive mode");
  await until(async () => await health() === 503, { deadlineMs: 4_000 });
  await world.leavesNothing(async () => {
    const answer = await world.submit(form, { key: key.text, body: visitor() }, server);
    assert.deepEqual([answer.status, answer.json.error], [503, "not_accepting"]);
  });
  assert.equal((await world.submit(form, { key: key.text, body: {} }, server)).status, 400);
  await release();
  await until(async () => await health() === 200, { deadlineMs: 4_000 });
  assert.equal((await world.submit(form, { key: key.text, body: visitor() }, server)).status, 202);
});
