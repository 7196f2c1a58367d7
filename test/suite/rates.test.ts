import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../src/contract/limits.ts";
import { type Answer, freshAddress } from "../support/client.ts";
import { flood, floodUntilLimited, rateLimit } from "../support/rates.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { lead, publishedLimits, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start(publishedLimits);
// On separate databases, so that raised limits do not reach the other servers.
const slowly = await TestEnv.open();
const slow = await slowly.start({
  INTAKE_IP_PER_MINUTE: "1",
  INTAKE_IP_BURST: "3",
  INTAKE_KEY_PER_MINUTE: "1",
  INTAKE_KEY_BURST: "2",
});
const proxied = await (await TestEnv.open()).start({
  INTAKE_IP_PER_MINUTE: "1",
  INTAKE_IP_BURST: "1",
  TRUSTED_PROXIES: "127.0.0.0/8",
});
const hour = () => new Date(Date.now() + 3_600_000).toISOString();

test("an address has a burst of 31 and 2 requests per second; the next answers 429 without request_id", async () => {
  const localAddress = freshAddress();
  const { answers, allowed, seconds } = await floodUntilLimited(60, () => testEnv.intake({ localAddress }));
  assert.ok(allowed >= 31 && allowed <= 31 + Math.ceil(2 * seconds), `${allowed} in ${seconds} s`);
  const refused = answers.find(({ status }) => status === 429) as Answer;
  assert.deepEqual(refused.json, { error: "rate_limited" });
  assert.equal(refused.headers["retry-after"], "1");
  assert.equal(refused.headers["ratelimit-policy"], '"ip";q=120;w=60');
  assert.equal(rateLimit(refused).ip?.r, 0);
  assert.equal((await testEnv.intake({ localAddress: freshAddress() })).status, 401, "others go on");
});

test("a key has a burst of 101 and 10 requests per second, across addresses", async () => {
  const key = await testEnv.issue();
  const addresses = Array.from({ length: 10 }, freshAddress);
  const { answers, allowed, seconds } = await floodUntilLimited(
    140,
    (index) => testEnv.intake({ key: key.text, body: {}, localAddress: addresses[index % 10] as string }),
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
  const other = await testEnv.issue({ tenant: key.tenant });
  const answer = await testEnv.intake({ key: other.text, body: {}, localAddress: freshAddress() });
  assert.equal(answer.status, 422, "another key of the tenant has a budget of its own");
});

test("RateLimit counts down on allowed requests and gives the time until the budget is full again", async () => {
  const key = await testEnv.issue();
  const localAddress = freshAddress();
  const first = await testEnv.intake({ key: key.text, body: {}, localAddress });
  const second = await testEnv.intake({ key: key.text, body: {}, localAddress });
  assert.equal(rateLimit(first).ip?.r, limits.ipRate.burst - 1);
  assert.equal(rateLimit(first).key?.r, limits.keyRate.burst - 1);
  assert.ok((rateLimit(second).ip?.r as number) <= limits.ipRate.burst - 1);
  assert.ok((rateLimit(second).key?.t as number) >= 1);
  for (const options of [{ method: "GET" }, { method: "POST", body: " ".repeat(65_537) }]) {
    const answer = await testEnv.send("/v1/intake", { ...options, localAddress });
    assert.match(String(answer.headers.ratelimit), /^"ip";r=\d+;t=\d+$/, String(answer.status));
    assert.equal(answer.headers["ratelimit-policy"], '"ip";q=120;w=60');
  }
});

test("Retry-After is accurate when the rate is slower than its floor", async () => {
  const localAddress = freshAddress();
  const { answers } = await flood(4, () => testEnv.intake({ localAddress }, slow));
  const refused = answers.find(({ status }) => status === 429) as Answer;
  const seconds = Number(refused.headers["retry-after"]);
  assert.ok(seconds > 50 && seconds <= 60, `${seconds}`);
});

test("ctl key limit raises a key's limit for a window, within 5 s and without a restart", async () => {
  const key = await slowly.issue();
  const options = { databaseUrl: slowly.database.url };
  const post = () => testEnv.intake({ key: key.text, body: {}, localAddress: freshAddress() }, slow);
  const { allowed } = await flood(4, post);
  assert.equal(allowed, 2);
  await ctl(
    ["key", "limit", String(key.id), "--per-minute", "6000", "--burst", "150", "--until", hour()],
    options,
  );
  await until(async () => (await post()).status === 422, { what: "the raised limit" });
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
    () => testEnv.intake({ key: key.text, body: {}, localAddress: freshAddress() }, slow),
  );
  assert.equal(allowed, 2);
});

test("ctl ip limit raises a network's limit for a window, and the narrowest network applies", async () => {
  const options = { databaseUrl: slowly.database.url };
  const limit = (cidr: string, perMinute: string, burst: string) =>
    ctl(["ip", "limit", cidr, "--per-minute", perMinute, "--burst", burst, "--until", hour()], options);
  await limit("127.9.0.0/16", "120", "31");
  await limit("127.9.9.0/24", "6000", "100");
  const policy = (localAddress: string) =>
    testEnv.intake({ localAddress }, slow).then(({ headers }) => String(headers["ratelimit-policy"]));
  await until(async () => (await policy("127.9.9.1")) === '"ip";q=6000;w=60');
  assert.equal((await flood(40, () => testEnv.intake({ localAddress: "127.9.9.2" }, slow))).allowed, 40);
  const wider = await flood(60, () => testEnv.intake({ localAddress: "127.9.8.2" }, slow));
  assert.ok(wider.allowed >= 31 && wider.allowed <= 31 + Math.ceil(2 * wider.seconds), `${wider.allowed}`);
  const elsewhere = freshAddress();
  assert.equal((await flood(5, () => testEnv.intake({ localAddress: elsewhere }, slow))).allowed, 3);
});

test("X-Forwarded-For is trusted from a trusted proxy only, and its clients have separate budgets", async () => {
  const localAddress = freshAddress();
  const from = (client: string, server = proxied) =>
    testEnv.intake({ localAddress, headers: { "X-Forwarded-For": client } }, server);
  assert.equal((await from("203.0.113.1")).status, 401);
  assert.equal((await from("203.0.113.1")).status, 429);
  assert.equal((await from("203.0.113.2")).status, 401);
  // The client itself may invent what precedes its address.
  assert.equal((await from("198.51.100.7, 203.0.113.2")).status, 429);
  for (const client of ["203.0.113.77", "203.0.113.78", "203.0.113.79"]) {
    assert.equal((await from(client, slow)).status, 401);
  }
  assert.equal((await from("203.0.113.80", slow)).status, 429, "the fourth from one address");
  await until(() => slow.logs.filter((line) => line.client === localAddress).length === 4);
  await until(() => proxied.logs.some((line) => line.client === "203.0.113.2"));
});

test("a lead over a limit is not stored, and is accepted after the wait", async () => {
  const key = await testEnv.issue();
  const localAddress = freshAddress();
  // Repeated if the address earns a request meanwhile.
  const body = await until(async () => {
    await flood(40, () => testEnv.intake({ localAddress }));
    const body = lead();
    const refused = await testEnv.leavesNothing(() => testEnv.intake({ key: key.text, body, localAddress }));
    return refused.status === 429 && body;
  });
  const answer = await until(async () => {
    const answer = await testEnv.intake({ key: key.text, body, localAddress });
    return answer.status === 429 ? null : answer;
  }, { intervalMs: 250 });
  assert.equal(answer.status, 202);
});
