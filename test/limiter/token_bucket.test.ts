import assert from "node:assert/strict";
import test from "node:test";
import process from "node:process";
import fc from "fast-check";
import { limits, type Rate } from "../../src/contract/limits.ts";
import { TokenBucketLimiter } from "../../src/limiter/token_bucket.ts";

const runs = { numRuns: Number(process.env.FC_RUNS ?? 300) };
const { keyRate, ipRate } = limits;
const startMs = 1_790_000_000_000;

/** How many of `count` requests at once are allowed. */
function allowedOf(
  limiter: TokenBucketLimiter,
  key: string,
  rate: Rate,
  nowMs: number,
  count: number,
): number {
  let allowed = 0;
  for (let asked = 0; asked < count; asked++) if (limiter.allow(key, rate, nowMs).allowed) allowed++;
  return allowed;
}

test("a new key may send its burst at once and not one more", () => {
  for (const rate of [keyRate, ipRate]) {
    const limiter = new TokenBucketLimiter({ keysMax: 10 });
    for (let left = rate.burst - 1; left >= 0; left--) {
      const { allowed, remaining } = limiter.allow("a", rate, startMs);
      assert.deepEqual({ allowed, remaining }, { allowed: true, remaining: left });
    }
    assert.deepEqual(limiter.allow("a", rate, startMs), {
      allowed: false,
      remaining: 0,
      retryAfterSeconds: 1,
      resetSeconds: Math.ceil(rate.burst * 60 / rate.perMinute),
    });
  }
});

test("a token comes back every 60 / perMinute seconds, to the millisecond", () => {
  for (const rate of [keyRate, ipRate, { perMinute: 7, burst: 3 }]) {
    const limiter = new TokenBucketLimiter({ keysMax: 10 });
    allowedOf(limiter, "a", rate, startMs, rate.burst);
    for (let token = 1; token <= 1000; token++) {
      const earnedMs = startMs + Math.ceil(token * 60_000 / rate.perMinute);
      assert.equal(limiter.allow("a", rate, earnedMs - 1).allowed, false, `token ${token}`);
      assert.equal(limiter.allow("a", rate, earnedMs).allowed, true, `token ${token}`);
    }
  }
});

test("asking every millisecond loses nothing to rounding", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  allowedOf(limiter, "a", ipRate, startMs, ipRate.burst);
  let allowed = 0;
  for (let ms = 1; ms <= 60_000; ms++) if (limiter.allow("a", ipRate, startMs + ms).allowed) allowed++;
  assert.equal(allowed, ipRate.perMinute);
});

test("a bucket never holds more than its burst", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  allowedOf(limiter, "a", ipRate, startMs, 5);
  assert.equal(allowedOf(limiter, "a", ipRate, startMs + 86_400_000, 100), ipRate.burst);
});

test("in any span no more than burst and rate together are allowed, and what the rate earns is", () => {
  const gaps = fc.array(fc.oneof(fc.nat(50), fc.nat(3000)), { minLength: 1, maxLength: 200 });
  const rates = fc.record({
    perMinute: fc.integer({ min: 1, max: 2000 }),
    burst: fc.integer({ min: 1, max: 30 }),
  });
  fc.assert(
    fc.property(gaps, rates, (gapsMs, rate) => {
      const limiter = new TokenBucketLimiter({ keysMax: 10 });
      // The definition, in exact fractions of a token: tokens × 60,000.
      let tokens = rate.burst * 60_000;
      let nowMs = startMs;
      for (const gapMs of gapsMs) {
        nowMs += gapMs;
        tokens = Math.min(rate.burst * 60_000, tokens + gapMs * rate.perMinute);
        const expected = tokens >= 60_000;
        if (expected) tokens -= 60_000;
        const { allowed, remaining, retryAfterSeconds, resetSeconds } = limiter.allow("a", rate, nowMs);
        assert.equal(allowed, expected);
        assert.equal(remaining, Math.floor(tokens / 60_000));
        const waitMs = Math.max(0, 60_000 - tokens) / rate.perMinute;
        assert.equal(retryAfterSeconds, Math.max(1, Math.ceil(waitMs / 1000)));
        assert.equal(resetSeconds, Math.ceil((rate.burst * 60_000 - tokens) / rate.perMinute / 1000));
      }
    }),
    runs,
  );
});

test("whoever waits as told is allowed, and a second less is refused", () => {
  const rate = { perMinute: 6, burst: 2 };
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  allowedOf(limiter, "a", rate, startMs, 2);
  const { allowed, retryAfterSeconds } = limiter.allow("a", rate, startMs + 100);
  assert.deepEqual({ allowed, retryAfterSeconds }, { allowed: false, retryAfterSeconds: 10 });
  assert.equal(limiter.allow("a", rate, startMs + 100 + 9_000).allowed, false);
  assert.equal(limiter.allow("a", rate, startMs + 100 + 10_000).allowed, true);
});

test("a refused request takes no token", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  allowedOf(limiter, "a", ipRate, startMs, ipRate.burst + 1000);
  assert.equal(limiter.allow("a", ipRate, startMs + 500).allowed, true);
});

test("keys do not share tokens", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  assert.equal(allowedOf(limiter, "a", ipRate, startMs, 100), ipRate.burst);
  assert.equal(allowedOf(limiter, "b", ipRate, startMs, 100), ipRate.burst);
  assert.equal(allowedOf(limiter, "__proto__", ipRate, startMs, 100), ipRate.burst);
  assert.equal(limiter.size, 3);
});

test("when the clock steps back nothing is earned and time runs on from there", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  allowedOf(limiter, "a", ipRate, startMs, ipRate.burst);
  const steppedMs = startMs - 3_600_000;
  assert.equal(limiter.allow("a", ipRate, steppedMs).allowed, false);
  assert.equal(limiter.allow("a", ipRate, steppedMs + 499).allowed, false);
  assert.equal(limiter.allow("a", ipRate, steppedMs + 500).allowed, true);
});

test("when the clock steps back nothing is lost either", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  allowedOf(limiter, "a", ipRate, startMs, 5);
  assert.equal(limiter.allow("a", ipRate, startMs - 3_600_000).remaining, 25);
});

test("when the clock leaps ahead and back again one full bucket is gained at most", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  allowedOf(limiter, "a", ipRate, startMs, ipRate.burst);
  assert.equal(allowedOf(limiter, "a", ipRate, startMs + 1e12, 100), ipRate.burst);
  assert.equal(allowedOf(limiter, "a", ipRate, startMs, 100), 0);
});

test("a raised limit works at once, and no punishment is left when it ends", () => {
  const raised = { perMinute: 6000, burst: 1000 };
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  assert.equal(allowedOf(limiter, "a", keyRate, startMs, 200), 101);
  assert.equal(allowedOf(limiter, "a", raised, startMs, 2000), 899);
  assert.equal(allowedOf(limiter, "a", raised, startMs + 1000, 2000), 100);
  // The window ends: 1,000 were taken, but the bucket is empty, not in debt.
  assert.equal(limiter.allow("a", keyRate, startMs + 1000).allowed, false);
  assert.equal(limiter.allow("a", keyRate, startMs + 1100).allowed, true);
});

test("a rate of zero refuses once the burst is gone and names a wait that is a number", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  assert.deepEqual(limiter.allow("a", { perMinute: 0, burst: 1 }, startMs), {
    allowed: true,
    remaining: 0,
    retryAfterSeconds: 3600,
    resetSeconds: 3600,
  });
  assert.equal(limiter.allow("a", { perMinute: 0, burst: 1 }, startMs + 1e9).allowed, false);
  assert.deepEqual(limiter.allow("b", { perMinute: 0, burst: 0 }, startMs), {
    allowed: false,
    remaining: 0,
    retryAfterSeconds: 3600,
    resetSeconds: 0,
  });
});

test("no more keys are remembered than there is room for", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 100 });
  for (let key = 0; key < 10_000; key++) {
    limiter.allow(`key ${key}`, ipRate, startMs + key);
    assert.ok(limiter.size <= 100);
  }
  assert.equal(limiter.size, 100);
  for (const keysMax of [0, -1, NaN]) {
    assert.throws(() => new TokenBucketLimiter({ keysMax }), RangeError);
  }
});

test("the key used longest ago is forgotten first and starts full again", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 3 });
  for (const key of ["a", "b", "c"]) allowedOf(limiter, key, ipRate, startMs, 31);
  // Used again, though refused, so b is now the one used longest ago.
  assert.equal(limiter.allow("a", ipRate, startMs).allowed, false);
  limiter.allow("d", ipRate, startMs);
  assert.equal(limiter.allow("a", ipRate, startMs).allowed, false);
  assert.equal(limiter.allow("c", ipRate, startMs).allowed, false);
  assert.equal(limiter.allow("b", ipRate, startMs).allowed, true);
  assert.equal(limiter.size, 3);
});

test("of the keys used longest ago the one nearest to full is forgotten", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 4 });
  allowedOf(limiter, "drained", ipRate, startMs, 31);
  allowedOf(limiter, "half", ipRate, startMs, 15);
  allowedOf(limiter, "full", ipRate, startMs, 1);
  allowedOf(limiter, "busy", ipRate, startMs + 500, 31);
  limiter.allow("new", ipRate, startMs + 500);
  assert.equal(limiter.allow("drained", ipRate, startMs + 500).remaining, 0, "remembered");
  assert.equal(limiter.allow("half", ipRate, startMs + 500).remaining, 16, "remembered");
  assert.equal(limiter.allow("busy", ipRate, startMs + 500).allowed, false, "remembered");
});

test("an eviction looks at eight keys, however many there are", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 10 });
  for (let key = 0; key < 8; key++) allowedOf(limiter, `drained ${key}`, ipRate, startMs, 31);
  limiter.allow("ninth", ipRate, startMs - 1e9);
  limiter.allow("tenth", ipRate, startMs);
  limiter.allow("new", ipRate, startMs);
  // The ninth is nearer to full but was not looked at; of eight equals the oldest goes.
  assert.equal(limiter.allow("ninth", ipRate, startMs).remaining, 30);
  assert.equal(limiter.allow("drained 1", ipRate, startMs).allowed, false);
  assert.equal(limiter.allow("drained 0", ipRate, startMs).allowed, true);
});

test("a flood of new keys costs the same however many are remembered", () => {
  const limiter = new TokenBucketLimiter({ keysMax: 50_000 });
  const startedMs = performance.now();
  for (let key = 0; key < 200_000; key++) limiter.allow(`key ${key}`, ipRate, startMs);
  // Walking over forgotten keys at every eviction took 20 µs each, 3 s here.
  assert.ok(performance.now() - startedMs < 1500);
  assert.equal(limiter.size, 50_000);
});

test("a limiter with room for all keys equals one limiter for each key", () => {
  const asks = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: -500, max: 2000 })), {
    maxLength: 150,
  });
  const rate = { perMinute: 60, burst: 3 };
  fc.assert(
    fc.property(asks, (asked) => {
      const shared = new TokenBucketLimiter({ keysMax: 3 });
      const own = new Map(["a", "b", "c"].map((key) => [key, new TokenBucketLimiter({ keysMax: 1 })]));
      let nowMs = startMs;
      for (const [key, gapMs] of asked) {
        nowMs += gapMs;
        assert.deepEqual(shared.allow(key, rate, nowMs), own.get(key)!.allow("only", rate, nowMs));
      }
    }),
    runs,
  );
});
