import assert from "node:assert/strict";
import { test } from "node:test";
import { ownPostgres } from "../support/database.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, visitor, World } from "../support/world.ts";

/** What a caller sees while the store is away; test/faults/ has what must be survived. */
const own = await ownPostgres();
const world = await World.open(own.url);
// Counts of refusals wait for the store.
world.expectLogged("totals_kept");
const server = await world.start();
const key = await world.issue();
const { form, key: formKey } = await world.formWithKey();
const health = () => world.send("/healthz");

test("with the store away: healthz 503 with the last known figures, intake 503, the vocabulary from the last snapshot", async () => {
  const options = { key: key.text, body: lead(), headers: { "Idempotency-Key": freshKey() } };
  assert.equal((await world.intake({ key: key.text, body: lead() })).status, 202);
  await until(async () => (await health()).json.pending === 1);
  const before = await world.send("/v1/vocabulary");

  own.freeze();
  const posted = world.intake(options);
  const checked = world.intake({ key: key.text, body: {} });
  const submitted = world.submit(form, { key: formKey.text, body: visitor() });
  await until(async () => (await health()).status === 503);
  const away = await health();
  assert.deepEqual(away.json, { ok: false, pending: 1, dead: 0, store_writable: false });
  assert.equal(away.headers["access-control-allow-origin"], "*");
  const vocabulary = await world.send("/v1/vocabulary");
  assert.equal(vocabulary.status, 200);
  assert.equal(vocabulary.text, before.text);
  assert.equal((await world.sendToForms("/healthz")).status, 503);
  for (const answer of await Promise.all([posted, checked, submitted])) {
    assert.equal(answer.status, 503);
    assert.deepEqual(answer.json, { error: "not_accepting", request_id: answer.headers["x-request-id"] });
  }

  assert.equal((await world.submit(form, { key: formKey.text, body: visitor() })).status, 503);
  assert.equal((await world.intake({ key: key.text, body: lead() })).status, 503);
  assert.equal(
    (await world.intake({ key: "nonsense", body: lead() })).status,
    401,
    "a mistyped key needs no store",
  );
  assert.equal((await world.intake({ body: " ".repeat(65_537) })).status, 413);

  own.thaw();
  await until(async () => (await health()).status === 200);
  await until(async () => (await world.submit(form, { key: formKey.text, body: visitor() })).status === 202);
  const retry = await until(async () => {
    const answer = await world.intake(options);
    return answer.status === 503 ? null : answer;
  }, { deadlineMs: 3_000 });
  assert.ok([200, 202].includes(retry.status));
  const [row] = await world.sql`
    select count(*)::int as count from event where idempotency_key = ${options.headers["Idempotency-Key"]}`;
  assert.equal(row?.count, 1);
});

test("a store that has become read-only: store_writable false, posts 503, and back without a restart", async () => {
  const writable = (yes: boolean) =>
    world.sql.unsafe(`alter system set default_transaction_read_only = ${yes ? "off" : "on"}`)
      .then(() => world.sql`select pg_reload_conf()`);
  await writable(false);
  await until(async () => (await health()).json.store_writable === false, { deadlineMs: 4_000 });
  const { status, json } = await world.intake({ key: key.text, body: lead() });
  assert.deepEqual([status, json.error], [503, "not_accepting"]);
  assert.equal((await world.intake({ key: key.text, body: {} })).status, 422, "keys can still be read");
  assert.equal((await world.send("/v1/vocabulary")).status, 200);
  await world.sql`set default_transaction_read_only = off`;
  await writable(true);
  await until(async () => (await health()).json.ok === true, { deadlineMs: 4_000 });
  assert.equal((await world.intake({ key: key.text, body: lead() })).status, 202);
});

test("the log says when the store went and when it came back, each once", async () => {
  const changes = () =>
    server.logs.map(({ event }) => event).filter((event) => /^store_/.test(String(event)));
  await until(() => changes().length >= 5);
  assert.deepEqual(changes(), [
    "store_writable",
    ...["store_not_writable", "store_writable"],
    ...["store_not_writable", "store_writable"],
  ]);
});
