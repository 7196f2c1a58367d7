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
