import assert from "node:assert/strict";
import test from "node:test";
import process from "node:process";
import fc from "fast-check";
import { limits, type Rate } from "../../src/contract/limits.ts";
import { type Seed, TokenBucketLimiter } from "../../src/limiter/token_bucket.ts";

const runs = { numRuns: Number(process.env.FC_RUNS ?? 300) };
const { keyRate, ipRate } = limits;
const startMs = 1_790_000_000_000;
const seed: Seed = [0x0123_4567, 0x89ab_cdef];

/** Returns how many of `count` simultaneous requests are allowed. */
function allowedOf(
  limiter: TokenBucketLimiter,
  key: string,
  rate: Rate,
  nowMs: number,
  count: number,
): number {
  let allowed = 0;
  for (let sent = 0; sent < count; sent++) if (limiter.allow(key, rate, nowMs).isAllowed) allowed++;
  return allowed;
}

test("a new key has exactly its burst at once", () => {
  for (const rate of [keyRate, ipRate]) {
    const limiter = new TokenBucketLimiter({ keysMax: 10, seed });
    for (let left = rate.burst - 1; left >= 0; left--) {
      const { isAllowed, remaining } = limiter.allow("a", rate, startMs);
      assert.deepEqual({ isAllowed, remaining }, { isAllowed: true, remaining: left });
    }
    assert.deepEqual(limiter.allow("a", rate, startMs), {
      isAllowed: false,
      remaining: 0,
      retryAfterSeconds: 1,
      resetSeconds: Math.ceil(rate.burst * 60 / rate.perMinute),
    });
  }
});

test("a token returns every 60 / perMinute seconds, to the millisecond", () => {
  for (const rate of [keyRate, ipRate, { perMinute: 7, burst: 3 }]) {
    const limiter = new TokenBucketLimiter({ keysMax: 10, seed });
    allowedOf(limiter, "a", rate, startMs, rate.burst);
    for (let token = 1; token <= 1000; token++) {
      const earnedMs = startMs + Math.ceil(token * 60_000 / rate.perMinute);
      assert.equal(limiter.allow("a", rate, earnedMs - 1).isAllowed, false, `token ${token}`);
      assert.equal(limiter.allow("a", rate, earnedMs).isAllowed, true, `token ${token}`);
    }
  }
});

test("every decision and its counts equal the token bucket's definition", () => {
  const gaps = fc.array(fc.oneof(fc.nat(50), fc.nat(3000)), { minLength: 1, maxLength: 200 });
  const rates = fc.record({
    perMinute: fc.integer({ min: 1, max: 2000 }),
    burst: fc.integer({ min: 1, max: 30 }),
  });
  fc.assert(
    fc.property(gaps, rates, (gapsMs, rate) => {
      const limiter = new TokenBucketLimiter({ keysMax: 10, seed });
      // The definition, in exact fractions of a token: tokens × 60,000.
      let tokens = rate.burst * 60_000;
      let nowMs = startMs;
      for (const gapMs of gapsMs) {
        nowMs += gapMs;
        tokens = Math.min(rate.burst * 60_000, tokens + gapMs * rate.perMinute);
        const expected = tokens >= 60_000;
        if (expected) tokens -= 60_000;
        const { isAllowed, remaining, retryAfterSeconds, resetSeconds } = limiter.allow("a", rate, nowMs);
        assert.equal(isAllowed, expected);
        assert.equal(remaining, Math.floor(tokens / 60_000));
        const waitMs = Math.max(0, 60_000 - tokens) / rate.perMinute;
        assert.equal(retryAfterSeconds, Math.max(1, Math.ceil(waitMs / 1000)));
        assert.equal(resetSeconds, Math.ceil((rate.burst * 60_000 - tokens) / rate.perMinute / 1000));
      }
    }),
    runs,
  );
});

test("a clock that steps back earns no tokens, and time continues from there", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10, seed });
  allowedOf(limiter, "a", ipRate, startMs, ipRate.burst);
  const steppedMs = startMs - 3_600_000;
  assert.equal(limiter.allow("a", ipRate, steppedMs).isAllowed, false);
  assert.equal(limiter.allow("a", ipRate, steppedMs + 499).isAllowed, false);
  assert.equal(limiter.allow("a", ipRate, steppedMs + 500).isAllowed, true);
});

test("a clock that leaps ahead and back earns one full bucket at most", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10, seed });
  allowedOf(limiter, "a", ipRate, startMs, ipRate.burst);
  assert.equal(allowedOf(limiter, "a", ipRate, startMs + 1e12, 100), ipRate.burst);
  assert.equal(allowedOf(limiter, "a", ipRate, startMs, 100), 0);
});

test("a raised limit applies at once and leaves no debt when it ends", () => {
  const raised = { perMinute: 6000, burst: 1000 };
  const limiter = new TokenBucketLimiter({ keysMax: 10, seed });
  assert.equal(allowedOf(limiter, "a", keyRate, startMs, 200), 101);
  assert.equal(allowedOf(limiter, "a", raised, startMs, 2000), 899);
  assert.equal(allowedOf(limiter, "a", raised, startMs + 1000, 2000), 100);
  // The window ends: 1,000 were taken, but the bucket is empty, not in debt.
  assert.equal(limiter.allow("a", keyRate, startMs + 1000).isAllowed, false);
  assert.equal(limiter.allow("a", keyRate, startMs + 1100).isAllowed, true);
});

test("a rate of zero refuses after the burst with a finite Retry-After", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10, seed });
  assert.deepEqual(limiter.allow("a", { perMinute: 0, burst: 1 }, startMs), {
    isAllowed: true,
    remaining: 0,
    retryAfterSeconds: 3600,
    resetSeconds: 3600,
  });
  assert.equal(limiter.allow("a", { perMinute: 0, burst: 1 }, startMs + 1e9).isAllowed, false);
  assert.deepEqual(limiter.allow("b", { perMinute: 0, burst: 0 }, startMs), {
    isAllowed: false,
    remaining: 0,
    retryAfterSeconds: 3600,
    resetSeconds: 0,
  });
});

test("memory is allocated once, 32 bytes per slot, for any number of keys", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 100_000, seed });
  assert.equal(limiter.bytes, 4 * 1024 * 1024);
  for (let key = 0; key < 200_000; key++) limiter.allow(`key ${key}`, ipRate, startMs);
  assert.equal(limiter.bytes, 4 * 1024 * 1024);
  for (const [keysMax, slots] of [[1, 8], [8, 8], [9, 16], [1_000_000, 2 ** 20]] as const) {
    assert.equal(new TokenBucketLimiter({ keysMax, seed }).bytes, slots * 32);
  }
  for (const keysMax of [0, -1, NaN]) {
    assert.throws(() => new TokenBucketLimiter({ keysMax, seed }), RangeError);
  }
});

test("when all slots are taken, the bucket that would be full first is evicted", () => {
  // With eight slots, every key can be in any of them.
  const limiter = new TokenBucketLimiter({ keysMax: 8, seed });
  for (let key = 0; key < 8; key++) allowedOf(limiter, `key ${key}`, ipRate, startMs, 31 - key);
  // A refused request does not change the order.
  assert.equal(limiter.allow("key 0", ipRate, startMs).isAllowed, false);
  allowedOf(limiter, "new", ipRate, startMs, 31);
  for (let key = 0; key < 7; key++) {
    assert.equal(allowedOf(limiter, `key ${key}`, ipRate, startMs, 31), key, "remembered");
  }
  assert.equal(allowedOf(limiter, "key 7", ipRate, startMs, 99), 31, "forgotten");
});

test("a flood of a million addresses resets no drained bucket and refuses no new key", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 100_000, seed });
  const drained = Array.from({ length: 100 }, (_, key) => `drained ${key}`);
  for (const key of drained) allowedOf(limiter, key, ipRate, startMs, 31);
  let refused = 0;
  for (let key = 0; key < 1_000_000; key++) {
    // A million per second.
    if (!limiter.allow(`stranger ${key}`, ipRate, startMs + Math.floor(key / 1_000)).isAllowed) refused++;
  }
  assert.equal(refused, 0);
  // Each bucket earned two tokens in that second.
  for (const key of drained) assert.equal(allowedOf(limiter, key, ipRate, startMs + 1_000, 31), 2, key);
  assert.equal(allowedOf(limiter, "newcomer", ipRate, startMs + 1_000, 99), 31);
});

test("a shared limiter decides as one limiter per key", () => {
  const asks = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: -500, max: 2000 })), {
    maxLength: 150,
  });
  const rate = { perMinute: 60, burst: 3 };
  fc.assert(
    fc.property(asks, (asked) => {
      const shared = new TokenBucketLimiter({ keysMax: 3, seed });
      const own = new Map(["a", "b", "c"].map((key) => [key, new TokenBucketLimiter({ keysMax: 1, seed })]));
      let nowMs = startMs;
      for (const [key, gapMs] of asked) {
        nowMs += gapMs;
        assert.deepEqual(shared.allow(key, rate, nowMs), own.get(key)!.allow("only", rate, nowMs));
      }
    }),
    runs,
  );
});

test("keys that differ only in length, case, order or a trailing NUL have separate buckets", () => {
  const texts = [
    "",
    "\0",
    "\0\0",
    "a",
    "A",
    "ab",
    "ba",
    "ab\0",
    "aba",
    "\u0101",
    "\u0100",
    "10.0.0.1",
    "10.0.0.10",
  ];
  const limiter = new TokenBucketLimiter({ keysMax: texts.length, seed });
  for (const text of texts) assert.equal(allowedOf(limiter, text, ipRate, startMs, 99), 31, text);
});
