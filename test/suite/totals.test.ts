import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunningServer } from "../support/server.ts";
import { lead, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();

/** Posts a body with a key to the server under test. */
type Post = (key: { readonly text: string } | null, body: unknown, headers?: object) => Promise<unknown>;

/** Runs a server, posts, stops it, and returns the totals: key, reason, field, count. */
async function totalsOf(
  work: (post: Post, server: RunningServer) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<unknown[]> {
  await testEnv.sql`truncate refusal_total`;
  const server = await testEnv.start(env);
  const post: Post = (key, body, headers = {}) =>
    testEnv.intake({ ...(key === null ? {} : { key: key.text }), body, headers: { ...headers } }, server);
  await work(post, server);
  assert.equal(await server.stop(), 0);
  const rows = await testEnv.sql`
    select key_id, reason, field, sum(count)::int as count from refusal_total
    group by 1, 2, 3 order by 1, 2, 3`;
  return rows.map((row) => [row.key_id, row.reason, row.field, row.count]);
}

test("refused posts are counted by key and code, with each failing field, and written at shutdown", async () => {
  const key = await testEnv.issue();
  const other = await testEnv.issue();
  const totals = await totalsOf(async (post) => {
    await post(key, { first_name: "Ada" });
    await post(key, { first_name: "Ada", last_name: "x".repeat(101), cost: 0 });
    await post(key, "[]");
    await post(key, "nonsense");
    await post(key, lead(), { "Idempotency-Key": "k".repeat(201) });
    await post(other, lead({ cost: 1000 }));
  });
  assert.deepEqual(totals, [
    [key.id, "invalid_json", "", 2],
    [key.id, "out_of_range", "cost", 1],
    [key.id, "required", "last_name", 1],
    [key.id, "required", "phone", 2],
    [key.id, "too_long", "Idempotency-Key", 1],
    [key.id, "too_long", "last_name", 1],
    [key.id, "validation_failed", "", 3],
    [other.id, "out_of_range", "cost", 1],
    [other.id, "validation_failed", "", 1],
  ]);
});

test("the per-key 429 is counted", async () => {
  const key = await testEnv.issue();
  const totals = await totalsOf(async (post) => {
    for (let n = 0; n < 5; n += 1) await post(key, {});
  }, { INTAKE_KEY_PER_MINUTE: "1", INTAKE_KEY_BURST: "2" });
  assert.deepEqual(totals, [[key.id, "rate_limited", "", 3]]);
});

test("the key check {}, 401, 405, 413, duplicates and accepted leads add to no total", async () => {
  const key = await testEnv.issue();
  const totals = await totalsOf(async (post, server) => {
    const body = lead();
    for (const sent of [{}, " {} ", body, body]) await post(key, sent);
    await post(null, {});
    await post({ text: "nonsense" }, {});
    await post(key, " ".repeat(65_537));
    await testEnv.send("/v1/intake", { key: key.text }, server);
  });
  assert.deepEqual(totals, []);
});

test("accepted leads and duplicates count as a use of the key; {} and refusals do not", async () => {
  const used = await testEnv.issue();
  const checked = await testEnv.issue();
  await totalsOf(async (post) => {
    await post(used, lead());
    for (const body of [{}, "[]", { first_name: "Ada" }]) await post(checked, body);
  });
  const rows = await testEnv.sql`
    select id, last_used_at is not null as used,
      last_used_at = (select date_trunc('milliseconds', max(received_at)) from event where key_id = api_key.id) as exact
    from api_key where id in (${used.id}, ${checked.id}) order by id`;
  assert.deepEqual(rows.map((row) => [row.id, row.used, row.exact]), [
    [used.id, true, true],
    [checked.id, false, null],
  ]);
});
