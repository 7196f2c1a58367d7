import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, freshAddress } from "../support/client.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { publishedLimits, World } from "../support/world.ts";

/** The two budgets, as published. */
const world = await World.open();
await world.start(publishedLimits);
const hour = () => new Date(Date.now() + 3_600_000).toISOString();

/** The numbers of `RateLimit`, by policy. */
function rateLimit(answer: Answer): Record<string, { r: number; t: number }> {
  const parts = String(answer.headers.ratelimit).matchAll(/"(\w+)";r=(\d+);t=(\d+)/g);
  return Object.fromEntries([...parts].map(([, name, r, t]) => [name, { r: Number(r), t: Number(t) }]));
}

/** Posts at once, and says how many were not refused and how long that took. */
async function flood(count: number, post: (index: number) => Promise<Answer>) {
  const startMs = performance.now();
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => post(index)));
  const seconds = (performance.now() - startMs) / 1000;
  return { answers, allowed: answers.filter(({ status }) => status !== 429).length, seconds };
}

test("one address has 100 posts at once and 10 a second, whatever the tenant", async () => {
  const { form } = await world.formWithKey();
  const localAddress = freshAddress();
  const { answers, allowed, seconds } = await flood(
    150,
    () => world.submit(form, { localAddress, body: {} }),
  );
  assert.ok(allowed >= 100 && allowed <= 100 + Math.ceil(10 * seconds), `${allowed} in ${seconds} s`);
  const refused = answers.find(({ status }) => status === 429) as Answer;
  assert.deepEqual(refused.json, { error: "rate_limited" });
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.headers["ratelimit-policy"], '"ip";q=600;w=60');
  assert.equal((await world.submit(form, { localAddress: freshAddress(), body: {} })).status, 401);
});

test("one tenant has 200 posts at once and 20 a second, from all its keys and addresses together", async () => {
  const { form, key } = await world.formWithKey();
  const keys = [key, await world.issue({ tenant: form.tenant, surface: "forms" })];
  const addresses = Array.from({ length: 8 }, freshAddress);
  const { answers, allowed, seconds } = await flood(280, (index) =>
    world.submit(form, {
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
  const other = await world.formWithKey();
  const localAddress = freshAddress();
  assert.equal((await world.submit(other.form, { key: other.key.text, body: {}, localAddress })).status, 400);
});

test("a raised limit of an address or a forms key counts here too, and lowers nothing", async () => {
  const { form, key } = await world.formWithKey();
  const on = { databaseUrl: world.database.url };
  const raise = (what: string[], perMinute: string, burst: string) =>
    ctl([...what, "--per-minute", perMinute, "--burst", burst, "--until", hour()], on);
  await raise(["ip", "limit", "127.9.1.0/24"], "6000", "500");
  await raise(["ip", "limit", "127.9.2.0/24"], "120", "31");
  await raise(["key", "limit", String(key.id)], "700", "300");
  const policy = async (localAddress: string) =>
    (await world.submit(form, { key: key.text, body: {}, localAddress })).headers["ratelimit-policy"];
  await until(async () => (await policy("127.9.1.1")) === '"ip";q=6000;w=60, "tenant";q=1200;w=60', {
    deadlineMs: 6_000,
    intervalMs: 100,
  });
  assert.equal(await policy("127.9.2.1"), '"ip";q=600;w=60, "tenant";q=1200;w=60');
});
