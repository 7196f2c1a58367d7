import { formatCents, formatCount, limits } from "../../src/contract/limits.ts";
import { addRateLimit, initialRateHeaders, rateHeaderNames } from "../../src/contract/rate_headers.ts";
import assert from "node:assert/strict";
import { test } from "node:test";

test("the limits are the published ones", () => {
  assert.deepEqual(limits, {
    keyRate: { perMinute: 600, burst: 101 },
    ipRate: { perMinute: 120, burst: 31 },
    formsIpRate: { perMinute: 600, burst: 100 },
    formsTenantRate: { perMinute: 1200, burst: 200 },
    publicRead: { perMinute: 1200, burst: 400 },
    retryAfterSeconds: 1,
    bodyBytesMax: 64 * 1024,
    requestTimeoutMs: 20 * 1000,
    idempotencyKeyLengthMax: 200,
    requestIdLengthMax: 64,
    contentWindowHours: 24,
    formContentWindowMinutes: 10,
    costCentsMin: 1,
    costCentsMax: 99_999,
    jsonDepthMax: 64,
    vocabularyMaxAgeSeconds: 300,
    plansMaxAgeSeconds: 300,
    plansSnapshotAgeMaxMs: 5_000,
    checkoutIpRate: { perMinute: 30, burst: 10 },
    checkoutKeyHours: 24,
    checkoutUnpaidDays: 40,
    providerEventBytesMax: 524_288,
    documentMaxAgeSeconds: 300,
    backoffCapSeconds: 30,
  });
});

const rate = { perMinute: 120, burst: 31 };

test("the first response's RateLimit counts only this request", () => {
  assert.deepEqual(initialRateHeaders({ name: "ip", rate }), {
    "RateLimit-Policy": '"ip";q=120;w=60',
    "RateLimit": '"ip";r=30;t=1',
  });
});

test("each further limit is appended to every header", () => {
  const first = initialRateHeaders({ name: "ip", rate });
  const both = addRateLimit({ name: "key", rate, remaining: 0, resetSeconds: 16 }, first);
  assert.deepEqual(both, {
    "RateLimit-Policy": '"ip";q=120;w=60, "key";q=120;w=60',
    "RateLimit": '"ip";r=30;t=1, "key";r=0;t=16',
  });
  assert.deepEqual(Object.keys(both), rateHeaderNames);
});

test("a client without limits gets no RateLimit headers", () => assert.deepEqual(initialRateHeaders(), {}));

test("numbers are grouped by thousands, and cents are shown as dollars with two decimals", () => {
  assert.deepEqual([0, 999, 1000, 16_000, 1_234_567].map(formatCount), [
    "0",
    "999",
    "1,000",
    "16,000",
    "1,234,567",
  ]);
  assert.deepEqual([1, 100, 99_999].map(formatCents), ["0.01", "1.00", "999.99"]);
});
