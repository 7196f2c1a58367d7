import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../src/contract/limits.ts";
import { type Answer, freshAddress } from "../support/client.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { lead, publishedLimits, World } from "../support/world.ts";

const world = await World.open();
await world.start(publishedLimits);
// On databases of their own: processes on one database share the limits.
const slowly = await World.open();
const slow = await slowly.start({
  INTAKE_IP_PER_MINUTE: "1",
  INTAKE_IP_BURST: "3",
  INTAKE_KEY_PER_MINUTE: "1",
  INTAKE_KEY_BURST: "2",
});
const proxied = await (await World.open()).start({
  INTAKE_IP_PER_MINUTE: "1",
  INTAKE_IP_BURST: "1",
  TRUSTED_PROXIES: "127.0.0.0/8",
});
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

test("one address has 31 requests at once and 2 a second; the next answers 429 without request_id", async () => {
  const localAddress = freshAddress();
  const { answers, allowed, seconds } = await flood(60, () => world.intake({ localAddress }));
  assert.ok(allowed >= 31 && allowed <= 31 + Math.ceil(2 * seconds), `${allowed} in ${seconds} s`);
  const refused = answers.find(({ status }) => status === 429) as Answer;
  assert.deepEqual(refused.json, { error: "rate_limited" });
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.headers["ratelimit-policy"], '"ip";q=120;w=60');
  assert.equal(rateLimit(refused).ip?.r, 0);
  assert.equal((await world.intake({ localAddress: freshAddress() })).status, 401, "others go on");
});

test("one key has 101 requests at once and 10 a second, from however many addresses", async () => {
  const key = await world.issue();
  const addresses = Array.from({ length: 10 }, freshAddress);
  const { answers, allowed, seconds } = await flood(
    140,
    (index) => world.intake({ key: key.text, body: {}, localAddress: addresses[index % 10] as string }),
  );
  assert.ok(allowed >= 101 && allowed <= 101 + Math.ceil(10 * seconds), `${allowed} in ${seconds} s`);
  const refused = answers.find(({ status }) => status === 429) as Answer;
  assert.deepEqual(refused.json, {
    error: "rate_limited",
    request_id: refused.headers["x-request-id"],
  });
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.headers["ratelimit-policy"], '"ip";q=120;w=60, "key";q=600;w=60');
  assert.equal(rateLimit(refused).key?.r, 0);
  const other = await world.issue({ tenant: key.tenant });
  const answer = await world.intake({ key: other.text, body: {}, localAddress: freshAddress() });
  assert.equal(answer.status, 422, "another key of the tenant has a budget of its own");
});

test("RateLimit counts down on allowed requests and says when the budget is whole again", async () => {
  const key = await world.issue();
  const localAddress = freshAddress();
  const first = await world.intake({ key: key.text, body: {}, localAddress });
  const second = await world.intake({ key: key.text, body: {}, localAddress });
  assert.equal(rateLimit(first).ip?.r, limits.ipRate.burst - 1);
  assert.equal(rateLimit(first).key?.r, limits.keyRate.burst - 1);
  assert.ok((rateLimit(second).ip?.r as number) <= limits.ipRate.burst - 1);
  assert.ok((rateLimit(second).key?.t as number) >= 1);
  for (const options of [{ method: "GET" }, { method: "POST", body: " ".repeat(65_537) }]) {
    const answer = await world.send("/v1/intake", { ...options, localAddress });
    assert.match(String(answer.headers.ratelimit), /^"ip";r=\d+;t=\d+$/, String(answer.status));
    assert.equal(answer.headers["ratelimit-policy"], '"ip";q=120;w=60');
  }
});

test("Retry-After tells the truth when the rate is slower than its floor", async () => {
  const localAddress = freshAddress();
  const { answers } = await flood(4, () => world.intake({ localAddress }, slow));
  const refused = answers.find(({ status }) => status === 429) as Answer;
  const seconds = Number(refused.headers["retry-after"]);
  assert.ok(seconds > 50 && seconds <= 60, `${seconds}`);
});

test("ctl key limit raises a key's limit for a window, within 5 s and without a restart", async () => {
  const key = await slowly.issue();
  const options = { databaseUrl: slowly.database.url };
  const post = () => world.intake({ key: key.text, body: {}, localAddress: freshAddress() }, slow);
  const { allowed } = await flood(4, post);
  assert.equal(allowed, 2);
  await ctl(
    ["key", "limit", String(key.id), "--per-minute", "6000", "--burst", "150", "--until", hour()],
    options,
  );
  await until(async () => (await post()).status === 422, { deadlineMs: 5_500, what: "the raised limit" });
  const raised = await flood(40, post);
  assert.equal(raised.allowed, 40);
  assert.match(String(raised.answers[0]?.headers["ratelimit-policy"]), /"key";q=6000;w=60$/);
});

test("a raised limit ends with its window", async () => {
  const key = await slowly.issue();
  await slowly.sql`
    update api_key set limit_per_minute = 6000, limit_burst = 50, limit_until = now() - interval '1 second'
    where id = ${key.id}`;
  const { allowed } = await flood(
    4,
    () => world.intake({ key: key.text, body: {}, localAddress: freshAddress() }, slow),
  );
  assert.equal(allowed, 2);
});

test("ctl ip limit raises a network's limit for a window, the narrowest network counts", async () => {
  const options = { databaseUrl: slowly.database.url };
  const limit = (cidr: string, perMinute: string, burst: string) =>
    ctl(["ip", "limit", cidr, "--per-minute", perMinute, "--burst", burst, "--until", hour()], options);
  await limit("127.9.0.0/16", "120", "31");
  await limit("127.9.9.0/24", "6000", "100");
  const policy = (localAddress: string) =>
    world.intake({ localAddress }, slow).then(({ headers }) => String(headers["ratelimit-policy"]));
  await until(async () => (await policy("127.9.9.1")) === '"ip";q=6000;w=60', { deadlineMs: 5_000 });
  assert.equal((await flood(40, () => world.intake({ localAddress: "127.9.9.2" }, slow))).allowed, 40);
  const wider = await flood(60, () => world.intake({ localAddress: "127.9.8.2" }, slow));
  assert.ok(wider.allowed >= 31 && wider.allowed <= 31 + Math.ceil(2 * wider.seconds), `${wider.allowed}`);
  const elsewhere = freshAddress();
  assert.equal((await flood(5, () => world.intake({ localAddress: elsewhere }, slow))).allowed, 3);
});

test("X-Forwarded-For is believed from a trusted proxy alone: its clients have budgets of their own", async () => {
  const localAddress = freshAddress();
  const from = (client: string, server = proxied) =>
    world.intake({ localAddress, headers: { "X-Forwarded-For": client } }, server);
  assert.equal((await from("203.0.113.1")).status, 401);
  assert.equal((await from("203.0.113.1")).status, 429);
  assert.equal((await from("203.0.113.2")).status, 401);
  // What stands left of the client is the client's own invention.
  assert.equal((await from("198.51.100.7, 203.0.113.2")).status, 429);
  for (const client of ["203.0.113.77", "203.0.113.78", "203.0.113.79"]) {
    assert.equal((await from(client, slow)).status, 401);
  }
  assert.equal((await from("203.0.113.80", slow)).status, 429, "the fourth from one address");
  await until(() => slow.logs.filter((line) => line.client === localAddress).length === 4);
  await until(() => proxied.logs.some((line) => line.client === "203.0.113.2"));
});

test("a lead over a limit is not stored, and is after the wait", async () => {
  const key = await world.issue();
  const localAddress = freshAddress();
  // Again when the address has earned a request before this one came.
  const body = await until(async () => {
    await flood(40, () => world.intake({ localAddress }));
    const body = lead();
    const refused = await world.leavesNothing(() => world.intake({ key: key.text, body, localAddress }));
    return refused.status === 429 && body;
  });
  const answer = await until(async () => {
    const answer = await world.intake({ key: key.text, body, localAddress });
    return answer.status === 429 ? null : answer;
  }, { deadlineMs: 3_000, intervalMs: 250 });
  assert.equal(answer.status, 202);
});
