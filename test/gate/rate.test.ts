import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../src/contract/limits.ts";
import { tellBudget } from "../../src/contract/rate_headers.ts";
import type { Exchange, Reply } from "../../src/http/exchange.ts";
import { HolderBudget, IpBudget, ReadBudget } from "../../src/gate/rate.ts";

test("an IPv6 client is its /64", () => {
  const budget = new IpBudget({ perMinute: 60, burst: 1 });
  assert.equal(budget.spend("2001:db8:1:2:3::4", [], 0).allowed, true);
  assert.equal(budget.spend("2001:db8:1:2:ffff::1", [], 0).allowed, false);
  assert.equal(budget.spend("2001:db8:1:3::1", [], 0).allowed, true);
});

test("a raised limit holds for its network alone, and a new snapshot of limits counts at once", () => {
  const budget = new IpBudget({ perMinute: 60, burst: 1 });
  const raised = [
    { network: "10.1.2.0/24", rate: { perMinute: 6000, burst: 3 } },
    { network: "10.0.0.0/8", rate: { perMinute: 60, burst: 2 } },
  ];
  const allowed = (address: string, limits: typeof raised) =>
    [1, 2, 3, 4].filter(() => budget.spend(address, limits, 0).allowed).length;
  assert.equal(allowed("10.1.2.9", raised), 3);
  assert.equal(allowed("10.9.9.9", raised), 2);
  assert.equal(allowed("192.0.2.9", raised), 1);
  assert.equal(allowed("10.1.2.10", []), 1);
  assert.match(budget.spend("10.1.2.11", raised, 0).headers["RateLimit-Policy"] ?? "", /q=6000/);
});

test("a key's raised limit counts while it is there", () => {
  const ip = new IpBudget(limits.ipRate).spend("192.0.2.1", [], 0);
  const budget = new HolderBudget("key", { perMinute: 60, burst: 1 });
  const raised = { id: 7, raisedRate: { perMinute: 6000, burst: 10 } };
  for (let n = 0; n < 10; n += 1) assert.equal(budget.spend(raised, ip, 0).allowed, true);
  assert.equal(budget.spend(raised, ip, 0).allowed, false);
  assert.equal(budget.spend({ id: 7, raisedRate: null }, ip, 0).allowed, false);
});

test("a budget of tenants is called so in the headers, and all that hold one id share it", () => {
  const ip = new IpBudget(limits.formsIpRate).spend("192.0.2.1", [], 0);
  const budget = new HolderBudget("tenant", { perMinute: 60, burst: 2 });
  const tenant = { id: 3, raisedRate: null };
  assert.equal(budget.spend(tenant, ip, 0).allowed, true);
  assert.equal(
    budget.spend(tenant, ip, 0).headers["RateLimit-Policy"],
    '"ip";q=600;w=60, "tenant";q=60;w=60',
  );
  assert.equal(budget.spend(tenant, ip, 0).allowed, false);
  assert.equal(budget.spend({ ...tenant, id: 4 }, ip, 0).allowed, true);
});

test("a raised limit that is below the published one lowers nothing", () => {
  const raised = { perMinute: 120, burst: 31 };
  const ip = new IpBudget(limits.formsIpRate)
    .spend("192.0.2.1", [{ network: "192.0.2.0/24", rate: raised }], 0);
  assert.equal(ip.headers["RateLimit-Policy"], '"ip";q=600;w=60');
  const budget = new HolderBudget("tenant", limits.formsTenantRate);
  const { headers } = budget.spend({ id: 3, raisedRate: { perMinute: 2400, burst: 1 } }, ip, 0);
  assert.equal(headers["RateLimit-Policy"], '"ip";q=600;w=60, "tenant";q=2400;w=60');
  assert.match(String(headers.RateLimit), /"tenant";r=199;/);
});

test("the published budget of reads: 400 at once, one more each 50 ms; only the refusal tells of it", () => {
  let nowMs = 0;
  const refuse = new ReadBudget(limits.publicRead, () => nowMs).refuseBy((headers): Reply => ({
    status: 429,
    headers,
    body: null,
  }));
  const from = (clientAddress: string) => refuse({ clientAddress } as Exchange);
  for (let n = 0; n < 400; n += 1) assert.equal(from("192.0.2.1"), null);
  const left = { name: "ip", rate: limits.publicRead, remaining: 0, resetSeconds: 20 } as const;
  assert.deepEqual(from("192.0.2.1")?.headers, { ...tellBudget(left, null), "Retry-After": "1" });
  assert.equal(from("192.0.2.2"), null);
  nowMs = 49;
  assert.notEqual(from("192.0.2.1"), null);
  nowMs = 50;
  assert.equal(from("192.0.2.1"), null);
});
