import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createResolver, DnsCache, type ResolvedName } from "../../src/actions/dns_cache.ts";

test("a name in the hosts file is resolved without a name server", async () => {
  const { addresses } = await createResolver()("localhost");
  assert.ok(addresses.some((address) => address === "127.0.0.1" || address === "::1"));
});

const second = 1_000;
let nowMs: number;
let queries: string[];
let answer: (hostname: string) => Promise<ResolvedName>;
let names: DnsCache;

const found = (address: string, ttlMs: number | null = 30 * second) => () =>
  Promise.resolve({ addresses: [address], ttlMs });
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));

beforeEach(() => {
  nowMs = 0;
  queries = [];
  answer = found("192.0.2.1");
  names = new DnsCache((hostname) => {
    queries.push(hostname);
    return answer(hostname);
  }, () => nowMs);
});

test("a name is queried again when its TTL expires, and not before", async () => {
  await names.lookup("crm.test");
  answer = found("192.0.2.2");
  nowMs = 30 * second - 1;
  assert.deepEqual(await names.lookup("crm.test"), ["192.0.2.1"]);
  assert.equal(queries.length, 1);
  nowMs = 30 * second;
  assert.deepEqual(await names.lookup("crm.test"), ["192.0.2.2"]);
  assert.equal(queries.length, 2);
});

for (
  const [what, ttlMs, cachedMs] of [
    ["a TTL of 0", 0, 5 * second],
    ["a TTL of one day", 86_400 * second, 60 * second],
    ["no TTL", null, 5 * second],
  ] as const
) {
  test(`a response with ${what} is cached for ${cachedMs / second} s`, async () => {
    answer = found("192.0.2.1", ttlMs);
    await names.lookup("crm.test");
    nowMs = cachedMs - 1;
    await names.lookup("crm.test");
    assert.equal(queries.length, 1);
    nowMs = cachedMs;
    await names.lookup("crm.test");
    assert.equal(queries.length, 2);
  });
}

for (const code of ["ETIMEOUT", "ESERVFAIL", "ECONNREFUSED"]) {
  test(`on ${code} the last known addresses are used for up to an hour`, async () => {
    await names.lookup("crm.test");
    answer = failing(code);
    nowMs = 3_600 * second;
    assert.deepEqual(await names.lookup("crm.test"), ["192.0.2.1"]);
    // The name is queried again soon.
    nowMs += second;
    assert.deepEqual(await names.lookup("crm.test"), ["192.0.2.1"]);
    assert.equal(queries.length, 3);
    nowMs = 3_630 * second;
    await assert.rejects(names.lookup("crm.test"), { code });
  });
}

test("while a name server is silent, the last known addresses are used", async () => {
  await names.lookup("crm.test");
  let reject = (_error: Error) => {};
  answer = () => new Promise((_, fail) => reject = fail);
  nowMs = 60 * second;
  assert.deepEqual(await names.lookup("crm.test"), ["192.0.2.1"]);
  // All callers share one query.
  assert.deepEqual(await names.lookup("crm.test"), ["192.0.2.1"]);
  assert.equal(queries.length, 2);
  reject(new Error("no caller waits"));
});
