import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, freshAddress } from "../support/client.ts";
import { floodUntilLimited, rateLimit } from "../support/rates.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { publishedLimits, TestEnv } from "../support/test_env.ts";

/** The two published budgets. */
const testEnv = await TestEnv.open();
await testEnv.start(publishedLimits);
const hour = () => new Date(Date.now() + 3_600_000).toISOString();

test("an address has a burst of 100 and 10 posts per second, across tenants", async () => {
  const { form } = await testEnv.formWithKey();
  const localAddress = freshAddress();
  const { answers, allowed, seconds } = await floodUntilLimited(
    150,
    () => testEnv.submit(form, { localAddress, body: {} }),
  );
  assert.ok(allowed >= 100 && allowed <= 100 + Math.ceil(10 * seconds), `${allowed} in ${seconds} s`);
  const refused = answers.find(({ status }) => status === 429) as Answer;
  assert.deepEqual(refused.json, { error: "rate_limited" });
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.headers["ratelimit-policy"], '"ip";q=600;w=60');
  assert.equal((await testEnv.submit(form, { localAddress: freshAddress(), body: {} })).status, 401);
});

test("a tenant has a burst of 200 and 20 posts per second, across its keys and addresses", async () => {
  const { form, key } = await testEnv.formWithKey();
  const keys = [key, await testEnv.issue({ tenant: form.tenant, surface: "forms" })];
  const addresses = Array.from({ length: 8 }, freshAddress);
  const { answers, allowed, seconds } = await floodUntilLimited(280, (index) =>
    testEnv.submit(form, {
      key: keys[index % 2]?.text as string,
      body: {},
      localAddress: addresses[index % 8] as string,
    }));
  assert.ok(allowed >= 200 && allowed <= 200 + Math.ceil(20 * seconds), `${allowed} in ${seconds} s`);
  const refused = answers.find(({ status }) => status === 429) as Answer;
  assert.equal(refused.json.request_id, refused.headers["x-request-id"]);
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.headers["ratelimit-policy"], '"ip";q=600;w=60, "tenant";q=1200;w=60');
  assert.equal(rateLimit(refused).tenant?.r, 0);
  const other = await testEnv.formWithKey();
  const localAddress = freshAddress();
  assert.equal(
    (await testEnv.submit(other.form, { key: other.key.text, body: {}, localAddress })).status,
    400,
  );
});

test("a raised limit of an address or a forms key applies and lowers nothing", async () => {
  const { form, key } = await testEnv.formWithKey();
  const on = { databaseUrl: testEnv.database.url };
  const raise = (what: string[], perMinute: string, burst: string) =>
    ctl([...what, "--per-minute", perMinute, "--burst", burst, "--until", hour()], on);
  await raise(["ip", "limit", "127.9.1.0/24"], "6000", "500");
  await raise(["ip", "limit", "127.9.2.0/24"], "120", "31");
  await raise(["key", "limit", String(key.id)], "700", "300");
  const policy = async (localAddress: string) =>
    (await testEnv.submit(form, { key: key.text, body: {}, localAddress })).headers["ratelimit-policy"];
  await until(async () => (await policy("127.9.1.1")) === '"ip";q=6000;w=60, "tenant";q=1200;w=60', {
    intervalMs: 100,
  });
  assert.equal(await policy("127.9.2.1"), '"ip";q=600;w=60, "tenant";q=1200;w=60');
});
