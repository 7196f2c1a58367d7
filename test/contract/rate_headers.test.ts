import assert from "node:assert/strict";
import { test } from "node:test";
import { firstBudgets, rateHeaderNames, tellBudget } from "../../src/contract/rate_headers.ts";

const rate = { perMinute: 120, burst: 31 };

test("the first answer to a client tells of the whole limit but for this request", () => {
  assert.deepEqual(firstBudgets({ name: "ip", rate }), {
    "RateLimit-Policy": '"ip";q=120;w=60',
    "RateLimit": '"ip";r=30;t=1',
  });
});

test("each further limit stands after those before it, in every header", () => {
  const first = firstBudgets({ name: "ip", rate });
  const both = tellBudget({ name: "key", rate, remaining: 0, resetSeconds: 16 }, first);
  assert.deepEqual(both, {
    "RateLimit-Policy": '"ip";q=120;w=60, "key";q=120;w=60',
    "RateLimit": '"ip";r=30;t=1, "key";r=0;t=16',
  });
  assert.deepEqual(Object.keys(both), rateHeaderNames);
});
