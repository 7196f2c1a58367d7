import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createResolver, DnsCache, type Resolved } from "../../src/actions/dns_cache.ts";

test("a name of the hosts file is found, though no name server knows it", async () => {
  const { addresses } = await createResolver()("localhost");
  assert.ok(addresses.some((address) => address === "127.0.0.1" || address === "::1"));
});

const second = 1_000;
let nowMs: number;
let asked: string[];
let answer: (hostname: string) => Promise<Resolved>;
let names: DnsCache;

const found = (address: string, ttlMs: number | null = 30 * second) => () =>
  Promise.resolve({ addresses: [address], ttlMs });
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));

beforeEach(() => {
  nowMs = 0;
  asked = [];
  answer = found("192.0.2.1");
  names = new DnsCache((hostname) => {
    asked.push(hostname);
    return answer(hostname);
  }, () => nowMs);
});

test("a name is asked for again when its time is over, and not before", async () => {
  await names.find("crm.test");
  answer = found("192.0.2.2");
  nowMs = 30 * second - 1;
  assert.deepEqual(await names.find("crm.test"), ["192.0.2.1"]);
  assert.equal(asked.length, 1);
  nowMs = 30 * second;
  assert.deepEqual(await names.find("crm.test"), ["192.0.2.2"]);
  assert.equal(asked.length, 2);
});

for (
  const [what, ttlMs, keptMs] of [
    ["no time at all", 0, 5 * second],
    ["a day", 86_400 * second, 60 * second],
    ["nothing", null, 5 * second],
  ] as const
) {
  test(`where the name server says ${what}, the answer holds for ${keptMs / second} s`, async () => {
    answer = found("192.0.2.1", ttlMs);
    await names.find("crm.test");
    nowMs = keptMs - 1;
    await names.find("crm.test");
    assert.equal(asked.length, 1);
    nowMs = keptMs;
    await names.find("crm.test");
    assert.equal(asked.length, 2);
  });
}

for (const code of ["ETIMEOUT", "ESERVFAIL", "ECONNREFUSED"]) {
  test(`while name servers say ${code}, what they said last stands in, for an hour and no longer`, async () => {
    await names.find("crm.test");
    answer = failing(code);
    nowMs = 3_600 * second;
    assert.deepEqual(await names.find("crm.test"), ["192.0.2.1"]);
    // It is asked again soon.
    nowMs += second;
    assert.deepEqual(await names.find("crm.test"), ["192.0.2.1"]);
    assert.equal(asked.length, 3);
    nowMs = 3_630 * second;
    await assert.rejects(names.find("crm.test"), { code });
  });
}

test("while a name server is silent, what it said last stands in before it is given up", async () => {
  await names.find("crm.test");
  let reject = (_error: Error) => {};
  answer = () => new Promise((_, fail) => reject = fail);
  nowMs = 60 * second;
  assert.deepEqual(await names.find("crm.test"), ["192.0.2.1"]);
  // The question is still the one for all.
  assert.deepEqual(await names.find("crm.test"), ["192.0.2.1"]);
  assert.equal(asked.length, 2);
  reject(new Error("nobody waits for it any more"));
});
