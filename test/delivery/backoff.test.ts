import assert from "node:assert/strict";
import test from "node:test";
import { backoffMs } from "../../src/delivery/settlement.ts";

const published = { baseMs: 5_000, capMs: 21_600_000 };

test("the delay after attempt n is 5 s × 3^(n − 1), half of it jitter", () => {
  assert.equal(backoffMs(1, 0, published), 2_500);
  assert.equal(backoffMs(1, 1, published), 5_000);
  assert.equal(backoffMs(3, 1, published), 45_000);
  assert.equal(backoffMs(3, 0.5, published), 33_750);
});

test("the delay is at most 6 h", () => {
  assert.equal(backoffMs(9, 1, published), 21_600_000);
  assert.equal(backoffMs(1_000, 1, published), 21_600_000);
});

test("24 attempts take about three days", () => {
  let totalMs = 0;
  for (let spent = 1; spent < 24; spent += 1) totalMs += backoffMs(spent, 0.5, published);
  const days = totalMs / 86_400_000;
  assert.ok(days > 2.5 && days < 3.5, `${days} days`);
});

test("a Retry-After is the minimum of the delay, not the maximum", () => {
  assert.equal(backoffMs(1, 0, { ...published, retryAfterMs: 60_000 }), 60_000);
  assert.equal(backoffMs(4, 0, { ...published, retryAfterMs: 1_000 }), 67_500);
});
