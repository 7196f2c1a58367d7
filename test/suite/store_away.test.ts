import assert from "node:assert/strict";
import { test } from "node:test";
import { ownPostgres } from "../support/database.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, TestEnv, visitor } from "../support/test_env.ts";

/** What a caller sees while the store is unavailable; test/faults/ covers what must survive it. */
const own = await ownPostgres();
const testEnv = await TestEnv.open(own.url);
// The counts of refusals wait for the store.
testEnv.expectLogged("totals_kept");
const server = await testEnv.start();
const key = await testEnv.issue();
const { form, key: formKey } = await testEnv.formWithKey();
const health = () => testEnv.send("/healthz");

test("without the store healthz answers 503 with the last figures, intake 503, and the vocabulary the last snapshot", async () => {
  const options = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  assert.equal((await testEnv.intake({ key: key.text, body: lead() })).status, 202);
  await until(async () => (await health()).json.pending === 1);
  const before = await testEnv.send("/v1/vocabulary");

  own.freeze();
  const posted = testEnv.intake(options);
  const checked = testEnv.intake({ key: key.text, body: {} });
  const submitted = testEnv.submit(form, { key: formKey.text, body: visitor() });
  await until(async () => (await health()).status === 503);
  const away = await health();
  assert.deepEqual(away.json, { ok: false, pending: 1, dead: 0, store_writable: false });
  assert.equal(away.headers["access-control-allow-origin"], "*");
  const vocabulary = await testEnv.send("/v1/vocabulary");
  assert.equal(vocabulary.status, 200);
  assert.equal(vocabulary.text, before.text);
  assert.equal((await testEnv.sendToForms("/healthz")).status, 503);
  for (const answer of await Promise.all([posted, checked, submitted])) {
    assert.equal(answer.status, 503);
    assert.deepEqual(answer.json, { error: "not_accepting", request_id: answer.headers["x-request-id"] });
  }

  assert.equal((await testEnv.submit(form, { key: formKey.text, body: visitor() })).status, 503);
  assert.equal((await testEnv.intake({ key: key.text, body: lead() })).status, 503);
  assert.equal(
    (await testEnv.intake({ key: "nonsense", body: lead() })).status,
    401,
    "a mistyped key needs no store",
  );
  assert.equal((await testEnv.intake({ body: " ".repeat(65_537) })).status, 413);

  own.thaw();
  await until(async () => (await health()).status === 200);
  await until(async () =>
    (await testEnv.submit(form, { key: formKey.text, body: visitor() })).status === 202
  );
  const retry = await until(async () => {
    const answer = await testEnv.intake(options);
    return answer.status === 503 ? null : answer;
  });
  assert.ok([200, 202].includes(retry.status));
  const [row] = await testEnv.sql`
    select count(*)::int as count from event where idempotency_key = ${options.headers["Idempotency-Key"]}`;
  assert.equal(row?.count, 1);
});

test("with a read-only store store_writable is false and posts answer 503, until it recovers without a restart", async () => {
  const writable = (yes: boolean) =>
    testEnv.sql.unsafe(`alter system set default_transaction_read_only = ${yes ? "off" : "on"}`)
      .then(() => testEnv.sql`select pg_reload_conf()`);
  await writable(false);
  await until(async () => (await health()).json.store_writable === false);
  const { status, json } = await testEnv.intake({ key: key.text, body: lead() });
  assert.deepEqual([status, json.error], [503, "not_accepting"]);
  assert.equal((await testEnv.intake({ key: key.text, body: {} })).status, 422, "keys can still be read");
  const submit = (body: object) => testEnv.submit(form, { key: formKey.text, body });
  assert.deepEqual([(await submit(visitor())).status, (await submit({})).status], [503, 400]);
  assert.equal((await testEnv.send("/v1/vocabulary")).status, 200);
  await testEnv.sql`set default_transaction_read_only = off`;
  await writable(true);
  await until(async () => (await health()).json.ok === true);
  assert.equal((await testEnv.intake({ key: key.text, body: lead() })).status, 202);
});

test("the loss and the return of the store are each logged once", async () => {
  const changes = () =>
    server.logs.map(({ event }) => event).filter((event) => /^store_/.test(String(event)));
  await until(() => changes().length >= 5);
  assert.deepEqual(changes(), [
    "store_writable",
    "store_not_writable",
    "store_writable",
    "store_not_writable",
    "store_writable",
  ]);
});
