/** Limits requests by key with token buckets in bounded memory. This module is browser compatible. */

import { limits, type Rate } from "../contract/limits.ts";

/** The secret of a {@linkcode KeyedHash}: two random 32-bit integers. */
export type Seed = readonly [number, number];

/**
 * HalfSipHash-2-4 with a 64-bit result, over a text's UTF-16 code units (two per word) and its length.
 *
 * Rejected: a hash without a secret, because an attacker with many IPv6 networks could choose which bucket is evicted.
 */
export class KeyedHash {
  /** The low half of the last result, unsigned; {@linkcode high} is the other half. */
  low = 0;
  high = 0;
  readonly #seed: Seed;
  #v0 = 0;
  #v1 = 0;
  #v2 = 0;
  #v3 = 0;

  constructor(seed: Seed) {
    this.#seed = seed;
  }

  update(text: string): void {
    const [k0, k1] = this.#seed;
    this.#v0 = k0;
    this.#v1 = k1 ^ 0xee;
    this.#v2 = k0 ^ 0x6c796765;
    this.#v3 = k1 ^ 0x74656462;
    // Past the end, `charCodeAt` returns NaN, which bitwise operators treat as 0; the length distinguishes the text
    // from one that ends in U+0000.
    for (let index = 0; index < text.length; index += 2) {
      this.#absorb(text.charCodeAt(index) | text.charCodeAt(index + 1) << 16);
    }
    this.#absorb(text.length);
    this.#v2 ^= 0xee;
    this.#mix(4);
    this.low = (this.#v1 ^ this.#v3) >>> 0;
    this.#v1 ^= 0xdd;
    this.#mix(4);
    this.high = (this.#v1 ^ this.#v3) >>> 0;
  }

  #absorb(word: number): void {
    this.#v3 ^= word;
    this.#mix(2);
    this.#v0 ^= word;
  }

  #mix(rounds: number): void {
    let v0 = this.#v0;
    let v1 = this.#v1;
    let v2 = this.#v2;
    let v3 = this.#v3;
    for (let round = 0; round < rounds; round++) {
      v0 = v0 + v1 | 0;
      v1 = (v1 << 5 | v1 >>> 27) ^ v0;
      v0 = v0 << 16 | v0 >>> 16;
      v2 = v2 + v3 | 0;
      v3 = (v3 << 8 | v3 >>> 24) ^ v2;
      v0 = v0 + v3 | 0;
      v3 = (v3 << 7 | v3 >>> 25) ^ v0;
      v2 = v2 + v1 | 0;
      v1 = (v1 << 13 | v1 >>> 19) ^ v2;
      v2 = v2 << 16 | v2 >>> 16;
    }
    this.#v0 = v0;
    this.#v1 = v1;
    this.#v2 = v2;
    this.#v3 = v3;
  }
}

/** The decision on one request. */
export interface Allowance {
  readonly isAllowed: boolean;
  /** The number of requests that would be allowed immediately after this one. */
  readonly remaining: number;
  /** The time until the next request is allowed, in seconds, rounded up; at least `limits.retryAfterSeconds`. */
  readonly retryAfterSeconds: number;
  /** The time until the bucket is full again, in seconds, rounded up. */
  readonly resetSeconds: number;
}

/** The number of units per token. At 1 request per minute, 1 ms earns 1 unit, so integer arithmetic is exact. */
const unitsPerToken = 60_000;

/** The maximum reported wait; a rate of zero would otherwise result in `Infinity`. */
const waitSecondsMax = 3600;

/** The number of slots in which a key can be stored. */
const slotsPerKey = 8;

/**
 * The size of a slot, which stores two 32-bit halves of the hash and three doubles: the debt in units, the time of the
 * last update, and the time when the bucket is full again. The debt is stored rather than the remaining tokens, so that
 * a raised burst applies at once. A free slot is all zeros.
 */
const slotBytes = 32;

interface TokenBucketOptions {
  /** The number of slots, rounded up to a power of two, at least 8. */
  readonly keysMax: number;
  /** A random secret. An attacker who knew it could choose keys that evict a given key. */
  readonly seed: Seed;
}

/**
 * Limits requests by key. A bucket starts with `burst` tokens and gains `perMinute` tokens per minute; each allowed
 * request consumes one.
 *
 * Memory is allocated once: 32 bytes per slot, 4 MiB for 100,000 keys. If all slots for a key are in use, the bucket that
 * would be full soonest is evicted, so that a flood of new keys cannot reset an empty bucket.
 *
 * Rejected: a `Map` in LRU order, because a million addresses take 285 MB and a flood controls the evictions; GCRA,
 * because the rate may change between calls. Source: SPEC, Limits.
 */
export class TokenBucketLimiter {
  readonly #hash: KeyedHash;
  readonly #hashes: Uint32Array;
  readonly #doubles: Float64Array;
  readonly #setMask: number;

  /** Throws a `RangeError` if `keysMax` is below 1. */
  constructor({ keysMax, seed }: TokenBucketOptions) {
    if (!(keysMax >= 1)) throw new RangeError("The limiter needs at least one slot");
    const slots = Math.max(slotsPerKey, 2 ** Math.ceil(Math.log2(keysMax)));
    const table = new ArrayBuffer(slots * slotBytes);
    this.#hash = new KeyedHash(seed);
    this.#hashes = new Uint32Array(table);
    this.#doubles = new Float64Array(table);
    this.#setMask = slots / slotsPerKey - 1;
  }

  get bytes(): number {
    return this.#doubles.byteLength;
  }

  /**
   * Requests a token for `key`. `nowMs` is the time in milliseconds from any clock; it may go backward.
   *
   * The rate may change between calls. The debt is then repaid at the current rate and never exceeds one burst, so a
   * raised limit applies at once, and lowering it again does not penalize the key.
   */
  allow(key: string, rate: Rate, nowMs: number): Allowance {
    const slot = this.#slotFor(key);
    const doubles = this.#doubles;
    const index = slot * slotBytes / 8;
    const capacityUnits = rate.burst * unitsPerToken;
    const earnedUnits = Math.max(0, nowMs - (doubles[index + 2] as number)) * rate.perMinute;
    let debtUnits = Math.min(Math.max(0, (doubles[index + 1] as number) - earnedUnits), capacityUnits);

    const isAllowed = debtUnits + unitsPerToken <= capacityUnits;
    if (isAllowed) debtUnits += unitsPerToken;
    doubles[index + 1] = debtUnits;
    doubles[index + 2] = nowMs;
    doubles[index + 3] = debtUnits === 0 ? nowMs : nowMs + debtUnits / rate.perMinute;
    const missingUnits = debtUnits + unitsPerToken - capacityUnits;
    return {
      isAllowed,
      remaining: Math.floor((capacityUnits - debtUnits) / unitsPerToken),
      retryAfterSeconds: Math.max(limits.retryAfterSeconds, secondsToEarn(missingUnits, rate)),
      resetSeconds: secondsToEarn(debtUnits, rate),
    };
  }

  /** Returns the key's slot; for a new key, evicts another one if no slot is free. */
  #slotFor(key: string): number {
    this.#hash.update(key);
    const { low } = this.#hash;
    // Zero marks a free slot.
    const high = (this.#hash.high | 1) >>> 0;
    const firstSlot = (low & this.#setMask) * slotsPerKey;
    let victim = firstSlot;
    for (let slot = firstSlot; slot < firstSlot + slotsPerKey; slot++) {
      const index = slot * slotBytes / 4;
      if (this.#hashes[index] === low && this.#hashes[index + 1] === high) return slot;
      if (this.#fullAtMs(slot) < this.#fullAtMs(victim)) victim = slot;
    }
    const index = victim * slotBytes / 4;
    this.#hashes[index] = low;
    this.#hashes[index + 1] = high;
    this.#doubles[victim * slotBytes / 8 + 1] = 0;
    return victim;
  }

  #fullAtMs(slot: number): number {
    const isFree = this.#hashes[slot * slotBytes / 4 + 1] === 0;
    return isFree ? -Infinity : this.#doubles[slot * slotBytes / 8 + 3] as number;
  }
}

/**
 * Returns the seconds until the units are earned, at most `waitSecondsMax`; rounds up, so that no client retries too
 * early.
 */
function secondsToEarn(units: number, { perMinute }: Rate): number {
  return units <= 0 ? 0 : Math.min(waitSecondsMax, Math.ceil(units / perMinute / 1000));
}
