/**
 * Token buckets by key, in bounded memory. Time is passed in. This module is browser compatible.
 *
 * @module
 */

import { limits, type Rate } from "../contract/limits.ts";

/** What the limiter says of one request. */
export interface Allowance {
  readonly allowed: boolean;
  /** Requests that would be allowed right after this one. */
  readonly remaining: number;
  /** Whole seconds until the next request would be allowed, no less than `limits.retryAfterSeconds`. */
  readonly retryAfterSeconds: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
}

/**
 * One token in the unit of the books: at one request a minute a millisecond earns one unit. With whole
 * milliseconds and whole rates the arithmetic is exact, so that the hundredth refill is not late by a
 * rounding error.
 */
const unitsPerToken = 60_000;

/** How many of the least recently used keys an eviction looks at. */
const evictionCandidates = 8;

/** Bounds every wait that is told, so that a rate of zero does not render as `Infinity`. */
const waitSecondsMax = 3600;

/** A key's books, in a ring ordered by use. */
interface Bucket {
  readonly key: string;
  /**
   * What has been taken and not been earned back: zero when the bucket is full, whatever its size. Kept
   * instead of the tokens left, so that a raised burst counts at once.
   */
  debtUnits: number;
  /** When the debt was reckoned. */
  atMs: number;
  perMinute: number;
  /** The bucket used next before this one; the ring's end for the one used longest ago. */
  older: Bucket;
  newer: Bucket;
}

/** Construction options of {@linkcode TokenBucketLimiter}. */
export interface TokenBucketOptions {
  /** The number of keys that are remembered; at least 1. */
  readonly keysMax: number;
}

/**
 * Limits requests by key: a bucket starts full with `burst` tokens, each allowed request takes one, and
 * `perMinute / 60` a second come back. A refused request takes none.
 *
 * Of more than `keysMax` keys one is forgotten: of the eight used longest ago the one nearest to full.
 * A forgotten key starts full again. For an idle key that is where it was anyway; for a busy one it
 * means up to a burst of requests more than its rate, so `keysMax` should exceed the number of keys seen
 * within the time an empty bucket takes to fill. Forgetting the other way, starting empty, would refuse
 * newcomers for what others did.
 *
 * Source: SPEC, Limits.
 *
 * Chosen: a ring of our own beside the `Map`. Rejected: the order of the `Map` itself, because an
 * iterator has to step over everything deleted at its head, which took 23 µs a request with 100,000 keys
 * of one use each; the ring takes 0.6 µs.
 */
export class TokenBucketLimiter {
  readonly #keysMax: number;
  readonly #buckets = new Map<string, Bucket>();
  /** Between the bucket used last (`older`) and the one used longest ago (`newer`). */
  readonly #end = newRing();

  /** Throws a `RangeError` when there would be no room for a key. */
  constructor({ keysMax }: TokenBucketOptions) {
    if (!(keysMax >= 1)) throw new RangeError("The limiter needs room for at least one key");
    this.#keysMax = keysMax;
  }

  /** The number of keys that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Asks for one request of `key` at `nowMs`, milliseconds of any clock.
   *
   * The rate may differ from call to call. Chosen: what was taken stays taken and the time since then
   * earns at the rate of this call, but no one owes more than a burst, because a window of raised limits
   * must work at once and leave no punishment when it ends. When the clock steps back nothing is earned
   * and time runs on from there; when it leaps ahead no bucket gets more than full.
   */
  allow(key: string, rate: Rate, nowMs: number): Allowance {
    const bucket = this.#use(key, nowMs);
    const capacityUnits = rate.burst * unitsPerToken;
    bucket.perMinute = rate.perMinute;
    bucket.debtUnits = Math.min(debtAt(bucket, nowMs), capacityUnits);
    bucket.atMs = nowMs;

    const allowed = bucket.debtUnits + unitsPerToken <= capacityUnits;
    if (allowed) bucket.debtUnits += unitsPerToken;
    const lackUnits = bucket.debtUnits + unitsPerToken - capacityUnits;
    return {
      allowed,
      remaining: Math.floor((capacityUnits - bucket.debtUnits) / unitsPerToken),
      retryAfterSeconds: Math.max(limits.retryAfterSeconds, secondsToEarn(lackUnits, rate)),
      resetSeconds: secondsToEarn(bucket.debtUnits, rate),
    };
  }

  /** The key's bucket, now the most recently used. */
  #use(key: string, nowMs: number): Bucket {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#keysMax) this.#evict(nowMs);
      bucket = { key, debtUnits: 0, atMs: nowMs, perMinute: 0, older: this.#end, newer: this.#end };
      this.#buckets.set(key, bucket);
    } else unlink(bucket);
    bucket.older = this.#end.older;
    bucket.newer = this.#end;
    bucket.older.newer = bucket;
    this.#end.older = bucket;
    return bucket;
  }

  #evict(nowMs: number): void {
    let least = this.#end.newer;
    let candidate = least;
    for (let looked = 0; looked < evictionCandidates && candidate !== this.#end; looked++) {
      if (debtAt(candidate, nowMs) < debtAt(least, nowMs)) least = candidate;
      candidate = candidate.newer;
    }
    unlink(least);
    this.#buckets.delete(least.key);
  }
}

function newRing(): Bucket {
  const end = { key: "", debtUnits: 0, atMs: 0, perMinute: 0 } as Bucket;
  end.older = end;
  end.newer = end;
  return end;
}

function unlink({ older, newer }: Bucket): void {
  older.newer = newer;
  newer.older = older;
}

function debtAt({ debtUnits, atMs, perMinute }: Bucket, nowMs: number): number {
  const earnedUnits = Math.max(0, nowMs - atMs) * perMinute;
  return Math.max(0, debtUnits - earnedUnits);
}

/** Chosen: rounded up, because a client that comes back a moment early is refused again. */
function secondsToEarn(units: number, { perMinute }: Rate): number {
  return units <= 0 ? 0 : Math.min(waitSecondsMax, Math.ceil(units / perMinute / 1000));
}
